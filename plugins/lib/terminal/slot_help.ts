import { isObject, type JsonObject, type Schema, type SlotInfo } from '../../../core/shapes/index.js'
import { renderPlainText } from '../../../core/input/index.js'
import { formatColumns, toOneLine } from './terminal.js'

/** Width of help, in characters. */
export const HELP_WIDTH = 80
const MAX_ROWS = 40

/** Renders the help of a slot on one screen: description, fields and an example call. `long`: without cuts. */
export function renderSlotHelp(slot: SlotInfo, long = false): string {
  const { tool, action, description, effects, example } = slot
  const words = [tool, ...(action === undefined ? [] : [action])].join(' ')
  const { properties = {}, required = [] } = slot.input as { properties?: Record<string, Schema>; required?: string[] }
  const formatKind = (name: string, field: Schema): string =>
    formatType(field) + (required.includes(name) ? ', required' : formatDefault(field))
  const fields = Object.entries(properties)
    .filter(([name, field]) => name !== 'action' && field['x-listed'] !== false)
    .map(([name, field]) => [
      `  --${name}`,
      long ? formatKind(name, field) : cutLine(formatKind(name, field), 30),
      toOneLine(renderPlainText(String(field['description'] ?? ''))),
    ])
  const head = [
    `vtcode call ${words}${fields.length > 0 ? ' [--field value …]' : ''}`,
    '',
    ...wrapText(renderPlainText(description), long),
    '',
    `Effects: ${effects.join(', ') || 'none'}`,
    '',
  ]
  const call = formatExample(words, example)
  const tail = call === undefined ? [] : ['', 'Example:', ...call]
  const rows = formatColumns(fields)
    .split('\n')
    .filter(Boolean)
    .map((row) => (long ? row : cutLine(row, HELP_WIDTH)))
  const room = Math.max(4, MAX_ROWS - head.length - tail.length - 1)
  const shown =
    !long && rows.length > room
      ? [...rows.slice(0, room), `  … ${rows.length - room} more: vtcode tools ${slot.slot} --long`]
      : rows
  return `${[...head, ...shown, ...tail].join('\n')}\n`
}

/** Cuts a line to `width` characters. */
export const cutLine = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, width - 1)}…`

function wrapText(text: string, long: boolean): string[] {
  const mostLines = 8
  const lines = text.split('\n').flatMap((paragraph) => {
    const made = ['']
    for (const word of toOneLine(paragraph).split(' ')) {
      const line = made.at(-1)!
      if (line !== '' && line.length + word.length + 1 > HELP_WIDTH) made.push(word)
      else made[made.length - 1] = line === '' ? word : `${line} ${word}`
    }
    return made
  })
  return (!long && lines.length > mostLines ? [...lines.slice(0, mostLines - 1), '…'] : lines).map((line) =>
    cutLine(line, HELP_WIDTH),
  )
}

function formatType({ type, enum: choices, anyOf, items }: Schema): string {
  if (Array.isArray(choices))
    return choices
      .map((one) => JSON.stringify(one))
      .join('|')
      .replaceAll('"', '')
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((one) => formatType(one as Schema)))].join(' or ')
  if (type === 'array' && isObject(items)) return `${formatType(items)}…`
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')
}

const formatDefault = ({ default: value }: Schema): string => (value === undefined ? '' : ` = ${JSON.stringify(value)}`)

/** Formats the example call of a slot. */
function formatExample(words: string, example: SlotInfo['example']): string[] | undefined {
  return isObject(example) ? breakCommand(`  ${formatCall(words, example)}`) : undefined
}

/** Formats a call as a command line, with the input as JSON where flags cannot express it. */
export function formatCall(words: string, input: JsonObject): string {
  const simple = Object.entries(input).every(
    ([, value]) => /^(string|number|boolean)$/.test(typeof value) && !/[\n']/.test(String(value)),
  )
  const flags = simple
    ? Object.entries(input)
        .map(([name, value]) => `--${name} ${quoteWord(String(value))}`)
        .join(' ')
    : `--input '${JSON.stringify(input).replaceAll("'", "'\\''")}'`
  return `vtcode call ${words} ${flags}`.trimEnd()
}
const quoteWord = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text}'`)
/** Breaks a command into lines that a shell reads as one; a line without a flag to break at is cut. */
function breakCommand(line: string): string[] {
  if (line.length <= HELP_WIDTH) return [line]
  const at = line.lastIndexOf(' --', HELP_WIDTH - 2)
  if (line.slice(0, Math.max(0, at)).trim() === '') return [cutLine(line, HELP_WIDTH)]
  return [`${line.slice(0, at)} \\`, ...breakCommand(`    ${line.slice(at + 1)}`)]
}
