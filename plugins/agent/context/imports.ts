import { dirname } from 'node:path'

const MAX_IMPORT_DEPTH = 5
const MAX_IMPORTS = 100
/** Characters of all imports of a file together. */
const MAX_IMPORTED_CHARS = 524_288
/** Imports that one line names within its text. */
const MAX_INLINE = 20

/** A refused import or file, whose message names the reason. */
export class Refused extends Error {}

/** Access to the files that a text imports. */
export interface ImportReader {
  /** Returns the path of an import from its name and the folder of the importing file. Throws where none is allowed. */
  resolve(folder: string, name: string): string
  /** Contract: throws Refused with the reason, or another error for a missing file. */
  read(file: string): Promise<string>
  /** Gets each import that was refused, as a sentence. */
  onRefused?: ((sentence: string) => void) | undefined
}

/** A name that looks like a file of text, so that it is reported if the file is missing. */
const LOOKS_LIKE_FILE = /^(?:~|\.{1,2})?\/|\.(?:md|mdc|markdown|txt)$/i

/**
 * Replaces each line `@path`, also in a list, with that file. A file that a line names within its text, such as `See
 * @docs/git.md for git`, follows at the end. Code is left alone. A refused import becomes a note. Format: imports of
 * CLAUDE.md and GEMINI.md.
 */
export async function expandImports(text: string, path: string, reader: ImportReader): Promise<string> {
  // The limits stop files that import each other repeatedly.
  let left = MAX_IMPORTS
  let room = MAX_IMPORTED_CHARS
  const appended = new Set<string>()
  return expandFile(text, [path])

  async function expandFile(text: string, way: readonly string[]): Promise<string> {
    const lines: string[] = []
    const named: string[] = []
    let fence: string | undefined
    for (const line of text.split('\n')) {
      const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
      if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
        fence = fence === undefined ? mark : undefined
      const name =
        fence === undefined && mark === undefined
          ? /^(?:\s*(?:[-*+]|\d+[.)])\s+)?@(\S+)\s*$/.exec(line)?.[1]
          : undefined
      if (name !== undefined) lines.push(await importLine(name, way))
      else {
        lines.push(line)
        if (fence === undefined && mark === undefined) named.push(...findInlineNames(line))
      }
    }
    return [lines.join('\n').trimEnd(), ...(await importNamed(named, way))].join('\n\n')
  }

  /** Imports a file that a whole line names. */
  async function importLine(name: string, way: readonly string[]): Promise<string> {
    const found = await importOne(name, way)
    return 'text' in found ? found.text : formatRefusal(name, found.refused)
  }

  /** Imports the files that lines name within their text, each once. */
  async function importNamed(names: readonly string[], way: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (const name of new Set(names)) {
      const one = await importOne(name, way, appended)
      if ('text' in one) found.push(...(one.text === '' ? [] : [`@${name}:\n${one.text}`]))
      else if (!one.missing || LOOKS_LIKE_FILE.test(name)) found.push(formatRefusal(name, one.refused))
    }
    return found
  }

  function formatRefusal(name: string, why: string): string {
    const sentence = `@${name} is not imported: ${why}`
    reader.onRefused?.(`${sentence} (${path})`)
    return `(${sentence})`
  }

  /** Returns the text of an import; an empty one for a file of `known`. */
  async function importOne(
    name: string,
    way: readonly string[],
    known?: Set<string>,
  ): Promise<{ text: string } | { refused: string; missing: boolean }> {
    const refuse = (refused: string, missing = false) => ({ refused, missing })
    if (way.length > MAX_IMPORT_DEPTH) return refuse(`imports are nested more than ${MAX_IMPORT_DEPTH} deep`)
    if (left-- <= 0) return refuse(`there are more than ${MAX_IMPORTS} imports`)
    try {
      const file = reader.resolve(dirname(way.at(-1)!), name)
      if (way.includes(file)) return refuse('it imports itself')
      if (known?.has(file)) return { text: '' }
      const text = await reader.read(file)
      known?.add(file)
      room -= text.length
      if (room < 0) return refuse(`imports are larger than ${MAX_IMPORTED_CHARS} characters together`)
      return { text: (await expandFile(text, [...way, file])).trimEnd() }
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      const isKnown = error instanceof Refused || code === 'VT_INPUT_TOO_LARGE'
      return isKnown ? refuse(message.replace(/\.$/, '')) : refuse('file not found', true)
    }
  }
}

/** Returns the names after `@` in a line, without those in code and without addresses and package names. */
function findInlineNames(line: string): string[] {
  if (!line.includes('@')) return []
  const plain = line.replace(/(`+)[^`]*\1/g, ' ')
  return [...plain.matchAll(/(?<![^\s("'*_[])@([^\s`"'()[\]<>]+)/g)]
    .slice(0, MAX_INLINE)
    .map(([, name]) => name!.replace(/[.,;:!?*_]+$/, ''))
    .filter((name) => /[./]/.test(name))
}
