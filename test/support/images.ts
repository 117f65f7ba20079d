import { crc32, deflateSync } from 'node:zlib'

const chunk = (type: string, body: Buffer): Buffer => {
  const whole = Buffer.alloc(body.length + 12)
  whole.writeUInt32BE(body.length, 0)
  whole.write(type, 4, 'latin1')
  whole.set(body, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, body.length + 8)), body.length + 8)
  return whole
}

/** A PNG of this size, one colour; `said` replaces the size in its header. */
export function png(
  width: number,
  height = width,
  shade = 0,
  said: { width: number; height: number } = { width, height },
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(said.width, 0)
  header.writeUInt32BE(said.height, 4)
  header.set([8, 0], 8)
  const lines = Buffer.alloc((width + 1) * height, shade)
  for (let y = 0; y < height; y++) lines[y * (width + 1)] = 0
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A JPEG as far as its header goes. */
export const jpeg = (width: number, height: number): Buffer =>
  Buffer.from([
    0xff,
    0xd8,
    0xff,
    0xe0,
    0,
    4,
    0,
    0,
    0xff,
    0xc0,
    0,
    11,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    1,
    1,
    0x11,
    0,
    0xff,
    0xda,
    0,
    2,
    0,
    0xff,
    0xd9,
  ])
export const gif = (width: number, height: number): Buffer =>
  Buffer.concat([
    Buffer.from('GIF89a', 'latin1'),
    Buffer.from([width & 255, width >> 8, height & 255, height >> 8, 0, 0, 0, 0x3b]),
  ])
export const webp = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(30)
  bytes.write('RIFF', 0)
  bytes.writeUInt32LE(22, 4)
  bytes.write('WEBPVP8X', 8)
  bytes.writeUInt32LE(10, 16)
  bytes.writeUIntLE(width - 1, 24, 3)
  bytes.writeUIntLE(height - 1, 27, 3)
  return bytes
}
