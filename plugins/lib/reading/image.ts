/** A PDF may begin with bytes of others. */
export const holdsPdf = (head: Buffer): boolean => head.subarray(0, 1024).includes('%PDF-', 0, 'latin1')

/** What an image may have at most: its bytes, which as base64 are the 5 MiB that model servers take, and the points of a side. */
export const mostOfImage = { bytes: 3_932_160, side: 8_000 } as const

/** What is known of an image without decoding it. */
export interface ImageFacts {
  mime_type: string
  width: number
  height: number
}

type Size = [width: number, height: number] | undefined
const starts = (bytes: Buffer, text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text

const kinds: readonly { mime_type: string; is(bytes: Buffer): boolean; size(bytes: Buffer): Size }[] = [
  { mime_type: 'image/png', is: (bytes) => starts(bytes, '\x89PNG\r\n\x1a\n'), size: pngSize },
  { mime_type: 'image/jpeg', is: (bytes) => starts(bytes, '\xff\xd8\xff'), size: jpegSize },
  {
    mime_type: 'image/gif',
    is: (bytes) => starts(bytes, 'GIF87a') || starts(bytes, 'GIF89a'),
    size: (bytes) => [bytes.readUInt16LE(6), bytes.readUInt16LE(8)],
  },
  { mime_type: 'image/webp', is: (bytes) => starts(bytes, 'RIFF') && starts(bytes, 'WEBP', 8), size: webpSize },
]

/** The media type of an image by its signature; `undefined` for anything else. */
export const imageType = (head: Buffer): string | undefined => kinds.find(({ is }) => is(head))?.mime_type

/** Whether a file is called as images are. */
export const namesImage = (path: string): boolean => /\.(png|jpe?g|gif|webp)$/i.test(path)

/** What an image is, or in words why it is none that can be shown. Nothing is decoded: a picture that is a bomb is told by its size. */
export function lookAtImage(bytes: Buffer): ImageFacts | string {
  if (bytes.length > mostOfImage.bytes)
    return `it has ${bytes.length} bytes, and at most ${mostOfImage.bytes} are shown`
  const kind = kinds.find(({ is }) => is(bytes))
  if (!kind) return 'its first bytes are those of no PNG, JPEG, GIF or WebP'
  const [width, height] = sizeOf(kind, bytes) ?? []
  if (!width || !height)
    return `it is a broken ${kind.mime_type}: what it says of its size cannot be read, or its end is missing`
  if (Math.max(width, height) > mostOfImage.side)
    return `it is ${width} × ${height} points, and at most ${mostOfImage.side} a side are shown`
  return { mime_type: kind.mime_type, width, height }
}

/** Bytes that end too early say no size. */
function sizeOf({ size }: (typeof kinds)[number], bytes: Buffer): Size {
  try {
    return size(bytes)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function pngSize(bytes: Buffer): Size {
  return starts(bytes, 'IHDR', 12) && bytes.lastIndexOf('IEND', undefined, 'latin1') > 0
    ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
    : undefined
}

/** From the first frame header; every segment before it says its own length. */
function jpegSize(bytes: Buffer): Size {
  for (let at = 2; bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    while (bytes[at + 1] === 0xff) at++
    const marker = bytes[at + 1]!
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
  }
  return undefined
}

function webpSize(bytes: Buffer): Size {
  // What is said of its length covers all that it needs.
  if (bytes.readUInt32LE(4) + 8 > bytes.length) return undefined
  if (starts(bytes, 'VP8X', 12)) return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1]
  if (starts(bytes, 'VP8 ', 12)) return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
  if (!starts(bytes, 'VP8L', 12)) return undefined
  const bits = bytes.readUInt32LE(21)
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
}
