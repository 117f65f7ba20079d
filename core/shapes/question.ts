import type { Call, JsonObject, SlotInfo } from './types.js'
import { truncateLine, visible } from '../text/index.js'

/** Limits of a question: of a reason, of one field, of all fields except the subjects. */
const LIMITS = { reason: 400, line: 400, field: 2_000, fields: 6_000, subject: 4_000, lines: 40 }

/** Formats a reason as one line, with its author unless the author is this program. */
export const formatReason = (reason: string, author?: string): string =>
  truncateLine(author === undefined ? reason : `${author} says: ${reason.trim()}`, LIMITS.reason)

/**
 * Renders the question about a call, equally for every surface. Each reason is one line. The command or the path comes
 * last, where no other field can push it out of view. Each of its lines is marked, so that none looks like a line of
 * this program.
 */
export function renderQuestion(
  { slot, input, given, caller: { origin } }: Call,
  { input: schema, action }: SlotInfo,
  reasons: readonly string[],
): string {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>
  const weight = (name: string): number =>
    SUBJECT_FORMATS.indexOf(name === 'url' ? 'uri' : findFormat(properties[name]))
  const fields = joinCommandArgs(input, (name) => findFormat(properties[name]) === 'command')
  // The name of our slots contains the action; in a tool of others, such a field may mean anything.
  const isAction = (name: string): boolean => name === 'action' && action !== undefined
  // Hides default values that the caller did not set; other values are shown.
  const isUsual = (name: string): boolean =>
    weight(name) < 0 &&
    !Object.hasOwn(given, name) &&
    JSON.stringify(fields[name]) === JSON.stringify(properties[name]?.['default'])
  const names = Object.keys(fields).filter((name) => !isAction(name) && !isUsual(name))
  const subjects = names.filter((name) => weight(name) >= 0).sort((a, b) => weight(a) - weight(b))
  return [
    `${slot} asks for approval.`,
    ...reasons.map((reason) => `  ${truncateLine(reason, LIMITS.reason)}`),
    ...(origin === undefined ? [] : [`  Called from ${truncateLine(origin, LIMITS.line)}`]),
    ...renderFields(
      names.filter((name) => weight(name) < 0),
      fields,
    ),
    ...subjects.map((name) => renderField(name, fields[name], LIMITS.subject)),
  ].join('\n')
}

/** Joins `args` with the command: they are its further words. */
function joinCommandArgs(input: Readonly<JsonObject>, isCommand: (name: string) => boolean): Readonly<JsonObject> {
  const { args, ...rest } = input
  const name = Object.keys(rest).find(isCommand)
  return name === undefined || !Array.isArray(args) ? input : { ...rest, [name]: [rest[name], args].flat() }
}

/** Formats of the subjects of a decision, the most important last. */
const SUBJECT_FORMATS = ['workspace-glob', 'uri', 'workspace-path', 'command']

function findFormat({ format, items, anyOf, oneOf }: JsonObject = {}): string {
  const among = [items ?? [], anyOf ?? [], oneOf ?? []].flat() as JsonObject[]
  return typeof format === 'string'
    ? format
    : (among.map(findFormat).find((one) => SUBJECT_FORMATS.includes(one)) ?? '')
}

function renderFields(names: readonly string[], input: Readonly<JsonObject>): string[] {
  let left = LIMITS.fields
  const shown: string[] = []
  for (const name of names) {
    const line = renderField(name, input[name], LIMITS.field)
    if ((left -= line.length) < 0) {
      const rest = names.slice(shown.length)
      return [...shown, `  … and ${rest.length} more: ${truncateLine(rest.join(', '), LIMITS.reason)}`]
    }
    shown.push(line)
  }
  return shown
}

/** Renders text of several lines line by line after a mark; everything else is one line of JSON. */
function renderField(name: string, value: unknown, limit: number): string {
  const head = `  ${truncateLine(name, 60)}:`
  const short = limit === LIMITS.field ? LIMITS.line : limit
  if (typeof value !== 'string') return `${head} ${truncateLine(JSON.stringify(value) ?? '', short)}`
  const lines = visible(value).split('\n')
  if (lines.length === 1) return `${head} ${truncateLine(value, short)}`
  const middle = [`(${lines.length} lines)`]
  const some =
    lines.length > LIMITS.lines
      ? [...lines.slice(0, LIMITS.lines / 2), ...middle, ...lines.slice(-LIMITS.lines / 2)]
      : lines
  const room = Math.max(80, Math.floor(limit / some.length))
  return [head, ...some.map((line) => `  | ${truncateLine(line, room)}`)].join('\n')
}
