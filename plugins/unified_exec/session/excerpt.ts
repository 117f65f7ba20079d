import type { StreamPosition, StreamLog } from '../output/log.js'
import { kept } from '../output/ring.js'
import { beginning, ending, plainText } from '../output/text.js'

/** A part of a stream as it may be shown: all of it, or its two ends. */
export interface StreamExcerpt {
  /** Size of the whole part, as text where the text is at hand. */
  bytes: number
  lines: number
  start: string
  /** Absent when `start` is everything. */
  end?: string
}

/** Reads what lies between two places of a stream; of a long part only as much as an answer may ever show. */
export async function excerptOf(
  log: StreamLog,
  from: StreamPosition,
  to: StreamPosition,
  plain: boolean,
): Promise<StreamExcerpt> {
  const text = (bytes: Buffer): string => (plain ? plainText(bytes.toString()) : bytes.toString())
  const size = to.at - from.at
  if (size <= kept.head + kept.tail) {
    const start = text(await log.read(from.at, to.at))
    return { bytes: Buffer.byteLength(start), lines: newlines(start), start }
  }
  const [start, end] = await Promise.all([log.read(from.at, from.at + kept.head), log.read(to.at - kept.tail, to.at)])
  return { bytes: size, lines: to.newlines - from.newlines, start: text(start), end: text(end) }
}

/** The text of an excerpt in at most about `budget` bytes: its first 30 % and its last 70 % around a note on what is missing. */
export function fitExcerpt(
  { bytes, lines, start, end }: StreamExcerpt,
  budget: number,
  path: string | undefined,
): string {
  if (end === undefined && bytes <= budget) return start
  const head = beginning(start, Math.floor(budget * 0.3))
  const tail = ending(end ?? start, Math.floor(budget * 0.7))
  const missing = {
    lines: lines - newlines(head) - newlines(tail),
    bytes: bytes - Buffer.byteLength(head) - Buffer.byteLength(tail),
  }
  const where = path === undefined ? 'it could not be kept' : `full output: ${path}`
  const note = `[… ${Math.max(0, missing.lines)} lines (${Math.max(0, missing.bytes)} bytes) omitted; ${where} …]`
  return `${head}${head === '' || head.endsWith('\n') ? '' : '\n'}${note}\n${tail}`
}

/** How many bytes each stream may show: standard error is sure of a quarter, what one does not need goes to the other. */
export function shares(budget: number, out: number, err: number): { out: number; err: number } {
  const forErr = Math.min(err, Math.max(Math.floor(budget / 4), budget - out))
  return { out: budget - forErr, err: forErr }
}

function newlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
