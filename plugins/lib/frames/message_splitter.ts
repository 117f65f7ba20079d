const EDGE_BYTES = 1024
const NEWLINE = 10

/** The id of a JSON-RPC request; `null` if it is not known. */
export type RequestId = string | number | null
export interface MessageReceiver {
  /** Receives a line that is not blank, without its end. */
  line(text: string): void
  /** Refuses a line over the limit; `id` is that of its request if known. */
  refuse(id: RequestId): void
}

/**
 * Returns a function that splits a stream into lines, reading every byte once. A line of more than `maxBytes` bytes is
 * refused and its bytes are dropped as they arrive, so memory stays bounded.
 */
export function createMessageSplitter(maxBytes: number, { line, refuse }: MessageReceiver): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  /** State of a line that is too long: whether its request has been answered, and its last bytes. */
  let excess: { answered: boolean; tail: Buffer } | undefined

  function take(part: Buffer): void {
    size += part.length
    if (excess) {
      excess.tail = Buffer.concat([excess.tail, part.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES)
    } else if (size > maxBytes) {
      const id = parseIdAtStart(
        Buffer.concat([...parts, part.subarray(0, EDGE_BYTES)])
          .subarray(0, EDGE_BYTES)
          .toString('latin1'),
      )
      excess = {
        answered: id !== null,
        tail: Buffer.concat([
          parts.at(-1)?.subarray(-EDGE_BYTES) ?? Buffer.alloc(0),
          part.subarray(-EDGE_BYTES),
        ]).subarray(-EDGE_BYTES),
      }
      parts = []
      refuse(id)
    } else {
      parts.push(part)
    }
  }

  function end(): void {
    const id = excess && !excess.answered ? parseIdAtEnd(excess.tail.toString('latin1')) : null
    if (id !== null) refuse(id)
    const text = excess ? '' : (parts.length === 1 ? parts[0]! : Buffer.concat(parts, size)).toString('utf8')
    parts = []
    size = 0
    excess = undefined
    if (/\S/.test(text)) line(text)
  }

  return (chunk) => {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, to))
      end()
      from = to + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
}

/** Returns the id of a message that was not read whole, if it is the first or last member. */
const parseIdAtStart = (head: string): RequestId =>
  parseId(/^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*,/.exec(head))
const parseIdAtEnd = (tail: string): RequestId =>
  parseId(/,\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail))
const parseId = (match: RegExpExecArray | null): RequestId => (match ? (JSON.parse(match[1]!) as RequestId) : null)
