/** Bytes of the beginning and the end of a stream that stay in memory. */
export const RING_BYTES = { head: 128 * 1024, tail: 384 * 1024 }

/**
 * The beginning and the end of an endless stream. Uses at most `RING_BYTES` of memory, and no more than the stream has.
 */
export class Ring {
  total = 0
  private head: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)

  append(chunk: Buffer): void {
    const first = chunk.subarray(0, Math.max(0, RING_BYTES.head - this.total))
    if (first.length > 0) {
      this.head = growBuffer(this.head, this.total + first.length, RING_BYTES.head)
      first.copy(this.head, this.total)
    }
    this.total += first.length
    const rest = chunk.subarray(first.length)
    if (rest.length > 0) this.appendTail(rest)
  }

  private appendTail(chunk: Buffer): void {
    // Of a chunk longer than the tail, only its last bytes remain.
    const skipped = Math.max(0, chunk.length - RING_BYTES.tail)
    const position = this.total - RING_BYTES.head + skipped
    this.total += chunk.length
    this.tail = growBuffer(this.tail, this.total - RING_BYTES.head, RING_BYTES.tail)
    const at = position % RING_BYTES.tail
    const copied = chunk.copy(this.tail, at, skipped)
    chunk.copy(this.tail, 0, skipped + copied)
  }

  /** Returns a copy of the bytes from `from` to `to`; `undefined` if some were dropped. */
  read(from: number, to: number): Buffer | undefined {
    const pieces = this.pieces(from, to)
    return pieces && Buffer.concat(pieces)
  }

  /** Returns the bytes without a copy, valid until `RING_BYTES.tail` more bytes than `from` have come. */
  pieces(from: number, to: number): Buffer[] | undefined {
    const end = Math.min(to, this.total)
    if (end <= from) return []
    const start = Math.max(from, RING_BYTES.head)
    if (end > RING_BYTES.head && start < this.total - RING_BYTES.tail) return undefined
    const at = (start - RING_BYTES.head) % RING_BYTES.tail
    const length = Math.max(0, end - start)
    const straight = Math.min(length, RING_BYTES.tail - at)
    const parts = [
      this.head.subarray(from, Math.min(end, RING_BYTES.head)),
      this.tail.subarray(at, at + straight),
      this.tail.subarray(0, length - straight),
    ]
    return parts.filter((part) => part.length > 0)
  }
}

/** Returns a buffer with room for `size` bytes, doubled if needed, at most `limit`. */
function growBuffer(buffer: Buffer, size: number, limit: number): Buffer {
  if (buffer.length >= Math.min(size, limit)) return buffer
  const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(4096, 2 * buffer.length, size)))
  buffer.copy(larger)
  return larger
}
