import { isUtf8 } from 'node:buffer'
import { truncateLine } from '../../../core/text/index.js'
import type { ContentBlock, Context } from '../../../core/index.js'
import { openSpool } from '../../lib/state/index.js'

const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const EXTENSIONS = new Map([
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
  ['application/gzip', 'gz'],
  ['application/x-tar', 'tar'],
  ['audio/wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['video/mp4', 'mp4'],
])
const isText = (type: string): boolean => /^text\/|[/+](?:json|xml|yaml|javascript|csv)$/.test(type)
/** The largest resource that is kept. */
const MAX_BLOB_BYTES = 16 * 1_048_576

/** Returns the bytes of a resource in a form for models: an image, their text, or the path of a spool file. */
export async function storeBlob(
  blob: string,
  mimeType: unknown,
  uri: string,
  context: Context,
): Promise<{ text: string } | { block: ContentBlock }> {
  const type = (typeof mimeType === 'string' ? mimeType : 'application/octet-stream')
    .split(';')[0]!
    .trim()
    .toLowerCase()
  if (IMAGE_TYPES.has(type)) return { block: { type: 'image', data: blob, mimeType: type } }
  const bytes = Buffer.from(blob, 'base64')
  if (isText(type) && isUtf8(bytes) && !bytes.includes(0)) return { text: bytes.toString() }
  const what = `${uri === '' ? 'A resource' : truncateLine(uri, 200)}, ${truncateLine(type, 80)}, ${bytes.length} bytes`
  if (bytes.length === 0) return { text: `(${what})` }
  if (bytes.length > MAX_BLOB_BYTES)
    return { text: `(${what}: too large to keep; the limit is ${MAX_BLOB_BYTES} bytes.)` }
  try {
    const spool = await openSpool(context, 'resource', EXTENSIONS.get(type) ?? 'bin')
    try {
      spool.writeNow(bytes)
    } finally {
      await spool.close()
    }
    return { text: `(${what}: kept in ${spool.path})` }
  } catch {
    return { text: `(${what}: no spool file could be written.)` }
  }
}
