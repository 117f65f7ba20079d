import type { Effect } from '../../../core/index.js'
import { escapeTemplates, redactUserInfo, truncateLine } from '../../../core/text/index.js'
import type { CallFacts } from '../../lib/rules/index.js'

const MAX_CHARACTERS = 80
const MAX_PATHS = 3
/** Verbs of the slots that change files, by the name of their action. */
const VERBS = new Map([
  ['unified_file/write', 'write'],
  ['unified_file/edit', 'edit'],
  ['unified_file/delete', 'delete'],
  ['unified_file/move', 'move'],
  ['unified_file/copy', 'copy'],
])

/**
 * Returns one effect of a call as the end of a sentence: "edit 'src/greet.js'", "run `npm test`",
 * "fetch https://example.org". A call without a command, a path or an address is described by its name.
 */
export function describeCall(facts: CallFacts, effect: Effect): string {
  const { call, slot } = facts
  const { url, query } = call.input
  if (effect === 'exec') {
    const command = facts
      .commands()
      .map((one) => [one].flat().join(' '))
      .join('; ')
    if (command !== '') return `run \`${shorten(command)}\``
    if (slot.continues) return 'send input to a running command'
  }
  if (effect === 'net' && typeof url === 'string') return `fetch ${shorten(redactUserInfo(url))}`
  if (effect === 'net' && typeof query === 'string') return `search the web for '${shorten(query)}'`
  if (effect === 'write' && call.places.length > 0) return `${VERBS.get(call.slot) ?? 'change'} ${describePaths(facts)}`
  return `use ${shorten(call.caller.alias ?? call.slot)}`
}

function describePaths({ call: { places } }: CallFacts): string {
  const paths = [...new Set(places.map(({ given }) => given))]
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : ''
  return `${paths
    .slice(0, MAX_PATHS)
    .map((path) => `'${shorten(path)}'`)
    .join(', ')}${more}`
}

const shorten = (text: string): string => escapeTemplates(truncateLine(text, MAX_CHARACTERS))
