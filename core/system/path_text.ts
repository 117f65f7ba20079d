import { isUtf8 } from 'node:buffer'
import { isAbsolute, posix, relative, sep } from 'node:path'
import { problem } from '../shapes/index.js'
import { visibleLine } from '../text/index.js'

/** Returns whether the real path `file` is the folder `root` or lies inside it. */
export function isInside(root: string, file: string): boolean {
  if (file.startsWith(root) && file[root.length] === sep && !file.includes('..')) return true
  const way = relative(root, file)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Limits of the operating system, in bytes: of a whole path, and of one name. */
const MAX_BYTES = { path: 4096, name: 255 }

/**
 * Returns the workspace-relative form of `path`, `/`-separated, `.` for the root; works on text only. `roots` are the
 * possible beginnings of an absolute path; relative paths start at the first. Throws VT_INPUT_INVALID, VT_PATH_OUTSIDE.
 */
export function normalizePath(path: string, roots: readonly [string, ...string[]]): string {
  refuseUnusable(path)
  const absolute = posix.resolve(roots[0], path)
  for (const root of roots) {
    const inside = removeRoot(absolute, root)
    if (inside === undefined) continue
    const names = inside.split('/').filter((name) => name !== '')
    return names.map(toCanonicalName).join('/') || '.'
  }
  throw problem('VT_PATH_OUTSIDE', { path: escapePath(path) })
}

/** Returns the names in a normalised path; none for the root. */
export const splitPath = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.')

/** Formats a path for a message: control characters escaped, at most 120 code points. */
export function escapePath(path: string): string {
  const clean = visibleLine(path).replace(/[\t\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
  const chars = Array.from(clean)
  return chars.length > 120 ? `${chars.slice(0, 120).join('')}…` : clean
}

/**
 * Encodes a directory entry as text that decodes to the same bytes. Bytes that are not UTF-8 become `\xHH`; a backslash
 * that looks like such an escape becomes `\x5c`.
 */
export function encodeName(name: Buffer): string {
  const text = name.toString()
  if (!text.includes('\\x') && isUtf8(name)) return text
  let result = ''
  for (let at = 0; at < name.length;) {
    const char = name.subarray(at, at + utf8Width(name[at]!))
    if (!isUtf8(char)) result += `\\x${name[at++]!.toString(16)}`
    else {
      const looksEscaped = ESCAPE_PATTERN.test(name.toString('latin1', at, at + 4))
      result += looksEscaped ? '\\x5c' : char.toString()
      at += char.length
    }
  }
  return result
}

/** Decodes a name: to bytes if it has escapes, else to the text itself. */
export function decodeName(name: string): string | Buffer {
  if (!name.includes('\\x')) return name
  const parts = name.split(/\\x([89a-f][0-9a-f]|5c)/i)
  if (parts.length === 1) return name
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 ? 'hex' : 'utf8')))
}

/**
 * Returns the names in a path as some volume compares them: without case, without invisible characters and without the
 * final dots and spaces that Windows drops. Short names and streams of `.vtcode` and `.git` become these names
 * (`GIT~1`, `.git::$INDEX_ALLOCATION`).
 */
export function foldNames(path: string): string[] {
  const shown = /^[\x20-\x7e]*$/.test(path)
    ? path
    : path.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return shown.toLowerCase().split('/').map(foldWindowsName)
}

function foldWindowsName(name: string): string {
  const reserved = /^(?:\.(git|vtcode)|(git|vtcode)~1)[. ]*(?::.*)?$/.exec(name)
  return reserved ? `.${reserved[1] ?? reserved[2]}` : name.replace(/(?<=[^. ])[. ]+$/, '')
}

// Only bytes outside ASCII and the backslash are escaped: an escape never hides a separator, a dot or a protected
// name.
const ESCAPE_PATTERN = /^\\x([89a-f][0-9a-f]|5c)/i

const toCanonicalName = (name: string): string => {
  const bytes = decodeName(name)
  if (Buffer.byteLength(bytes) > MAX_BYTES.name) throw createPathError(name, `is longer than ${MAX_BYTES.name} bytes`)
  return typeof bytes === 'string' ? bytes : encodeName(bytes)
}

const utf8Width = (lead: number): number => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)

const createPathError = (path: string, what: string) =>
  problem('VT_INPUT_INVALID', { problem: `The path '${escapePath(path)}' ${what}.` })

function refuseUnusable(path: string): void {
  if (path === '')
    throw problem('VT_INPUT_INVALID', { problem: "The path is empty. Use '.' for the workspace itself." })
  if (path.includes('\0')) throw createPathError(path, 'contains a NUL character')
  if (/\p{Cs}/u.test(path)) throw createPathError(path, 'contains half of a surrogate pair')
  if (Buffer.byteLength(path) > MAX_BYTES.path) throw createPathError(path, `is longer than ${MAX_BYTES.path} bytes`)
}

/** Returns the part of `path` after `root`, both absolute and resolved; `undefined` if `path` lies elsewhere. */
function removeRoot(path: string, root: string): string | undefined {
  if (path === root) return ''
  const prefix = root.endsWith('/') ? root : `${root}/`
  return path.startsWith(prefix) ? path.slice(prefix.length) : undefined
}
