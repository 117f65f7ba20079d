import type { Pos } from '@ast-grep/napi'
import type { Range } from './types.js'

/** Converts UTF-16 units, which parsers of JavaScript strings count, to bytes and code points. */
export interface Positions {
  /** Counts bytes before a UTF-16 index. */
  byte(index: number): number
  /** Counts code points before a UTF-16 column of a zero-based line. */
  column(line: number, column: number): number
  /** Counts code points between two UTF-16 indices. */
  points(from: number, to: number): number
  /** Returns bytes, lines and columns of both ends. */
  range(ends: Record<'start' | 'end', Pos>): Range
}

/** UTF-16 units between two marks: the most units counted for one position. */
const STRIDE_UNITS = 128

export function createPositions(text: string): Positions {
  const { byte, column, points } =
    Buffer.byteLength(text) === text.length ? ASCII_POSITIONS : createMarkedPositions(text)
  const place = ({ line, column: units }: Pos) => ({ line, column: column(line, units) })
  return {
    byte,
    column,
    points,
    range: ({ start, end }) => ({
      byteOffset: { start: byte(start.index), end: byte(end.index) },
      start: place(start),
      end: place(end),
    }),
  }
}

/** Positions of a text in which every unit is a byte. */
const ASCII_POSITIONS: Omit<Positions, 'range'> = {
  byte: (index) => index,
  column: (_line, column) => column,
  points: (from, to) => to - from,
}

function createMarkedPositions(text: string): Omit<Positions, 'range'> {
  const marks = computeMarks(text)
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const before = (index: number, counts: Uint32Array, measure: (text: string) => number): number => {
    const mark = Math.floor(index / STRIDE_UNITS)
    return counts[mark]! + measure(text.slice(toMarkIndex(text, mark), index))
  }
  const countPointsTo = (index: number) => before(index, marks.points, countCodePoints)
  const points = (from: number, to: number) => countPointsTo(to) - countPointsTo(from)
  return {
    byte: (index) => before(index, marks.bytes, Buffer.byteLength),
    column: (line, column) => points(starts[line]!, starts[line]! + column),
    points,
  }
}

/** Computes the bytes and code points before each mark. */
function computeMarks(text: string): { bytes: Uint32Array; points: Uint32Array } {
  const bytes = new Uint32Array(Math.floor(text.length / STRIDE_UNITS) + 1)
  const points = new Uint32Array(bytes.length)
  for (let mark = 1; mark < bytes.length; mark++) {
    const part = text.slice(toMarkIndex(text, mark - 1), toMarkIndex(text, mark))
    bytes[mark] = bytes[mark - 1]! + Buffer.byteLength(part)
    points[mark] = points[mark - 1]! + countCodePoints(part)
  }
  return { bytes, points }
}

/** Returns the index of a mark, never between the halves of one character. */
function toMarkIndex(text: string, mark: number): number {
  const index = mark * STRIDE_UNITS
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index
}

function countCodePoints(text: string): number {
  let points = 0
  for (const _ of text) points++
  return points
}
