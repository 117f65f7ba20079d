import { visibleLine } from '../../../core/text/index.js'
import { formatPatch, OMIT_HEADERS, structuredPatch, type StructuredPatchHunk } from 'diff'
import { findLineNumber, createLineCounter, type Changes } from './changes.js'

/** Most lines and bytes that a diff may have; what is more is left out with a line that says so. */
export interface DiffLimits {
  lines: number
  bytes: number
}

const context = 3
export const MAX_COMPARED_BYTES = 1024 * 1024

/** What changed as a unified diff. Only the pieces that differ are compared, so that a large file costs no more than a small one. */
export function diffChanges(path: string, changes: Changes, room: DiffLimits): string {
  const hunks = listWindows(changes).flatMap(({ before, after, line, newLine }) =>
    diffWindow(before, after, line, newLine),
  )
  return formatUnified(path, path, hunks, room)
}

/** Two whole texts as a unified diff; `undefined` if either is over 1 MiB or comparing takes more than 500 ms. */
export function diffTexts(path: string, before: Buffer, after: Buffer, room: DiffLimits): string | undefined {
  if (Math.max(before.length, after.length) > MAX_COMPARED_BYTES) return undefined
  const hunks = structuredPatch('', '', before.toString(), after.toString(), '', '', { context, timeout: 500 })?.hunks
  return (
    hunks &&
    formatUnified(before.length === 0 ? '/dev/null' : path, after.length === 0 ? '/dev/null' : path, hunks, room)
  )
}

/** How many lines were added and how many taken away; `undefined` under the conditions of `diffTexts`. */
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

/** The lines around each piece that differs; pieces that lie close together share one window. */
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
  // Between the windows nothing differs: only in them does the text have more lines, or fewer.
  let more = 0
  return found.map(({ start, end, oldStart, oldEnd }) => {
    const [was, is, line] = [before.subarray(oldStart, oldEnd), bytes.subarray(start, end), lineOf(oldStart)]
    const newLine = line + more
    more += findLineNumber(is, is.length) - findLineNumber(was, was.length)
    return { before: was, after: is, line, newLine }
  })
}

/** Where the third line before the one of `offset` begins. */
function findContextStart(bytes: Buffer, offset: number): number {
  let at = findLineStart(bytes, offset)
  for (let n = 0; n < context && at > 0; n++) at = findLineStart(bytes, at - 1)
  return at
}

const findLineStart = (bytes: Buffer, offset: number): number =>
  offset === 0 ? 0 : bytes.lastIndexOf(10, offset - 1) + 1

/** Where the third line after the one of `offset` ends. */
function findContextEnd(bytes: Buffer, offset: number): number {
  let at = offset
  for (let n = 0; n <= context && at < bytes.length; n++) {
    const end = bytes.indexOf(10, at)
    if (end === -1) return bytes.length
    at = end + 1
  }
  return at
}

function diffWindow(before: Buffer, after: Buffer, line: number, newLine: number): StructuredPatchHunk[] {
  const patch = structuredPatch('', '', before.toString(), after.toString(), '', '', { context, timeout: 500 })
  return (patch?.hunks ?? []).map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + line - 1,
    newStart: hunk.newStart + newLine - 1,
  }))
}

function formatUnified(oldPath: string, newPath: string, hunks: StructuredPatchHunk[], room: DiffLimits): string {
  const name = (path: string, side: string) => (path === '/dev/null' ? path : `${side}/${visibleLine(path)}`)
  const patch = { oldFileName: '', newFileName: '', oldHeader: '', newHeader: '', hunks }
  const body = hunks.length > 0 ? formatPatch(patch, OMIT_HEADERS) : ''
  return clipDiff(`--- ${name(oldPath, 'a')}\n+++ ${name(newPath, 'b')}\n${body}`, room)
}

/** The first lines of a diff that fit, and how many are missing. */
export function clipDiff(diff: string, room: DiffLimits): string {
  const lines = diff.replace(/\n$/, '').split('\n')
  let bytes = 0
  let count = 0
  while (
    count < lines.length &&
    count < room.lines - 1 &&
    (bytes += Buffer.byteLength(lines[count]!) + 1) <= room.bytes - 40
  )
    count++
  if (count >= lines.length - 1 && Buffer.byteLength(diff) <= room.bytes) return `${lines.join('\n')}\n`
  return `${lines.slice(0, count).join('\n')}\n[${lines.length - count} more lines of the diff]\n`
}
