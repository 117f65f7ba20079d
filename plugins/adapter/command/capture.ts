import type { Context } from '../../../core/index.js'
import { openSpool, SpoolCleaner, type Spool } from '../../lib/state/index.js'

const largestSpool = 64 * 1024 * 1024

/** One stream of a program: its beginning in memory, and from the limit on the whole of it in a spool file. */
export class Capture {
  private readonly chunks: Buffer[] = []
  private bytes = 0
  private spool: Promise<Spool> | undefined
  path: string | undefined

  constructor(
    private readonly context: Context,
    private readonly label: string,
    private readonly limit: number,
  ) {}

  readonly take = async (chunk: Buffer): Promise<void> => {
    const before = this.bytes
    this.bytes += chunk.length
    if (before < this.limit) this.chunks.push(chunk.subarray(0, this.limit - before))
    if (this.bytes > this.limit && before < largestSpool) await this.keep(chunk, before)
  }

  private async keep(chunk: Buffer, before: number): Promise<void> {
    const first = this.spool === undefined
    const spool = await (this.spool ??= openSpool(this.context, this.label))
    this.path = spool.path
    // What was in memory only goes in front; of the chunk that crossed the limit the rest follows.
    if (first) await spool.write(Buffer.concat(this.chunks))
    await spool.write(first ? chunk.subarray(Math.max(0, this.limit - before)) : chunk)
  }

  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.chunks))
  }

  async close(): Promise<void> {
    const spool = await this.spool
    if (!spool) return
    await new SpoolCleaner(spool, this.context).clean()
    await spool.close()
  }
}
