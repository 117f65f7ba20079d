import { parseGitHeader, parseGitPath } from '../../../core/text/index.js'
import { createSyntaxError } from './syntax_error.js'
import type { Hunk, Section } from './types.js'
import { isFileHeader, parseHunks } from './unified_hunks.js'

/** Checks whether a text is a unified diff, with or without headers of git. */
export const isUnified = (lines: string[]): boolean =>
  !lines.some((line) => line.trim() === '*** Begin Patch') && lines.some((_, index) => isFileHeader(lines, index))

/** Header of one file. Lines are 1-based. */
interface FileHeader {
  line: number
  git?: [old: string, now: string]
  old?: string
  now?: string
  /** Text after the path: a date, or a revision of Subversion. */
  oldLabel: string
  nowLabel: string
  isCopy: boolean
  isRename: boolean
  isNew: boolean
  isDeleted: boolean
  mode?: string
}

const REGULAR = ['100644', '100755']
/** Header lines of git without any need here. */
const PASSED = /^(?:index [\da-f]+\.\.[\da-f]+$|(?:dis)?similarity index |old mode )/

/**
 * Parses the sections of a unified diff as git, `git format-patch`, `diff -u` and `svn diff` write it. Text between
 * files is passed over. Line numbers become hints. Throws VT_PATCH_SYNTAX.
 */
export function parseUnified(lines: string[]): Section[] {
  const sections: Section[] = []
  for (let at = 0; at < lines.length;) {
    if (!isFileHeader(lines, at)) {
      at++
      continue
    }
    const { header, end: body } = parseHeader(lines, at)
    const { hunks, end } = parseHunks(lines, body)
    sections.push(toSection(header, hunks, lines[at]!))
    at = skipBetween(lines, end)
  }
  return sections
}

/** Returns the index of the next file. Throws VT_PATCH_SYNTAX for text directly after a hunk. */
function skipBetween(lines: string[], at: number): number {
  const ends = /^(?:\s*$|-- $|Index: |=+$|diff |Only in |Property changes on: |From [\da-f]+ )/
  if (at < lines.length && !isFileHeader(lines, at) && !ends.test(lines[at]!))
    throw createSyntaxError(at + 1, lines[at]!, "a line that starts with ' ', '-' or '+', '@@', or the next file")
  while (at < lines.length && !isFileHeader(lines, at)) {
    if (lines[at]!.startsWith('@@')) throw createSyntaxError(at + 1, lines[at]!, "'--- a/path' and '+++ b/path'")
    at++
  }
  return at
}

function parseHeader(lines: string[], start: number): { header: FileHeader; end: number } {
  const header: FileHeader = {
    line: start + 1,
    oldLabel: '',
    nowLabel: '',
    isCopy: false,
    isRename: false,
    isNew: false,
    isDeleted: false,
  }
  let at = start
  if (lines[at]!.startsWith('diff --git ')) {
    const git = parseGitHeader(lines[at]!)
    if (git) header.git = git
    for (at++; at < lines.length && readGitLine(header, lines[at]!, at + 1); at++);
  }
  if (lines[at]?.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ')) {
    const [[old, oldLabel], [now, nowLabel]] = [splitLabel(lines[at]!.slice(4)), splitLabel(lines[at + 1]!.slice(4))]
    // The names of a move or a copy were given before, without prefixes.
    if (!header.isRename && !header.isCopy) Object.assign(header, { old, now, oldLabel, nowLabel })
    at += 2
  }
  return { header, end: at }
}

function splitLabel(text: string): [path: string, label: string] {
  return [parseGitPath(text), text.split('\t')[1] ?? '']
}

/** Takes one header line of git; `false` if it is none. Throws VT_PATCH_SYNTAX for a binary change. */
function readGitLine(header: FileHeader, line: string, number: number): boolean {
  const [, verb, side, name] = /^(rename|copy) (from|to) (.*)$/.exec(line) ?? []
  if (name !== undefined) {
    header[verb === 'copy' ? 'isCopy' : 'isRename'] = true
    header[side === 'from' ? 'old' : 'now'] = parseGitPath(name)
    return true
  }
  const [, what, mode] = /^(new file|deleted file|new) mode (\d+)$/.exec(line) ?? []
  const kept = /^index [\da-f]+\.\.[\da-f]+ (\d+)$/.exec(line)?.[1]
  if (what === 'new file') header.isNew = true
  if (what === 'deleted file') header.isDeleted = true
  // The mode of an unchanged mode only matters if it is none of a regular file.
  const read = mode ?? (kept !== undefined && !REGULAR.includes(kept) ? kept : undefined)
  if (read !== undefined && what !== 'deleted file') header.mode = read
  refuseBinary(header, line, number)
  return what !== undefined || kept !== undefined || PASSED.test(line)
}

