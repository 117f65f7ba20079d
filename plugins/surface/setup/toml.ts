import { isDeepStrictEqual } from 'node:util'
import { requireLibrary } from '../../../core/system/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changeDocument, isTable, ENTRY_NAME, requireExactChange, type EntryChange } from './document.js'
import { readStatements, type TomlStatement } from './toml_lines.js'

// Another parser than the editor's checks the result.
const parseToml = (text: string): JsonObject =>
  (requireLibrary('smol-toml') as typeof import('smol-toml')).parse(text, { integersAsBigInt: true }) as JsonObject

/** Changes only our table in TOML. */
export async function editToml(text: string, path: string[], entry: EntryChange): Promise<string | undefined> {
  // Only this function needs the library.
  const { parse, patch } = await import('@decimalturn/toml-patch')
  const source = removeMarks(text)
  const before = parseToml(source)
  const expected = changeDocument(before, path, entry)
  const table = path.reduce<unknown>((at, key) => (isTable(at) ? at[key] : undefined), before)
  const known = isTable(table) ? table[ENTRY_NAME] : undefined
  if (!entry && known === undefined) return source
  const edited = editLines(source, [...path, ENTRY_NAME], entry, isTable(known) ? known : undefined)
  if (edited !== undefined && isExactChange(edited, expected)) return edited === '' ? undefined : edited
  // A table in another form, such as an inline one.
  const after = patch(source, changeDocument(parse(source) as JsonObject, path, entry))
  return after.trim() === '' ? undefined : requireExactChange(after, parseToml, expected)
}

/** Edits the lines of our table and no others; `undefined` if it is no table of its own. */
function editLines(
  text: string,
  table: string[],
  entry: EntryChange,
  known: JsonObject | undefined,
): string | undefined {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  if (entry && !known) return appendTable(text, table, entry, lineEnd)
  let statements: TomlStatement[]
  try {
    statements = readStatements(text)
  } catch {
    return undefined
  }
  const isOurs = ({ kind, path }: TomlStatement): boolean =>
    kind !== 'pair' && isDeepStrictEqual(path.slice(0, table.length), table)
  const headers = statements.filter(isOurs)
  if (headers.length === 0) return undefined
  if (!entry) return headers.toReversed().reduce((rest, header) => removeTable(rest, header, statements), text)
  const own = headers.find(({ path }) => path.length === table.length)
  return own && setPairs(text, listTable(own, statements), entry, known!, lineEnd)
}

/** Appends our table; the text keeps its form of ending, so that a removal restores each byte. */
function appendTable(text: string, table: string[], entry: JsonObject, lineEnd: string): string {
  const lines = [`[${table.join('.')}]`, ...Object.entries(entry).map(([key, value]) => formatPair(key, value))]
  const isEnded = text === '' || text.endsWith('\n')
  const before = text === '' ? '' : isEnded ? lineEnd : lineEnd + lineEnd
  return `${text}${before}${lines.join(lineEnd)}${isEnded ? lineEnd : ''}`
}

const formatPair = (key: string, value: unknown): string => `${key} = ${JSON.stringify(value)}`

/** Returns a header and the pairs of its table. */
function listTable(header: TomlStatement, statements: TomlStatement[]): TomlStatement[] {
  const after = statements.slice(statements.indexOf(header) + 1)
  const next = after.findIndex(({ kind }) => kind !== 'pair')
  return [header, ...(next < 0 ? after : after.slice(0, next))]
}

/** Removes a table up to its last pair, and an empty line before it; comments after it stay. */
function removeTable(text: string, header: TomlStatement, statements: TomlStatement[]): string {
  const { end } = listTable(header, statements).at(-1)!
  const before = text.slice(0, header.start)
  const isUnended = end === text.length && !text.endsWith('\n')
  const kept = before.replace(isUnended ? /(?:^|\r?\n)(?:\r?\n)?$/ : /(?<=^|\n)\r?\n$/, '')
  return kept + text.slice(end)
}

/** Replaces the values of pairs that change, and adds missing pairs after the last one. */
function setPairs(text: string, table: TomlStatement[], entry: JsonObject, known: JsonObject, lineEnd: string): string {
  const changed = Object.entries(entry).filter(([key, value]) => !isDeepStrictEqual(known[key], value))
  const findPair = (key: string) => table.find(({ kind, path }) => kind === 'pair' && path.join('.') === key)
  const added = changed.filter(([key]) => !findPair(key)).map(([key, value]) => formatPair(key, value))
  const { end } = table.at(-1)!
  const isEnded = text.slice(0, end).endsWith('\n')
  const more = added.map((line) => (isEnded ? line + lineEnd : lineEnd + line)).join('')
  return changed
    .flatMap(([key, value]) => {
      const pair = findPair(key)
      return pair ? [{ pair, value }] : []
    })
    .toSorted((a, b) => b.pair.start - a.pair.start)
    .reduce(
      (whole, { pair, value }) => whole.slice(0, pair.value[0]) + JSON.stringify(value) + whole.slice(pair.value[1]),
      text.slice(0, end) + more + text.slice(end),
    )
}

function isExactChange(text: string, expected: JsonObject): boolean {
  try {
    return requireExactChange(text, parseToml, expected) === text
  } catch {
    return false
  }
}

/** Removes the two marker comments of earlier versions. Tables of other programs may lie between them. */
function removeMarks(text: string): string {
  const rest = text.replace(/^# vtcode: (?:begin|end)\r?\n/gm, '')
  return isExactChange(rest, parseToml(text)) ? rest : text
}
