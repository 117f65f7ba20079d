import { crc32, deflateSync } from 'node:zlib'

/** A picture of a page from the library. */
export interface Pixels {
  width: number
  height: number
  /** 1: one bit a point; 2: red, green and blue; 3: with alpha. */
  kind?: number
  data?: Uint8Array | Uint8ClampedArray
  /** Its object in the file, for example `12R`. */
  ref?: string
}

/** Returns the JPEG of an object if every viewer can show it. */
export function extractJpeg(file: Buffer, { ref = '' }: Pixels): Buffer | undefined {
  const [, number, generation = '0'] = /^(\d+)R(\d*)$/.exec(ref) ?? []
  if (number === undefined) return undefined
  const name = `${number} ${generation || '0'} obj`
  // A file that was saved again holds older states of an object first.
  let at = file.lastIndexOf(name)
  while (at > 0 && /\d/.test(String.fromCharCode(file[at - 1]!))) at = file.lastIndexOf(name, at - 1)
  const begin = at < 0 ? -1 : file.indexOf('stream', at)
  if (begin < 0 || begin - at > 4096) return undefined
  const dictionary = file.toString('latin1', at, begin)
  if (dictionary.includes('endobj') || !/\/Filter\s*(?:\/DCTDecode|\[\s*\/DCTDecode\s*\])/.test(dictionary))
    return undefined
  const start = begin + 'stream'.length + (file[begin + 6] === 13 ? 2 : 1)
  const end = file.indexOf('endstream', start)
  const jpeg = file.subarray(start, end < 0 ? start : end)
  const last = jpeg.lastIndexOf('\xff\xd9', undefined, 'latin1')
  return last > 0 && isViewable(jpeg) ? jpeg.subarray(0, last + 2) : undefined
}

const isViewable = (jpeg: Buffer): boolean =>
  jpeg.length > 4 && jpeg.readUInt16BE(0) === 0xffd8 && countColours(jpeg) !== 4

/** Counts the colour channels of a JPEG. Four are printer colours, which viewers show differently. */
function countColours(jpeg: Buffer): number | undefined {
  for (let at = 2; at + 9 < jpeg.length && jpeg[at] === 0xff; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg[at + 1]!
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return jpeg[at + 9]
  }
  return undefined
}

const PIXEL_KINDS: Partial<Record<number, { bits: number; type: number; channels: number }>> = {
  1: { bits: 1, type: 0, channels: 1 },
  2: { bits: 8, type: 2, channels: 3 },
  3: { bits: 8, type: 6, channels: 4 },
}

/** Encodes a picture as PNG. */
export function encodePng({ width, height, kind = 0, data }: Pixels): Buffer | undefined {
  const shape = PIXEL_KINDS[kind]
  if (!shape || !data) return undefined
  const row = Math.ceil((width * shape.channels * shape.bits) / 8)
  if (data.length < row * height) return undefined
  const lines = Buffer.alloc((row + 1) * height)
  for (let y = 0; y < height; y++) lines.set(data.subarray(y * row, (y + 1) * row), y * (row + 1) + 1)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([shape.bits, shape.type], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    encodeChunk('IHDR', header),
    encodeChunk('IDAT', deflateSync(lines)),
    encodeChunk('IEND', Buffer.alloc(0)),
  ])
}

function encodeChunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(body.length, 0)
  whole.set(named, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
