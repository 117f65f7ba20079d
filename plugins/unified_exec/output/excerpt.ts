import type { StreamPosition, StreamLog } from './log.js'
import { RING_BYTES } from './ring.js'
import { takeStart, takeEnd, toPlainText } from './text.js'

/** A part of a stream for a result: the whole, or both ends. */
export interface StreamExcerpt {
  /** Size of the whole part, as text if that was read. */
  bytes: number
  lines: number
  start: string
  /** Absent when `start` is everything. */
  end?: string
}

/** Reads a stream between two positions; of a long part only as much as a result can show. */
export async function readExcerpt(
  log: StreamLog,
  from: StreamPosition,
  to: StreamPosition,
  plain: boolean,
): Promise<StreamExcerpt> {
  const text = (bytes: Buffer): string => (plain ? toPlainText(bytes.toString()) : bytes.toString())
  const size = to.at - from.at
  if (size <= RING_BYTES.head + RING_BYTES.tail) {
    const start = text(await log.read(from.at, to.at))
    return { bytes: Buffer.byteLength(start), lines: countNewlines(start), start }
  }
  const [start, end] = await Promise.all([
    log.read(from.at, from.at + RING_BYTES.head),
    log.read(to.at - RING_BYTES.tail, to.at),
  ])
  return { bytes: size, lines: to.newlines - from.newlines, start: text(start), end: text(end) }
}

/** Returns an excerpt in about `budget` bytes: its first 30 %, a note on the omitted part, and its last 70 %. */
export function fitExcerpt(
  { bytes, lines, start, end }: StreamExcerpt,
  budget: number,
  path: string | undefined,
): string {
  if (end === undefined && bytes <= budget) return start
  const head = takeStart(start, Math.floor(budget * 0.3))
  const tail = takeEnd(end ?? start, Math.floor(budget * 0.7))
  const missing = {
    lines: lines - countNewlines(head) - countNewlines(tail),
    bytes: bytes - Buffer.byteLength(head) - Buffer.byteLength(tail),
  }
  const where = path === undefined ? 'no file could be written' : `full output: ${path}`
  const note = `[… ${Math.max(0, missing.lines)} lines (${Math.max(0, missing.bytes)} bytes) omitted; ${where} …]`
  return `${head}${head === '' || head.endsWith('\n') ? '' : '\n'}${note}\n${tail}`
}

/** Divides the budget: standard error gets at least a quarter if it needs that; unused bytes go to the other. */
export function divideBudget(budget: number, out: number, err: number): { out: number; err: number } {
  const forErr = Math.min(err, Math.max(Math.floor(budget / 4), budget - out))
  return { out: budget - forErr, err: forErr }
}

function countNewlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
