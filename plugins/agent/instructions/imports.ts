import { dirname } from 'node:path'
import { trimEndChars } from '../../lib/base/index.js'

const MAX_IMPORT_DEPTH = 5
const MAX_IMPORTS = 100
/** Characters of all imports of a file together. */
const MAX_IMPORTED_CHARS = 524_288
/** Imports that one line names within its text. */
const MAX_INLINE = 20
/** Characters of the name of a file that is named within a text. No path is longer. */
const MAX_NAME = 4_096

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
export const expandImports = (text: string, path: string, reader: ImportReader): Promise<string> =>
  new Expansion(path, reader).expandFile(text, [path])

interface RefusedImport {
  refused: string
  missing: boolean
}
const refuse = (refused: string, missing = false): RefusedImport => ({ refused, missing })
const IMPORT_LINE = /^(?:\s*(?:[-*+]|\d+[.)])\s+)?@(\S+)\s*$/

/** The expansion of one file with everything that it imports. */
class Expansion {
  // The limits stop files that import each other repeatedly.
  private left = MAX_IMPORTS
  private room = MAX_IMPORTED_CHARS
  private readonly appended = new Set<string>()

  constructor(
    private readonly path: string,
    private readonly reader: ImportReader,
  ) {}

  async expandFile(text: string, way: readonly string[]): Promise<string> {
    const lines: string[] = []
    const named: string[] = []
    for (const { line, code } of markCode(text)) {
      const name = code ? undefined : IMPORT_LINE.exec(line)?.[1]
      lines.push(name === undefined ? line : await this.importLine(name, way))
      if (name === undefined && !code) named.push(...findInlineNames(line))
    }
    return [lines.join('\n').trimEnd(), ...(await this.importNamed(named, way))].join('\n\n')
  }

  /** Imports a file that a whole line names. */
  private async importLine(name: string, way: readonly string[]): Promise<string> {
    const found = await this.importOne(name, way)
    return typeof found === 'string' ? found : this.formatRefusal(name, found.refused)
  }

  /** Imports the files that lines name within their text, each once. */
  private async importNamed(names: readonly string[], way: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (const name of new Set(names)) {
      const one = await this.importOne(name, way, this.appended)
      if (typeof one === 'string') found.push(...(one === '' ? [] : [`@${name}:\n${one}`]))
      else if (!one.missing || LOOKS_LIKE_FILE.test(name)) found.push(this.formatRefusal(name, one.refused))
    }
    return found
  }

  private formatRefusal(name: string, why: string): string {
    const sentence = `@${name} is not imported: ${why}`
    this.reader.onRefused?.(`${sentence} (${this.path})`)
    return `(${sentence})`
  }

  /** Returns the text of an import; an empty one for a file of `known`. */
  private async importOne(name: string, way: readonly string[], known?: Set<string>): Promise<string | RefusedImport> {
    if (way.length > MAX_IMPORT_DEPTH) return refuse(`imports are nested more than ${MAX_IMPORT_DEPTH} deep`)
    if (this.left-- <= 0) return refuse(`there are more than ${MAX_IMPORTS} imports`)
    try {
      const file = this.reader.resolve(dirname(way.at(-1)!), name)
      if (way.includes(file)) return refuse('it imports itself')
      if (known?.has(file)) return ''
      const text = await this.reader.read(file)
      known?.add(file)
      this.room -= text.length
      if (this.room < 0) return refuse(`imports are larger than ${MAX_IMPORTED_CHARS} characters together`)
      return (await this.expandFile(text, [...way, file])).trimEnd()
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      const isKnown = error instanceof Refused || code === 'VT_INPUT_TOO_LARGE'
      return isKnown ? refuse(message.replace(/\.$/, '')) : refuse('file not found', true)
    }
  }
}

/** Returns the lines of a text, and whether each is part of a code block. */
function markCode(text: string): { line: string; code: boolean }[] {
  let fence: string | undefined
  return text.split('\n').map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    const code = fence !== undefined || mark !== undefined
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
    return { line, code }
  })
}

/** Returns the names after `@` in a line, without those in code and without addresses and package names. */
function findInlineNames(line: string): string[] {
  if (!line.includes('@')) return []
  const plain = line.replace(/(`+)[^`]*\1/g, ' ')
  return [...plain.matchAll(/(?<![^\s("'*_[])@([^\s`"'()[\]<>]+)/g)]
    .slice(0, MAX_INLINE)
    .map(([, name]) => trimEndChars(name!, '.,;:!?*_'))
    .filter((name) => name.length <= MAX_NAME && /[./]/.test(name))
}
