export interface JsonLines {
  value(value: unknown): void
  /** A line that is no JSON. */
  other(line: string): void
  /** A line of more than the limit: nothing of it or behind it is read. */
  tooLong(): void
  parse?: (line: string) => unknown
}

/** A consumer of chunks that reads one JSON document a line, of `limit` bytes at most; empty lines are passed over. */
export function jsonLines(
  limit: number,
  { value, other, tooLong, parse = JSON.parse }: JsonLines,
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  let over = false
  const keep = (part: Buffer): void => {
    parts.push(part)
    size += part.length
    if (size <= limit) return
    over = true
    parts = []
    tooLong()
  }
  const read = (line: string): void => {
    let parsed: unknown
    try {
      parsed = parse(line)
    } catch {
      return other(line)
    }
    value(parsed)
  }
  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0 && !over; at = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, at))
      from = at + 1
      if (over) return
      const line = Buffer.concat(parts).toString('utf8').trim()
      parts = []
      size = 0
      if (line !== '') read(line)
    }
    if (!over && from < chunk.length) keep(chunk.subarray(from))
  }
}
