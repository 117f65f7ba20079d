import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff'
import { createSyntaxError } from './syntax_error.js'
import type { Hunk, HunkLine, Section } from './types.js'

/** Checks whether a text is a unified diff, with or without headers of git. */
export const isUnified = (lines: string[]): boolean =>
  !lines.some((line) => line.trim() === '*** Begin Patch') &&
  lines.some(
    (line, index) =>
      line.startsWith('diff --git ') || (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ')),
  )

const HEADER = /^(?:--- |\+\+\+ |rename from |rename to )(.*?)(?:\t.*)?$/

/** Parses the sections of a unified diff. Line numbers become hints. Throws VT_PATCH_SYNTAX. */
export function parseUnified(lines: string[]): Section[] {
  const escaped = lines.findIndex(
    (line) => /^(?:--- |\+\+\+ |rename |copy |diff --git )/.test(line) && /"|\\/.test(line),
  )
  if (escaped !== -1) throw createSyntaxError(escaped + 1, lines[escaped]!, 'a path without quotes and escapes')
  let patches: StructuredPatch[]
  try {
    patches = parsePatch(`${lines.join('\n')}\n`)
  } catch (error) {
    throw createSyntaxError(1, lines[0]!, `a unified diff whose counts are right (${(error as Error).message})`)
  }
  // Only paths on separate lines are accepted: those were checked before.
  const named = new Set(lines.flatMap((line) => HEADER.exec(line)?.[1] ?? []))
  return patches.map((patch) => toSection(patch, lines, named))
}

function toSection(patch: StructuredPatch, lines: string[], named: Set<string>): Section {
  const { oldFileName: old = '', newFileName: now = '', hunks, newMode, isBinary, isCopy, isRename } = patch
  const line = lines.findIndex((text) => text.includes(now === '/dev/null' ? old : now)) + 1
  const wrong = (expected: string) => createSyntaxError(line, lines[line - 1] ?? '', expected)
  if (isBinary || isCopy) throw wrong('a text diff; binary patches and copies are not applied')
  if (!['100644', '100755', undefined].includes(newMode))
    throw wrong('a regular file; links and submodules are not made')
  const [from, to] = isRename ? [old.replace(/^a\//, ''), now.replace(/^b\//, '')] : stripSides(old, now)
  const isNamed = (path: string) => [path, path.replace(/^[ab]\//, '')].some((name) => named.has(name))
  if (![old, now].every((path) => path === '/dev/null' || isNamed(path))) throw wrong("'--- a/path' and '+++ b/path'")
  if (hunks.length === 0 && !isRename) throw wrong('a hunk; a change of the mode alone is not applied')
  if (from === '/dev/null')
    return { op: 'add', path: to, ...readAddedText(hunks), executable: newMode === '100755', line }
  if (to === '/dev/null') return { op: 'delete', path: from, line }
  const executable = newMode && { executable: newMode === '100755' }
  return {
    op: 'update',
    path: from,
    ...(from !== to && { to }),
    hunks: hunks.map((hunk) => toHunk(hunk, line)),
    ...executable,
    line,
  }
}

function readAddedText(hunks: readonly StructuredPatchHunk[]): { lines: string[]; newline: boolean } {
  const added = hunks.flatMap((hunk) => hunk.lines)
  const lines = added.filter((text) => text.startsWith('+')).map((text) => text.slice(1))
  return { lines, newline: !added.some((text) => text.startsWith('\\')) }
}

/** Removes the prefixes `a/` and `b/` if both names have them. */
function stripSides(old: string, now: string): [string, string] {
  const sides = (old === '/dev/null' || old.startsWith('a/')) && (now === '/dev/null' || now.startsWith('b/'))
  const bare = (path: string) => (sides && path !== '/dev/null' ? path.slice(2) : path)
  return [bare(old), bare(now)]
}

function toHunk({ oldStart, lines }: StructuredPatchHunk, line: number): Hunk {
  const own: HunkLine[] = []
  let newline: boolean | undefined
  for (const [index, text] of lines.entries()) {
    const kind = text[0]
    if (kind === '\\') {
      const before = lines[index - 1]?.[0]
      // The remark refers to the line before it: of the old file, the new one, or both.
      if (before === '+') newline = false
      else if (before === '-') newline ??= true
    } else if (kind === ' ' || kind === '-' || kind === '+') own.push({ kind, text: text.slice(1) })
  }
  if (!own.some(({ kind }) => kind !== ' '))
    throw createSyntaxError(line, '@@', "at least one line that starts with '-' or '+'")
  return { anchors: [], lines: own, atEnd: false, hint: oldStart, ...(newline !== undefined && { newline }), line }
}