/** Throws VT_PATCH_SYNTAX for a line of a binary change. */
function refuseBinary({ git }: FileHeader, line: string, number: number): void {
  if (!/^(?:Binary files .* differ$|GIT binary patch$)/.test(line)) return
  const path = git?.[1].replace(/^b\//, '') ?? 'the file'
  throw createSyntaxError(number, line, `a text diff; the change of '${path}' is binary and cannot be applied`)
}

function toSection(header: FileHeader, hunks: Hunk[], text: string): Section {
  const { line, mode, isNew, isDeleted } = header
  const createError = (expected: string) => createSyntaxError(line, text, expected)
  if (mode !== undefined && !REGULAR.includes(mode))
    throw createError('a regular file; links and submodules are not made')
  const [from, to] = findPaths(header, hunks)
  if (from === undefined || to === undefined) throw createError("'--- a/path' and '+++ b/path'")
  if (isNew || from === '/dev/null') {
    if (hunks.some((hunk) => !hasOnly(hunk, '+'))) throw createError('added lines only')
    return { op: 'add', path: to, ...readAddedText(hunks), executable: mode === '100755', line }
  }
  if (isDeleted || to === '/dev/null') return { op: 'delete', path: from, hunks, line }
  if (hunks.length === 0 && from === to && mode === undefined) throw createError('a hunk, a new mode or another path')
  return toUpdate(header, from, to, hunks)
}

const toUpdate = ({ line, mode, isCopy, isRename }: FileHeader, path: string, to: string, hunks: Hunk[]): Section => ({
  op: 'update',
  path,
  ...((isRename || isCopy) && { to }),
  ...(isCopy && { isCopy }),
  hunks,
  ...(mode !== undefined && { executable: mode === '100755' }),
  line,
})

/** Returns the old and the new path without the prefixes of git; `/dev/null` for a file that is not there. */
function findPaths(header: FileHeader, hunks: Hunk[]): [string | undefined, string | undefined] {
  const { git, isCopy, isRename } = header
  if (isCopy || isRename) return [header.old, header.now]
  const [old, now] = [header.old ?? git?.[0], header.now ?? git?.[1]]
  if (old === undefined || now === undefined) return [undefined, undefined]
  const [from, to] = stripPrefixes(old, now)
  if (from === '/dev/null' || to === '/dev/null') return [from, to]
  if (isMissing(header.oldLabel, hunks, '+')) return ['/dev/null', to]
  if (isMissing(header.nowLabel, hunks, '-')) return [from, '/dev/null']
  // Without headers of git both names are of one file: `diff -u file.orig file`.
  const path = to.startsWith(from) ? from : to
  return [path, path]
}

/**
 * Checks for a side without a file, which `diff -uN` and Subversion name by its label: the beginning of 1970 in any
 * time zone, or a revision before the first one. The only hunk has lines of the other side alone.
 */
const isMissing = (label: string, [hunk, ...more]: readonly Hunk[], other: '+' | '-'): boolean =>
  hunk !== undefined &&
  more.length === 0 &&
  hasOnly(hunk, other) &&
  (/^\((?:nonexistent|revision 0)\)/.test(label) || Date.parse(label.replace(/\.\d+/, '')) === 0)

const hasOnly = ({ lines }: Hunk, kind: '+' | '-'): boolean => lines.every((line) => line.kind === kind)

/** Removes the prefixes of the two sides, `a/` and `b/` or those of `diff.mnemonicPrefix`, if both names have them. */
function stripPrefixes(old: string, now: string): [string, string] {
  const hasPrefix = (path: string, prefix: RegExp) => path === '/dev/null' || prefix.test(path)
  const both = hasPrefix(old, /^[aciow1]\//) && hasPrefix(now, /^[bciw2]\//) && old[0] !== now[0]
  const bare = (path: string) => (both && path !== '/dev/null' ? path.slice(2) : path)
  return [bare(old), bare(now)]
}

function readAddedText(hunks: readonly Hunk[]): { lines: string[]; newline: boolean } {
  const added = hunks.flatMap(({ lines }) => lines)
  return { lines: added.map(({ text }) => text), newline: !hunks.some(({ newline }) => newline === false) }
}
