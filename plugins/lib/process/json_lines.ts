export interface JsonLineHandlers {
  value(value: unknown): void
  /** Called for a line that is not JSON. */
  other(line: string): void
  /** Called for a line over the limit; reading stops there. */
  tooLong(): void
  parse?: (line: string) => unknown
}

/**
 * Creates a consumer of chunks that reads one JSON document per line of at most `limit` bytes and skips empty lines.
 */
export function createJsonLineReader(
  limit: number,
  { value, other, tooLong, parse = JSON.parse }: JsonLineHandlers,
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
