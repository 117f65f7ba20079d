import type { JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { buildIntendedDiff } from '../../agent/cli/index.js'
import type { Block } from '../../tui/index.js'

const MAX_BLOCK_CHARACTERS = 20_000
/** Shortens a text for the screen and states how many characters are missing. */
export const truncateForDisplay = (text: string): string =>
  text.length <= MAX_BLOCK_CHARACTERS
    ? text
    : `${text.slice(0, MAX_BLOCK_CHARACTERS)}\n… ${text.length - MAX_BLOCK_CHARACTERS} characters more`
/** Shows a call exactly: its command, its other input, its diff. */
export function buildCallBlocks(input: unknown): Block[] {
  const {
    command,
    action: _action,
    ...rest
  } = (typeof input === 'object' && input !== null ? input : { input }) as JsonObject
  const diff = buildIntendedDiff(input)
  const shown = Object.entries(rest).filter(
    ([key, value]) =>
      value !== undefined && !(diff !== undefined && /^(?:old_str|new_str|edits|patch|input|content)$/.test(key)),
  )
  return [
    ...(command === undefined
      ? []
      : [
          {
            kind: 'text' as const,
            text: truncateForDisplay(`$ ${Array.isArray(command) ? command.join(' ') : String(command)}`),
          },
        ]),
    ...(shown.length === 0
      ? []
      : [
          {
            kind: 'note' as const,
            text: shown
              .map(
                ([key, value]) =>
                  `${key}: ${truncateLine(typeof value === 'string' ? value : JSON.stringify(value), 400)}`,
              )
              .join('\n'),
          },
        ]),
    ...(diff === undefined || diff === '' ? [] : [{ kind: 'diff' as const, text: truncateForDisplay(diff) }]),
  ]
}
