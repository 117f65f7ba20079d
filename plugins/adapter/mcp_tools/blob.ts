import { isUtf8 } from 'node:buffer'
import { shortLine } from '../../../core/text/index.js'
import type { ContentBlock, Context } from '../../../core/index.js'
import { openSpool } from '../../lib/state/index.js'

const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const ends = new Map([
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
  ['application/gzip', 'gz'],
  ['application/x-tar', 'tar'],
  ['audio/wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['video/mp4', 'mp4'],
])
const isText = (type: string): boolean => /^text\/|[/+](?:json|xml|yaml|javascript|csv)$/.test(type)
/** What is kept of one resource. */
const most = 16 * 1_048_576

/** Bytes of a resource in a form that a model gets: an image, the text that they are, or where they are kept. */
export async function keptBlob(
  blob: string,
  mimeType: unknown,
  uri: string,
  context: Context,
): Promise<{ text: string } | { block: ContentBlock }> {
  const type = (typeof mimeType === 'string' ? mimeType : 'application/octet-stream')
    .split(';')[0]!
    .trim()
    .toLowerCase()
  if (images.has(type)) return { block: { type: 'image', data: blob, mimeType: type } }
  const bytes = Buffer.from(blob, 'base64')
  if (isText(type) && isUtf8(bytes) && !bytes.includes(0)) return { text: bytes.toString() }
  const what = `${uri === '' ? 'A resource' : shortLine(uri, 200)}, ${shortLine(type, 80)}, ${bytes.length} bytes`
  if (bytes.length === 0) return { text: `(${what})` }
  if (bytes.length > most) return { text: `(${what}: more than ${most} are not kept.)` }
  try {
    const spool = await openSpool(context, 'resource', ends.get(type) ?? 'bin')
    try {
      spool.writeNow(bytes)
    } finally {
      await spool.close()
    }
    return { text: `(${what}: kept in ${spool.path})` }
  } catch {
    return { text: `(${what}: it could not be kept here.)` }
  }
}
