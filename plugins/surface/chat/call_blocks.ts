import type { JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { Block } from '../../tui/index.js'

const MAX_BLOCK_CHARACTERS = 20_000
/** Shortens a text for the screen and states how many characters are missing. */
export const truncateForDisplay = (text: string): string =>
  text.length <= MAX_BLOCK_CHARACTERS
    ? text
    : `${text.slice(0, MAX_BLOCK_CHARACTERS)}\n… ${text.length - MAX_BLOCK_CHARACTERS} characters more`
const prefixLines = (mark: string, text: unknown): string =>
  typeof text === 'string' && text !== ''
    ? text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => mark + line)
        .join('\n')
    : ''
const formatReplacement = ({ old_str, new_str }: JsonObject): string =>
  [prefixLines('-', old_str), prefixLines('+', new_str)].filter(Boolean).join('\n')

/**
 * Returns the change that a call would make as a diff, or `undefined`. Reads the shape of the input, so tools of
 * plugins work too.
 */
export function buildIntendedDiff(input: unknown): string | undefined {
  const {
    old_str,
    edits,
    patch,
    input: text,
    content,
  } = (typeof input === 'object' && input !== null ? input : {}) as JsonObject
  if (typeof old_str === 'string') return formatReplacement(input as JsonObject)
  if (Array.isArray(edits))
    return edits
      .map((edit: unknown) => (typeof edit === 'object' && edit !== null ? formatReplacement(edit as JsonObject) : ''))
      .filter(Boolean)
      .join('\n@@\n')
  const patched = [patch, text, input].find(
    (one) => typeof one === 'string' && /^(?:\*\*\* Begin Patch|--- |diff )/m.test(one),
  )
  if (patched !== undefined) return patched as string
  return typeof content === 'string' ? prefixLines('+', content) : undefined
}

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

const EDIT_SLOTS = ['unified_file/edit', 'unified_file/write']
const count = (text: string, mark: RegExp): number => text.split('\n').filter((line) => mark.test(line)).length

/** Formats the question about a call: "Run `npm test`?", "Edit src/a.js? (+1 −1)", else "Call tool/action?". */
export function formatQuestion(slot: string, input: JsonObject): string {
  const { command, path } = input
  if (slot === 'unified_exec/run' && typeof command === 'string') return `Run \`${truncateLine(command, 80)}\`?`
  const diff = EDIT_SLOTS.includes(slot) ? buildIntendedDiff(input) : undefined
  if (diff === undefined || typeof path !== 'string') return `Call ${slot}?`
  const [added, removed] = [count(diff, /^\+(?!\+\+ )/), count(diff, /^-(?!-- )/)]
  return `${slot === 'unified_file/write' ? 'Write' : 'Edit'} ${truncateLine(path, 80)}? (+${added} −${removed})`
}
