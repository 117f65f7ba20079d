/**
 * (func (param $end i32) (result i32) (local $at i32) (local $sum i32)
 *   loop: $sum += popcount(bitmask(the 16 bytes at $at == '\n')); $at += 16; again while $at < $end)
 * over one page of memory. JavaScript would need longer than reading the bytes from the pipe.
 */
const program = [
  [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00], // "\0asm", version 1
  [0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f], // type: i32 → i32
  [0x03, 0x02, 0x01, 0x00], // one function of it
  [0x05, 0x03, 0x01, 0x00, 0x01], // a memory of one page
  [0x07, 0x09, 0x02, 0x01, 0x6d, 0x02, 0x00, 0x01, 0x6e, 0x00, 0x00], // exported as "m", the function as "n"
  [0x0a, 0x2b, 0x01, 0x29, 0x01, 0x02, 0x7f], // code; two more i32: 1 = $at, 2 = $sum
  [0x03, 0x40], // loop
  [0x20, 0x02, 0x20, 0x01, 0xfd, 0x00, 0x00, 0x00], // $sum; v128.load $at
  [0x41, 0x0a, 0xfd, 0x0f, 0xfd, 0x23, 0xfd, 0x64, 0x69], // i8x16.eq (splat 10), bitmask, popcnt
  [0x6a, 0x21, 0x02], // $sum = their sum
  [0x20, 0x01, 0x41, 0x10, 0x6a, 0x22, 0x01], // $at += 16
  [0x20, 0x00, 0x49, 0x0d, 0x00], // again while $at < $end
  [0x0b, 0x20, 0x02, 0x0b], // end; $sum
].flat()

interface Counter {
  m: { buffer: ArrayBuffer }
  n(end: number): number
}
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}
const { m: memory, n: count } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(program)))
  .exports as Counter
const page = Buffer.from(memory.buffer)

/** Returns the number of newlines in a chunk. */
export function countNewlines(bytes: Buffer): number {
  let sum = 0
  for (let at = 0; at < bytes.length; at += page.length) {
    const size = bytes.copy(page, 0, at)
    const end = Math.ceil(size / 16) * 16
    page.fill(0, size, end)
    sum += count(end)
  }
  return sum
}
