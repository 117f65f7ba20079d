import { isUtf8 } from 'node:buffer'
import { isAbsolute, posix, relative, sep } from 'node:path'
import { problem } from '../shapes/index.js'
import { visibleLine } from '../text/index.js'

/** Is the real path `file` the folder `root` or something in it? */
export function inside(root: string, file: string): boolean {
  if (file.startsWith(root) && file[root.length] === sep && !file.includes('..')) return true
  const way = relative(root, file)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Bytes that an operating system takes at most for a whole path, and for one name. */
const longest = { path: 4096, name: 255 }

/**
 * Text only: the workspace-relative form of `path`, `/`-separated, `.` for the root itself. `roots` are the spellings an absolute
 * path may begin with; the first is the one relative paths stand on. Throws VT_INPUT_INVALID, VT_PATH_OUTSIDE.
 */
export function normalizePath(path: string, roots: readonly [string, ...string[]]): string {
  refuseUnusable(path)
  const absolute = posix.resolve(roots[0], path)
  for (const root of roots) {
    const inside = below(absolute, root)
    if (inside === undefined) continue
    const names = inside.split('/').filter((name) => name !== '')
    return names.map(canonical).join('/') || '.'
  }
  throw problem('VT_PATH_OUTSIDE', { path: shownPath(path) })
}

/** The names of a normalised path; none for the root. */
export const segments = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.')

/** `path` for a message: control characters escaped, at most 120 code points. */
export function shownPath(path: string): string {
  const clean = visibleLine(path).replace(/[\t\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
  const chars = Array.from(clean)
  return chars.length > 120 ? `${chars.slice(0, 120).join('')}…` : clean
}

/**
 * A directory entry as text that leads back to the same bytes: bytes that are not UTF-8 become `\xHH`, and a backslash that would
 * read as such an escape becomes `\x5c`.
 */
export function encodeName(name: Buffer): string {
  const text = name.toString()
  if (!text.includes('\\x') && isUtf8(name)) return text
  let result = ''
  for (let at = 0; at < name.length;) {
    const char = name.subarray(at, at + width(name[at]!))
    if (!isUtf8(char)) result += `\\x${name[at++]!.toString(16)}`
    else {
      const looksEscaped = escape.test(name.toString('latin1', at, at + 4))
      result += looksEscaped ? '\\x5c' : char.toString()
      at += char.length
    }
  }
  return result
}

/** The entry for a name: its bytes if the name has escapes, else the text itself. */
export function decodeName(name: string): string | Buffer {
  if (!name.includes('\\x')) return name
  const parts = name.split(/\\x([89a-f][0-9a-f]|5c)/i)
  if (parts.length === 1) return name
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 ? 'hex' : 'utf8')))
}

/**
 * The names of a path as some volume compares them: without case and without characters that nothing shows, without the dots and blanks
 * that Windows drops at the end, and our own folders and git's by their short names and streams too (`GIT~1`, `.git::$INDEX_ALLOCATION`).
 */
export function foldedNames(path: string): string[] {
  const shown = /^[\x20-\x7e]*$/.test(path)
    ? path
    : path.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return shown.toLowerCase().split('/').map(asOnWindows)
}

function asOnWindows(name: string): string {
  const reserved = /^(?:\.(git|vtcode)|(git|vtcode)~1)[. ]*(?::.*)?$/.exec(name)
  return reserved ? `.${reserved[1] ?? reserved[2]}` : name.replace(/(?<=[^. ])[. ]+$/, '')
}

// Only bytes outside ASCII and the backslash are escaped: an escape never hides a separator, a dot or a protected name.
const escape = /^\\x([89a-f][0-9a-f]|5c)/i

const canonical = (name: string): string => {
  const bytes = decodeName(name)
  if (Buffer.byteLength(bytes) > longest.name) throw invalid(name, `is longer than ${longest.name} bytes`)
  return typeof bytes === 'string' ? bytes : encodeName(bytes)
}

const width = (lead: number): number => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)

const invalid = (path: string, what: string) =>
  problem('VT_INPUT_INVALID', { problem: `The path '${shownPath(path)}' ${what}.` })

function refuseUnusable(path: string): void {
  if (path === '') throw problem('VT_INPUT_INVALID', { problem: "The path is empty; '.' is the workspace itself." })
  if (path.includes('\0')) throw invalid(path, 'contains a NUL character')
  if (/\p{Cs}/u.test(path)) throw invalid(path, 'contains half of a surrogate pair')
  if (Buffer.byteLength(path) > longest.path) throw invalid(path, `is longer than ${longest.path} bytes`)
}

/** What follows `root` in `path`, both absolute and resolved; `undefined` if `path` lies elsewhere. */
function below(path: string, root: string): string | undefined {
  if (path === root) return ''
  const prefix = root.endsWith('/') ? root : `${root}/`
  return path.startsWith(prefix) ? path.slice(prefix.length) : undefined
}
