/** From UTF-16 units, in which parsers count that run on JavaScript's strings, to bytes and code points. */
export interface Positions {
  /** Bytes before a UTF-16 index. */
  byte(index: number): number
  /** Code points before a UTF-16 column of a zero-based line. */
  column(line: number, column: number): number
}

export function positionsIn(text: string): Positions {
  if (Buffer.byteLength(text) === text.length) return { byte: (index) => index, column: (_line, column) => column }
  const starts = [0]
  const bytes = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    bytes.push(bytes.at(-1)! + Buffer.byteLength(text.slice(starts.at(-1)!, at + 1)))
    starts.push(at + 1)
  }
  return {
    byte(index) {
      const line = lineAt(starts, index)
      return bytes[line]! + Buffer.byteLength(text.slice(starts[line]!, index))
    },
    column: (line, column) => Array.from(text.slice(starts[line]!, starts[line]! + column)).length,
  }
}

/** The last line that starts at or before an index. */
function lineAt(starts: number[], index: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= index) low = middle
    else high = middle - 1
  }
  return low
}
