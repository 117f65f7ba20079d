import type { Context } from '../../../core/index.js'
import { openSpool, SpoolRedactor, type SpoolFile } from '../../lib/state/index.js'

const MAX_SPOOL_BYTES = 64 * 1024 * 1024

/** One stream of a program: its start in memory, and the whole in a spool file once it exceeds the limit. */
export class Capture {
  private readonly chunks: Buffer[] = []
  private bytes = 0
  private spool: Promise<SpoolFile> | undefined
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
    if (this.bytes > this.limit && before < MAX_SPOOL_BYTES) await this.writeSpool(chunk, before)
  }

  private async writeSpool(chunk: Buffer, before: number): Promise<void> {
    const first = this.spool === undefined
    const spool = await (this.spool ??= openSpool(this.context, this.label))
    this.path = spool.path
    // The spool file begins with the bytes in memory; then follows the part of the chunk beyond the limit.
    if (first) await spool.write(Buffer.concat(this.chunks))
    await spool.write(first ? chunk.subarray(Math.max(0, this.limit - before)) : chunk)
  }

  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.chunks))
  }

  async close(): Promise<void> {
    const spool = await this.spool
    if (!spool) return
    await new SpoolRedactor(spool, this.context).redact()
    await spool.close()
  }
}
