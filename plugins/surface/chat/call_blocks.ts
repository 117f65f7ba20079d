import type { JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { Intent } from '../../lib/intents/index.js'
import type { Block } from '../../tui/index.js'

const MAX_BLOCK_CHARACTERS = 20_000
/** Limit of a change that a person approves. */
const MAX_CHANGE_CHARACTERS = 128 * 1024
/** Shortens a text for the screen and states how many characters are missing. */
export const truncateForDisplay = (text: string, most = MAX_BLOCK_CHARACTERS): string =>
  text.length <= most ? text : `${text.slice(0, most)}\n… ${text.length - most} characters more`

/** Shows a call exactly: its command, what it changes or deletes, and its other input. */
export function buildCallBlocks({ command, notes, diff = '', tree = [], shown }: Intent, input: JsonObject): Block[] {
  const others = Object.entries(input)
    .filter(([key, value]) => key !== 'action' && value !== undefined && !shown.has(key))
    .map(([key, value]) => `${key}: ${truncateLine(typeof value === 'string' ? value : JSON.stringify(value), 400)}`)
  const block = (kind: Block['kind'], text: string): Block[] => (text === '' ? [] : [{ kind, text }])
  return [
    ...block('text', command === undefined ? '' : truncateForDisplay(`$ ${command}`)),
    ...block('note', [...notes, ...others].join('\n')),
    ...block('diff', truncateForDisplay(diff, MAX_CHANGE_CHARACTERS)),
    ...block('text', truncateForDisplay(tree.join('\n'), MAX_CHANGE_CHARACTERS)),
  ]
}
