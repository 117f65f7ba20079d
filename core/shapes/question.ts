import type { Call, JsonObject, SlotInfo } from './types.js'
import { shortLine, visible } from '../text/index.js'

/** The most that a question shows of a reason, of one field, and of all fields beside what is decided about. */
const most = { reason: 400, line: 400, field: 2_000, fields: 6_000, subject: 4_000, lines: 40 }

/** A reason as one line, with its author where it is not our own. */
export const quotedReason = (reason: string, author?: string): string =>
  shortLine(author === undefined ? reason : `${author} says: ${reason.trim()}`, most.reason)

/**
 * What a person is asked about a call, the same at every face. Each reason is one line. The command or the path comes last, where no
 * other field can push it out of sight, and each of its lines is marked, so that none of them looks like a line of ours.
 */
export function questionText(
  { slot, input, given }: Call,
  { input: schema, action }: SlotInfo,
  reasons: readonly string[],
): string {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>
  const weight = (name: string): number => order.indexOf(name === 'url' ? 'uri' : formatOf(properties[name]))
  const fields = wholeCommand(input, (name) => formatOf(properties[name]) === 'command')
  // The action of one of our slots stands in its name; a tool of others may mean anything by such a field.
  const isAction = (name: string): boolean => name === 'action' && action !== undefined
  // What nobody said and is as always tells nothing; what somebody set for the caller is shown.
  const isUsual = (name: string): boolean =>
    weight(name) < 0 &&
    !Object.hasOwn(given, name) &&
    JSON.stringify(fields[name]) === JSON.stringify(properties[name]?.['default'])
  const names = Object.keys(fields).filter((name) => !isAction(name) && !isUsual(name))
  const subjects = names.filter((name) => weight(name) >= 0).sort((a, b) => weight(a) - weight(b))
  return [
    `${slot} asks for approval.`,
    ...reasons.map((reason) => `  ${shortLine(reason, most.reason)}`),
    ...fieldsOf(
      names.filter((name) => weight(name) < 0),
      fields,
    ),
    ...subjects.map((name) => shownField(name, fields[name], most.subject)),
  ].join('\n')
}

/** The words beside a command are its further words. */
function wholeCommand(input: Readonly<JsonObject>, isCommand: (name: string) => boolean): Readonly<JsonObject> {
  const { args, ...rest } = input
  const name = Object.keys(rest).find(isCommand)
  return name === undefined || !Array.isArray(args) ? input : { ...rest, [name]: [rest[name], args].flat() }
}

/** Formats of what a person decides about, the most telling last. */
const order = ['workspace-glob', 'uri', 'workspace-path', 'command']

function formatOf({ format, items, anyOf, oneOf }: JsonObject = {}): string {
  const among = [items ?? [], anyOf ?? [], oneOf ?? []].flat() as JsonObject[]
  return typeof format === 'string' ? format : (among.map(formatOf).find((one) => order.includes(one)) ?? '')
}

function fieldsOf(names: readonly string[], input: Readonly<JsonObject>): string[] {
  let left = most.fields
  const shown: string[] = []
  for (const name of names) {
    const line = shownField(name, input[name], most.field)
    if ((left -= line.length) < 0)
      return [
        ...shown,
        `  … and ${names.length - shown.length} more: ${shortLine(names.slice(shown.length).join(', '), most.reason)}`,
      ]
    shown.push(line)
  }
  return shown
}

/** Text of several lines stands line by line behind a mark; everything else is one line of JSON. */
function shownField(name: string, value: unknown, limit: number): string {
  const head = `  ${shortLine(name, 60)}:`
  const short = limit === most.field ? most.line : limit
  if (typeof value !== 'string') return `${head} ${shortLine(JSON.stringify(value) ?? '', short)}`
  const lines = visible(value).split('\n')
  if (lines.length === 1) return `${head} ${shortLine(value, short)}`
  const middle = [`(${lines.length} lines)`]
  const some =
    lines.length > most.lines ? [...lines.slice(0, most.lines / 2), ...middle, ...lines.slice(-most.lines / 2)] : lines
  const room = Math.max(80, Math.floor(limit / some.length))
  return [head, ...some.map((line) => `  | ${shortLine(line, room)}`)].join('\n')
}
