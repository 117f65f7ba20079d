import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff'
import { syntax } from './syntax.js'
import type { Hunk, HunkLine, Section } from './types.js'

/** Whether a text is a unified diff, with or without git's headers. */
export const looksUnified = (lines: string[]): boolean =>
  !lines.some((line) => line.trim() === '*** Begin Patch') &&
  lines.some(
    (line, index) =>
      line.startsWith('diff --git ') || (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ')),
  )

const header = /^(?:--- |\+\+\+ |rename from |rename to )(.*?)(?:\t.*)?$/

/** The sections of a unified diff. Line numbers become hints. Throws VT_PATCH_SYNTAX. */
export function parseUnified(lines: string[]): Section[] {
  const escaped = lines.findIndex(
    (line) => /^(?:--- |\+\+\+ |rename |copy |diff --git )/.test(line) && /"|\\/.test(line),
  )
  if (escaped !== -1) throw syntax(escaped + 1, lines[escaped]!, 'a path without quotes and escapes')
  let patches: StructuredPatch[]
  try {
    patches = parsePatch(`${lines.join('\n')}\n`)
  } catch (error) {
    throw syntax(1, lines[0]!, `a unified diff whose counts are right (${(error as Error).message})`)
  }
  // Only paths in lines of their own are taken: those were checked before.
  const named = new Set(lines.flatMap((line) => header.exec(line)?.[1] ?? []))
  return patches.map((patch) => sectionOf(patch, lines, named))
}

function sectionOf(patch: StructuredPatch, lines: string[], named: Set<string>): Section {
  const { oldFileName: old = '', newFileName: now = '', hunks, newMode, isBinary, isCopy, isRename } = patch
  const line = lines.findIndex((text) => text.includes(now === '/dev/null' ? old : now)) + 1
  const wrong = (expected: string) => syntax(line, lines[line - 1] ?? '', expected)
  if (isBinary || isCopy) throw wrong('a text diff; binary patches and copies are not applied')
  if (!['100644', '100755', undefined].includes(newMode))
    throw wrong('a regular file; links and submodules are not made')
  const [from, to] = isRename ? [old.replace(/^a\//, ''), now.replace(/^b\//, '')] : strip(old, now)
  const isNamed = (path: string) => [path, path.replace(/^[ab]\//, '')].some((name) => named.has(name))
  if (![old, now].every((path) => path === '/dev/null' || isNamed(path))) throw wrong("'--- a/path' and '+++ b/path'")
  if (hunks.length === 0 && !isRename) throw wrong('a hunk; a change of the mode alone is not applied')
  if (from === '/dev/null') return { op: 'add', path: to, ...addedText(hunks), executable: newMode === '100755', line }
  if (to === '/dev/null') return { op: 'delete', path: from, line }
  const executable = newMode && { executable: newMode === '100755' }
  return {
    op: 'update',
    path: from,
    ...(from !== to && { to }),
    hunks: hunks.map((hunk) => hunkOf(hunk, line)),
    ...executable,
    line,
  }
}

function addedText(hunks: readonly StructuredPatchHunk[]): { lines: string[]; newline: boolean } {
  const added = hunks.flatMap((hunk) => hunk.lines)
  const lines = added.filter((text) => text.startsWith('+')).map((text) => text.slice(1))
  return { lines, newline: !added.some((text) => text.startsWith('\\')) }
}

/** Without the sides that git and others put in front, where both names have them. */
function strip(old: string, now: string): [string, string] {
  const sides = (old === '/dev/null' || old.startsWith('a/')) && (now === '/dev/null' || now.startsWith('b/'))
  const bare = (path: string) => (sides && path !== '/dev/null' ? path.slice(2) : path)
  return [bare(old), bare(now)]
}

function hunkOf({ oldStart, lines }: StructuredPatchHunk, line: number): Hunk {
  const own: HunkLine[] = []
  let newline: boolean | undefined
  for (const [index, text] of lines.entries()) {
    const kind = text[0]
    if (kind === '\\') {
      const before = lines[index - 1]?.[0]
      // The remark speaks about the line before it: of the old file, of the new one, or of both.
      if (before === '+') newline = false
      else if (before === '-') newline ??= true
    } else if (kind === ' ' || kind === '-' || kind === '+') own.push({ kind, text: text.slice(1) })
  }
  if (!own.some(({ kind }) => kind !== ' ')) throw syntax(line, '@@', "at least one line that starts with '-' or '+'")
  return { anchors: [], lines: own, atEnd: false, hint: oldStart, ...(newline !== undefined && { newline }), line }
}
