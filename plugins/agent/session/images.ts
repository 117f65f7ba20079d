import type { ContentBlock } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { readImageFacts } from '../../lib/reading/index.js'
import type { ImageRef, Msg, Store } from '../base/index.js'

/** The limits of images in one request: number and base64 bytes. The newest images win. */
const most = { images: 20, bytes: 20 * 1024 * 1024 }
/** Images of one result. */
const mostOfResult = 20

const toImagePath = (digest: string): string => `images/${digest}.b64`

/** Stores an image next to the journal, which names it by its digest. Returns the reason if the bytes are no image. */
export async function keepImage(store: Store, bytes: Buffer, name: string): Promise<ImageRef | string> {
  const facts = readImageFacts(bytes)
  if (typeof facts === 'string') return facts
  const digest = sha256(bytes)
  await store.write(toImagePath(digest), bytes.toString('base64'))
  return { name: name.slice(0, 200), ...facts, bytes: bytes.length, sha256: digest }
}

/** Stores the images of a result and returns a remark for each block that is no image. */
export async function keepImages(
  store: Store,
  content: readonly ContentBlock[] | undefined,
  name: string,
): Promise<{ images: ImageRef[]; remarks: string }> {
  const images: ImageRef[] = []
  const faults: string[] = []
  const blocks = (content ?? []).flatMap((block) => (block.type === 'image' ? [block] : []))
  for (const { data } of blocks.slice(0, mostOfResult)) {
    const kept = await keepImage(store, Buffer.from(data, 'base64'), name)
    if (typeof kept === 'string') faults.push(`\n[An image of ${name} cannot be shown: ${kept}.]`)
    else images.push(kept)
  }
  if (blocks.length > mostOfResult) faults.push(`\n[${blocks.length - mostOfResult} more images are not shown.]`)
  return { images, remarks: faults.join('') }
}

/** Lists every image of these messages in order. */
export const listImages = (messages: readonly Msg[]): ImageRef[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === 'image' ? [part.image] : part.type === 'tool_result' ? (part.images ?? []) : [],
    ),
  )

/** Loads the base64 of the images for one request, by digest, or the reason why an image is left out. */
export async function loadImages(
  store: Pick<Store, 'read'>,
  messages: readonly Msg[],
): Promise<ReadonlyMap<string, { data: string } | { why: string }>> {
  const found = new Map<string, { data: string } | { why: string }>()
  let left = most.bytes
  for (const { sha256: digest, bytes } of listImages(messages).reverse()) {
    if (found.has(digest)) continue
    const size = Math.ceil(bytes / 3) * 4
    if (found.size >= most.images || size > left) {
      found.set(digest, { why: 'it made room for newer images' })
      continue
    }
    // An unreadable file counts as missing: no image is worth a conversation.
    const data = await store.read(toImagePath(digest)).catch(() => undefined)
    if (data === undefined) found.set(digest, { why: 'its file is missing' })
    else if (sha256(Buffer.from(data, 'base64')) !== digest) found.set(digest, { why: 'its file has changed' })
    else {
      found.set(digest, { data })
      left -= size
    }
  }
  return found
}

/** Copies the images of a conversation to a session that continues it. */
export async function copyImages(
  read: (name: string) => Promise<string | undefined>,
  to: Store,
  messages: readonly Msg[],
): Promise<void> {
  for (const digest of new Set(listImages(messages).map(({ sha256 }) => sha256))) {
    const data = await read(toImagePath(digest)).catch(() => undefined)
    if (data !== undefined) await to.write(toImagePath(digest), data)
  }
}
