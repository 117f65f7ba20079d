import { isObject, type JsonObject, type Schema, type SlotInfo } from '../../../core/shapes/index.js'
import { plainly } from '../../../core/input/index.js'
import { columns, oneLine } from './terminal.js'

/** The width that help is written for, in characters. */
export const helpWidth = 80
const mostRows = 40

/** One slot on one screen: what it is for, each field on a line, and a call to copy; `long`: as much as there is. */
export function slotHelp(slot: SlotInfo, long = false): string {
  const { tool, action, description, effects, example } = slot
  const words = [tool, ...(action === undefined ? [] : [action])].join(' ')
  const { properties = {}, required = [] } = slot.input as { properties?: Record<string, Schema>; required?: string[] }
  const kindOf = (name: string, field: Schema): string =>
    typeOf(field) + (required.includes(name) ? ', required' : defaultOf(field))
  const fields = Object.entries(properties)
    .filter(([name, field]) => name !== 'action' && field['x-listed'] !== false)
    .map(([name, field]) => [
      `  --${name}`,
      long ? kindOf(name, field) : cutLine(kindOf(name, field), 30),
      oneLine(plainly(String(field['description'] ?? ''))),
    ])
  const head = [
    `vtcode call ${words}${fields.length > 0 ? ' [--field value …]' : ''}`,
    '',
    ...wrapped(plainly(description), long),
    '',
    `Effects: ${effects.join(', ') || 'none'}`,
    '',
  ]
  const call = exampleWords(words, example)
  const tail = call === undefined ? [] : ['', 'Example:', ...call]
  const rows = columns(fields)
    .split('\n')
    .filter(Boolean)
    .map((row) => (long ? row : cutLine(row, helpWidth)))
  const room = Math.max(4, mostRows - head.length - tail.length - 1)
  const shown =
    !long && rows.length > room
      ? [...rows.slice(0, room), `  … ${rows.length - room} more: vtcode tools ${slot.slot} --long`]
      : rows
  return `${[...head, ...shown, ...tail].join('\n')}\n`
}

/** A line of at most so many characters. */
export const cutLine = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, width - 1)}…`

function wrapped(text: string, long: boolean): string[] {
  const mostLines = 8
  const lines = text.split('\n').flatMap((paragraph) => {
    const made = ['']
    for (const word of oneLine(paragraph).split(' ')) {
      const line = made.at(-1)!
      if (line !== '' && line.length + word.length + 1 > helpWidth) made.push(word)
      else made[made.length - 1] = line === '' ? word : `${line} ${word}`
    }
    return made
  })
  return (!long && lines.length > mostLines ? [...lines.slice(0, mostLines - 1), '…'] : lines).map((line) =>
    cutLine(line, helpWidth),
  )
}

function typeOf({ type, enum: choices, anyOf, items }: Schema): string {
  if (Array.isArray(choices))
    return choices
      .map((one) => JSON.stringify(one))
      .join('|')
      .replaceAll('"', '')
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((one) => typeOf(one as Schema)))].join(' or ')
  if (type === 'array' && isObject(items)) return `${typeOf(items)}…`
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')
}

const defaultOf = ({ default: value }: Schema): string => (value === undefined ? '' : ` = ${JSON.stringify(value)}`)

/** The example as words to type, or as JSON where words cannot say it. */
function exampleWords(words: string, example: SlotInfo['example']): string[] | undefined {
  return isObject(example) ? cutWords(`  ${callWords(words, example)}`) : undefined
}

/** A call as a person types it. */
export function callWords(words: string, input: JsonObject): string {
  const simple = Object.entries(input).every(
    ([, value]) => /^(string|number|boolean)$/.test(typeof value) && !/[\n']/.test(String(value)),
  )
  const said = simple
    ? Object.entries(input)
        .map(([name, value]) => `--${name} ${quoted(String(value))}`)
        .join(' ')
    : `--input '${JSON.stringify(input).replaceAll("'", "'\\''")}'`
  return `vtcode call ${words} ${said}`.trimEnd()
}
const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text}'`)
/** A command over several lines, which a shell takes as one; what has no space to break at runs on. */
function cutWords(line: string): string[] {
  if (line.length <= helpWidth) return [line]
  const at = line.lastIndexOf(' --', helpWidth - 2)
  if (line.slice(0, Math.max(0, at)).trim() === '') return [cutLine(line, helpWidth)]
  return [`${line.slice(0, at)} \\`, ...cutWords(`    ${line.slice(at + 1)}`)]
}
