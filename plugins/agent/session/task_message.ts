import { VtError } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { IMAGE_LIMITS } from '../../lib/reading/index.js'
import { AgentError, type Msg, type Store } from '../base/index.js'
import { keepImage } from './images.js'

/** An image of a task: its path in the workspace, or its bytes with a name. */
export type GivenImage = string | { readonly name: string; readonly data: Uint8Array }
/** A task of an agent, with its images. */
export interface AgentTask {
  readonly text: string
  readonly images?: readonly GivenImage[]
}
const mostImages = 20

/**
 * Creates the message that a turn begins with and stores its images. Throws VT_FILE_IMAGE, VT_CONFIG_INVALID,
 * VT_SESSION_WRITE.
 */
export async function createTaskMessage(
  place: { workspace: Workspace; store: Store },
  task: string | AgentTask | undefined,
): Promise<Msg | undefined> {
  if (task === undefined) return undefined
  const { text, images = [] } = typeof task === 'string' ? { text: task } : task
  if (typeof text !== 'string' || !Array.isArray(images)) {
    throw new AgentError('VT_CONFIG_INVALID', 'A task is a text, or an object with a `text` and a list of `images`.', {
      hint: "agent.run({ text: 'What is this?', images: ['shot.png'] })",
    })
  }
  if (images.length > mostImages)
    throw new AgentError('VT_FILE_IMAGE', `The task has ${images.length} images; at most ${mostImages} are taken.`, {
      hint: 'Give fewer, or put several into one.',
    })
  const parts: Msg['parts'] = [{ type: 'text', text }]
  for (const given of images as readonly GivenImage[]) {
    const { name, bytes } = await readImage(place.workspace, given)
    const image = await keepImage(place.store, bytes, name)
    if (typeof image === 'string') throw createImageError(name, image)
    parts.push({ type: 'image', image })
  }
  return { role: 'user', parts, origin: 'prompt' }
}

const createImageError = (name: string, why: string): AgentError =>
  new AgentError('VT_FILE_IMAGE', `The image '${name}' cannot be given to the model: ${why}.`, {
    hint: 'Give a PNG, JPEG, GIF or WebP; make a large one smaller or convert it with a program.',
  })

async function readImage(workspace: Workspace, given: GivenImage): Promise<{ name: string; bytes: Buffer }> {
  if (typeof given !== 'string') {
    const { name, data } = (given ?? {}) as Partial<Exclude<GivenImage, string>>
    if (typeof name !== 'string' || !(data instanceof Uint8Array))
      throw createImageError(
        String(name ?? given),
        'it is neither a path nor an object with `name` and the bytes as `data`',
      )
    return { name, bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength) }
  }
  try {
    await using file = await workspace.openFile(given)
    if (file.stat.bytes > IMAGE_LIMITS.bytes)
      throw createImageError(given, `it has ${file.stat.bytes} bytes, and at most ${IMAGE_LIMITS.bytes} are taken`)
    return { name: given, bytes: await file.read(0, file.stat.bytes) }
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    throw createImageError(given, error.message.replace(/\.$/, ''))
  }
}
