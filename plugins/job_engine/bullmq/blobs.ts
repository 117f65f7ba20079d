import type { Queue } from 'bullmq'
import { sha256 } from '../../../core/system/index.js'

const PART_BYTES = 768 * 1024
const CLEANED_AT_ONCE = 1000

/** Keeps bytes as entries of a queue that no worker serves. Entry 0 holds the number of parts and comes last. */
export class BlobStore {
  constructor(
    private readonly queue: () => Queue<string>,
    private readonly ttl_secs: number,
  ) {}

  async put(bytes: Uint8Array): Promise<string> {
    const id = sha256(bytes)
    const queue = this.queue()
    await queue.clean(this.ttl_secs * 1000, CLEANED_AT_ONCE, 'wait')
    if ((await this.get(id)) !== undefined) return id
    const parts = Math.ceil(bytes.length / PART_BYTES)
    for (let part = 0; part < parts; part += 1) {
      const piece = Buffer.from(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)).toString('base64')
      await queue.add('part', piece, { jobId: `b-${id}-${part + 1}` })
    }
    await queue.add('parts', String(parts), { jobId: `b-${id}-0` })
    return id
  }

  /** Returns the bytes; `undefined` if a part is missing or the bytes are others. */
  async get(id: string): Promise<Uint8Array | undefined> {
    const queue = this.queue()
    const parts = Number((await queue.getJob(`b-${id}-0`))?.data ?? Number.NaN)
    if (!Number.isSafeInteger(parts) || parts < 0 || parts > 1024) return undefined
    const pieces: Buffer[] = []
    for (let part = 1; part <= parts; part += 1) {
      const piece = await queue.getJob(`b-${id}-${part}`)
      if (typeof piece?.data !== 'string') return undefined
      pieces.push(Buffer.from(piece.data, 'base64'))
    }
    const bytes = Buffer.concat(pieces)
    return sha256(bytes) === id ? bytes : undefined
  }
}
