import { requireLibrary } from '../../../core/system/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changeDocument, isTable, ENTRY_NAME, requireExactChange, type EntryChange } from './document.js'

// Another parser than the editor's checks the result.
const parseToml = (text: string): JsonObject =>
  (requireLibrary('smol-toml') as typeof import('smol-toml')).parse(text, { integersAsBigInt: true }) as JsonObject

/** Changes only our table in TOML. */
export async function editToml(text: string, path: string[], entry: EntryChange): Promise<string | undefined> {
  // Only this function needs the library.
  const { parse, patch } = await import('@decimalturn/toml-patch')
  const source = removeMarks(text)
  const wanted = changeDocument(parseToml(source), path, entry)
  const table = path.reduce<unknown>((at, key) => (isTable(at) ? at[key] : undefined), parseToml(source))
  const known = isTable(table) ? table[ENTRY_NAME] : undefined
  if (!entry && known === undefined) return source
  if (entry && known === undefined) {
    // A new table at the end is easiest to read. A document with an inline outer table does not accept it.
    const appended = `${source}${chooseSeparator(source)}[${[...path, ENTRY_NAME].join('.')}]\n${Object.entries(entry)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join('')}`
    const text = source.includes('\r\n') ? appended.replace(/\r?\n/g, '\r\n') : appended
    if (isExactChange(text, wanted)) return text
  }
  const after = patch(source, changeDocument(parse(source) as JsonObject, path, entry))
  return after.trim() === '' ? undefined : requireExactChange(after, parseToml, wanted)
}

const chooseSeparator = (text: string): string => (text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n')

function isExactChange(text: string, wanted: JsonObject): boolean {
  try {
    return requireExactChange(text, parseToml, wanted) === text
  } catch {
    return false
  }
}

/** Removes the two marker comments of earlier versions. Tables of other programs may lie between them. */
function removeMarks(text: string): string {
  const rest = text.replace(/^# vtcode: (?:begin|end)\r?\n/gm, '')
  return isExactChange(rest, parseToml(text)) ? rest : text
}
