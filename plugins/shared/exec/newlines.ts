/**
 * Newlines in a chunk, four bytes at a time: a loop over bytes takes three times as long as draining the pipe they came from.
 * A word that is XORed with four newlines has a zero byte for each of them; the sums mark zero bytes with their highest bit.
 */
export function countNewlines(bytes: Buffer): number {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes.length >> 2 : 0
  const words = new Int32Array(bytes.buffer, aligned ? bytes.byteOffset : 0, aligned)
  let count = 0
  for (let at = 0; at < aligned; ) {
    // Each byte of the sum holds at most 255.
    const end = Math.min(aligned, at + 255)
    let sum = 0
    for (; at < end; at++) {
      const word = words[at]! ^ 0x0a0a0a0a
      sum += (~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f) >>> 7) & 0x01010101
    }
    count += (sum & 0xff) + ((sum >>> 8) & 0xff) + ((sum >>> 16) & 0xff) + (sum >>> 24)
  }
  for (let at = aligned << 2; at < bytes.length; at++) if (bytes[at] === 10) count++
  return count
}
