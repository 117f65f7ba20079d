/** Bytes kept in memory of one stream: its beginning and its end. */
export const kept = { head: 128 * 1024, tail: 384 * 1024 }

/** The beginning and the end of a stream that may be endless. Takes no more memory than what has come, at most `kept`. */
export class Ring {
  total = 0
  private head: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)

  append(chunk: Buffer): void {
    const first = chunk.subarray(0, Math.max(0, kept.head - this.total))
    if (first.length > 0) {
      this.head = grown(this.head, this.total + first.length, kept.head)
      first.copy(this.head, this.total)
    }
    this.total += first.length
    const rest = chunk.subarray(first.length)
    if (rest.length > 0) this.appendTail(rest)
  }

  private appendTail(chunk: Buffer): void {
    // Only the last bytes of a chunk longer than the whole tail would survive.
    const skipped = Math.max(0, chunk.length - kept.tail)
    const position = this.total - kept.head + skipped
    this.total += chunk.length
    this.tail = grown(this.tail, this.total - kept.head, kept.tail)
    const at = position % kept.tail
    const copied = chunk.copy(this.tail, at, skipped)
    chunk.copy(this.tail, 0, skipped + copied)
  }

  /** A copy of the bytes from `from` to `to`; `undefined` if some of them were dropped. */
  read(from: number, to: number): Buffer | undefined {
    const pieces = this.pieces(from, to)
    return pieces && Buffer.concat(pieces)
  }

  /** The same without a copy: good until `kept.tail` more bytes than `from` have come. */
  pieces(from: number, to: number): Buffer[] | undefined {
    const end = Math.min(to, this.total)
    if (end <= from) return []
    const start = Math.max(from, kept.head)
    if (end > kept.head && start < this.total - kept.tail) return undefined
    const at = (start - kept.head) % kept.tail
    const length = Math.max(0, end - start)
    const straight = Math.min(length, kept.tail - at)
    const parts = [
      this.head.subarray(from, Math.min(end, kept.head)),
      this.tail.subarray(at, at + straight),
      this.tail.subarray(0, length - straight),
    ]
    return parts.filter((part) => part.length > 0)
  }
}

/** `buffer` with room for `size` bytes, doubled from time to time, at most `limit`. */
function grown(buffer: Buffer, size: number, limit: number): Buffer {
  if (buffer.length >= Math.min(size, limit)) return buffer
  const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(4096, 2 * buffer.length, size)))
  buffer.copy(larger)
  return larger
}
