import { requireLibrary } from '../../../core/system/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changedValue, isTable, NAME, verified, type Wanted } from './document.js'

// A second reader says whether the document is right: what the editor wrote is not judged by the editor.
const read = (text: string): JsonObject =>
  (requireLibrary('smol-toml') as typeof import('smol-toml')).parse(text, { integersAsBigInt: true }) as JsonObject

/** TOML is changed where our table stands and nowhere else. */
export async function editToml(text: string, path: string[], entry: Wanted): Promise<string | undefined> {
  // Nothing but this needs it.
  const { parse, patch } = await import('@decimalturn/toml-patch')
  const source = withoutMarks(text)
  const wanted = changedValue(read(source), path, entry)
  const table = path.reduce<unknown>((at, key) => (isTable(at) ? at[key] : undefined), read(source))
  const known = isTable(table) ? table[NAME] : undefined
  if (!entry && known === undefined) return source
  if (entry && known === undefined) {
    // A table of its own at the end reads best; a document that has written the outer table down in one line does not take it.
    const appended = `${source}${gapBehind(source)}[${[...path, NAME].join('.')}]\n${Object.entries(entry)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join('')}`
    const text = source.includes('\r\n') ? appended.replace(/\r?\n/g, '\r\n') : appended
    if (holds(text, wanted)) return text
  }
  const after = patch(source, changedValue(parse(source) as JsonObject, path, entry))
  return after.trim() === '' ? undefined : verified(after, read, wanted)
}

const gapBehind = (text: string): string => (text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n')

function holds(text: string, wanted: JsonObject): boolean {
  try {
    return verified(text, read, wanted) === text
  } catch {
    return false
  }
}

/** Earlier versions put their table between two comments, between which others then wrote theirs: only the comments are ours. */
function withoutMarks(text: string): string {
  const rest = text.replace(/^# vtcode: (?:begin|end)\r?\n/gm, '')
  return holds(rest, read(text)) ? rest : text
}
