import type { JsonObject } from '../../../core/shapes/index.js'
import { shortLine } from '../../../core/text/index.js'
import type { Block } from '../../tui/index.js'

const mostOfBlock = 20_000
/** As much of a text as a person reads; how much more there is. */
export const readablePart = (text: string): string =>
  text.length <= mostOfBlock ? text : `${text.slice(0, mostOfBlock)}\n… ${text.length - mostOfBlock} characters more`
const lines = (mark: string, text: unknown): string =>
  typeof text === 'string' && text !== ''
    ? text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => mark + line)
        .join('\n')
    : ''
const replaced = ({ old_str, new_str }: JsonObject): string =>
  [lines('-', old_str), lines('+', new_str)].filter(Boolean).join('\n')

/** What a call would change, as a diff; nothing where its input says none. It is read by its form, so that tools of others have one too. */
export function intendedDiff(input: unknown): string | undefined {
  const {
    old_str,
    edits,
    patch,
    input: text,
    content,
  } = (typeof input === 'object' && input !== null ? input : {}) as JsonObject
  if (typeof old_str === 'string') return replaced(input as JsonObject)
  if (Array.isArray(edits))
    return edits
      .map((edit: unknown) => (typeof edit === 'object' && edit !== null ? replaced(edit as JsonObject) : ''))
      .filter(Boolean)
      .join('\n@@\n')
  const patched = [patch, text, input].find(
    (one) => typeof one === 'string' && /^(?:\*\*\* Begin Patch|--- |diff )/m.test(one),
  )
  if (patched !== undefined) return patched as string
  return typeof content === 'string' ? lines('+', content) : undefined
}

/** What exactly a call would do: its diff, its command, or its input. */
export function callBlocks(input: unknown): Block[] {
  const {
    command,
    action: _action,
    ...rest
  } = (typeof input === 'object' && input !== null ? input : { input }) as JsonObject
  const diff = intendedDiff(input)
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
            text: readablePart(`$ ${Array.isArray(command) ? command.join(' ') : String(command)}`),
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
                  `${key}: ${shortLine(typeof value === 'string' ? value : JSON.stringify(value), 400)}`,
              )
              .join('\n'),
          },
        ]),
    ...(diff === undefined || diff === '' ? [] : [{ kind: 'diff' as const, text: readablePart(diff) }]),
  ]
}
