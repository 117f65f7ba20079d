import { visibleLine } from '../../../core/text/index.js'
import { formatPatch, OMIT_HEADERS, structuredPatch, type StructuredPatchHunk } from 'diff'
import { findLineNumber, createLineCounter, type Changes } from './changes.js'

/** Limits of a diff. A final line counts the lines left out. */
export interface DiffLimits {
  lines: number
  bytes: number
}

const CONTEXT_LINES = 3
export const MAX_COMPARED_BYTES = 1024 * 1024

/**
 * Returns the changes as a unified diff. Only pieces that differ are compared, so the size of the file does not matter.
 */
export function diffChanges(path: string, changes: Changes, limits: DiffLimits): string {
  const hunks = listWindows(changes).flatMap(({ before, after, line, newLine }) =>
    diffWindow(before, after, line, newLine),
  )
  return formatUnified(path, path, hunks, limits)
}

/** Returns a unified diff of two texts; `undefined` if one exceeds 1 MiB or comparing takes over 500 ms. */
export function diffTexts(path: string, before: Buffer, after: Buffer, limits: DiffLimits): string | undefined {
  if (Math.max(before.length, after.length) > MAX_COMPARED_BYTES) return undefined
  const hunks = structuredPatch('', '', before.toString(), after.toString(), '', '', {
    context: CONTEXT_LINES,
    timeout: 500,
  })?.hunks
  return (
    hunks &&
    formatUnified(before.length === 0 ? '/dev/null' : path, after.length === 0 ? '/dev/null' : path, hunks, limits)
  )
}

/** Counts added and removed lines; `undefined` under the conditions of `diffTexts`. */
export function countChangedLines(before: Buffer, after: Buffer): { added: number; removed: number } | undefined {
  if (Math.max(before.length, after.length) > MAX_COMPARED_BYTES) return undefined
  const hunks = structuredPatch('', '', before.toString(), after.toString(), '', '', {
    context: 0,
    timeout: 500,
  })?.hunks
  return hunks && { added: sumLines(hunks, 'newLines'), removed: sumLines(hunks, 'oldLines') }
}

const sumLines = (hunks: readonly StructuredPatchHunk[], side: 'newLines' | 'oldLines'): number =>
  hunks.reduce((sum, hunk) => sum + hunk[side], 0)

interface Window {
  before: Buffer
  after: Buffer
  line: number
  newLine: number
}

/** Returns the lines around each changed piece. Pieces close together share one window. */
function listWindows({ before, bytes, all }: Changes): Window[] {
  const found: { start: number; end: number; oldStart: number; oldEnd: number }[] = []
  for (const region of all) {
    const [start, oldStart] = [findContextStart(bytes, region.start), findContextStart(before, region.oldStart)]
    const [end, oldEnd] = [findContextEnd(bytes, region.end), findContextEnd(before, region.oldEnd)]
    const last = found.at(-1)
    if (last && (start <= last.end || oldStart <= last.oldEnd)) Object.assign(last, { end, oldEnd })
    else found.push({ start, end, oldStart, oldEnd })
  }
  const lineOf = createLineCounter(before)
  // Line numbers shift only inside windows.
  let more = 0
  return found.map(({ start, end, oldStart, oldEnd }) => {
    const [was, is, line] = [before.subarray(oldStart, oldEnd), bytes.subarray(start, end), lineOf(oldStart)]
    const newLine = line + more
    more += findLineNumber(is, is.length) - findLineNumber(was, was.length)
    return { before: was, after: is, line, newLine }
  })
}

/** Returns the start of the third line before the line of `offset`. */
function findContextStart(bytes: Buffer, offset: number): number {
  let at = findLineStart(bytes, offset)
  for (let n = 0; n < CONTEXT_LINES && at > 0; n++) at = findLineStart(bytes, at - 1)
  return at
}

const findLineStart = (bytes: Buffer, offset: number): number =>
  offset === 0 ? 0 : bytes.lastIndexOf(10, offset - 1) + 1

/** Returns the end of the third line after the line of `offset`. */
function findContextEnd(bytes: Buffer, offset: number): number {
  let at = offset
  for (let n = 0; n <= CONTEXT_LINES && at < bytes.length; n++) {
    const end = bytes.indexOf(10, at)
    if (end === -1) return bytes.length
    at = end + 1
  }
  return at
}

function diffWindow(before: Buffer, after: Buffer, line: number, newLine: number): StructuredPatchHunk[] {
  const patch = structuredPatch('', '', before.toString(), after.toString(), '', '', {
    context: CONTEXT_LINES,
    timeout: 500,
  })
  return (patch?.hunks ?? []).map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + line - 1,
    newStart: hunk.newStart + newLine - 1,
  }))
}

function formatUnified(oldPath: string, newPath: string, hunks: StructuredPatchHunk[], limits: DiffLimits): string {
  const name = (path: string, side: string) => (path === '/dev/null' ? path : `${side}/${visibleLine(path)}`)
  const patch = { oldFileName: '', newFileName: '', oldHeader: '', newHeader: '', hunks }
  const body = hunks.length > 0 ? formatPatch(patch, OMIT_HEADERS) : ''
  return clipDiff(`--- ${name(oldPath, 'a')}\n+++ ${name(newPath, 'b')}\n${body}`, limits)
}

/** Returns the first lines of a diff within the limits, and counts the rest. */
export function clipDiff(diff: string, limits: DiffLimits): string {
  const lines = diff.replace(/\n$/, '').split('\n')
  let bytes = 0
  let count = 0
  while (
    count < lines.length &&
    count < limits.lines - 1 &&
    (bytes += Buffer.byteLength(lines[count]!) + 1) <= limits.bytes - 40
  )
    count++
  if (count >= lines.length - 1 && Buffer.byteLength(diff) <= limits.bytes) return `${lines.join('\n')}\n`
  return `${lines.slice(0, count).join('\n')}\n[${lines.length - count} more lines of the diff]\n`
}
