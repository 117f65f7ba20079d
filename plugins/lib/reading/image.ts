/** Checks for the header of a PDF, which may follow other bytes. */
export const hasPdfHeader = (head: Buffer): boolean => head.subarray(0, 1024).includes('%PDF-', 0, 'latin1')

/** Limits of an image: bytes, which as base64 are the 5 MiB that model servers accept, and points per side. */
export const IMAGE_LIMITS = { bytes: 3_932_160, side: 8_000 } as const

/** Facts of an image, known without decoding it. */
export interface ImageFacts {
  mime_type: string
  width: number
  height: number
}

type Size = [width: number, height: number] | undefined
const startsWith = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.toString('latin1', at, at + text.length) === text

const kinds: readonly { mime_type: string; is(bytes: Buffer): boolean; size(bytes: Buffer): Size }[] = [
  { mime_type: 'image/png', is: (bytes) => startsWith(bytes, '\x89PNG\r\n\x1a\n'), size: readPngSize },
  { mime_type: 'image/jpeg', is: (bytes) => startsWith(bytes, '\xff\xd8\xff'), size: readJpegSize },
  {
    mime_type: 'image/gif',
    is: (bytes) => startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a'),
    size: (bytes) => [bytes.readUInt16LE(6), bytes.readUInt16LE(8)],
  },
  {
    mime_type: 'image/webp',
    is: (bytes) => startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8),
    size: readWebpSize,
  },
]

/** Returns the media type of an image by its signature; `undefined` for other files. */
export const detectImageType = (head: Buffer): string | undefined => kinds.find(({ is }) => is(head))?.mime_type

/** Checks whether a file name has the extension of an image. */
export const isImageName = (path: string): boolean => /\.(png|jpe?g|gif|webp)$/i.test(path)

/**
 * Returns the facts of an image, or the reason why it cannot be shown. Nothing is decoded: the declared size reveals a
 * decompression bomb.
 */
export function readImageFacts(bytes: Buffer): ImageFacts | string {
  if (bytes.length > IMAGE_LIMITS.bytes)
    return `it has ${bytes.length} bytes, and at most ${IMAGE_LIMITS.bytes} are shown`
  const kind = kinds.find(({ is }) => is(bytes))
  if (!kind) return 'its first bytes are not those of a PNG, JPEG, GIF or WebP'
  const [width, height] = readSize(kind, bytes) ?? []
  if (!width || !height) return `it is a broken ${kind.mime_type}: its size cannot be read, or its end is missing`
  if (Math.max(width, height) > IMAGE_LIMITS.side)
    return `it is ${width} × ${height} points, and at most ${IMAGE_LIMITS.side} a side are shown`
  return { mime_type: kind.mime_type, width, height }
}

/** Data that ends too early has no size. */
function readSize({ size }: (typeof kinds)[number], bytes: Buffer): Size {
  try {
    return size(bytes)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function readPngSize(bytes: Buffer): Size {
  return startsWith(bytes, 'IHDR', 12) && bytes.lastIndexOf('IEND', undefined, 'latin1') > 0
    ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
    : undefined
}

/** Reads the size from the first frame header; every segment before it gives its length. */
function readJpegSize(bytes: Buffer): Size {
  for (let at = 2; bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    while (bytes[at + 1] === 0xff) at++
    const marker = bytes[at + 1]!
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
  }
  return undefined
}

function readWebpSize(bytes: Buffer): Size {
  // The declared length covers all needed bytes.
  if (bytes.readUInt32LE(4) + 8 > bytes.length) return undefined
  if (startsWith(bytes, 'VP8X', 12)) return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1]
  if (startsWith(bytes, 'VP8 ', 12)) return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
  if (!startsWith(bytes, 'VP8L', 12)) return undefined
  const bits = bytes.readUInt32LE(21)
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
}
