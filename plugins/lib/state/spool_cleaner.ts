import { redactText, sameSize, settled } from '../../../core/text/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Spool } from './spool.js'

/** Longer than any secret that is waited for to be whole. */
export const longestSecret = 16_384

/** Up to where a text may be told while more of it comes: to a secret that has begun and may not be whole yet. */
export function settledWithin(text: string): number {
  const at = settled(text)
  return text.length - at < longestSecret ? at : text.length
}

/** Bytes without their secrets, each of which becomes as many other bytes. */
export const withoutSecrets = (bytes: Buffer): Buffer =>
  Buffer.from(redactText(bytes.toString('latin1'), sameSize), 'latin1')

const pending = new Map<string, Promise<void>>()

/** Settles when a spool file that is being cleaned is clean. */
export const blotted = (path: string): Promise<void> => pending.get(path) ?? Promise.resolve()

/** What is looked at in one go, so that others come in between. */
const slice = 1024 * 1024

/** Overwrites the secrets in a spool file, each by as many bytes, so that positions stay. */
export class SpoolCleaner {
  /** Up to where the file was looked at. */
  private at = 0
  /** The end of that, as it came, which may be the beginning of a secret. */
  private rest = ''

  constructor(
    private readonly file: Spool,
    private readonly context: Context,
  ) {}

  /** Takes the secrets out of what came since. Never rejects: what cannot be cleaned is not kept. */
  clean(): Promise<void> {
    const { path } = this.file
    const done = this.overwrite()
      .catch((error: unknown) => this.giveUp(error))
      .finally(() => pending.delete(path))
    pending.set(path, done)
    return done
  }

  private async overwrite(): Promise<void> {
    await using file = await this.context.workspace.openFile(this.file.path)
    for (let more = true; more;) {
      const bytes = await file.read(this.at, slice)
      more = bytes.length === slice
      const text = this.rest + bytes.toString('latin1')
      const from = this.at - this.rest.length
      const clean = redactText(text, sameSize)
      // The rest lies there without the secret that it seemed to be, which may have become a longer one.
      if (clean !== text || this.rest !== '') await this.file.replace(from, Buffer.from(clean, 'latin1'))
      this.at += bytes.length
      // Where nothing was a secret, only what the text ends with can become one.
      const end = clean === text ? text.slice(-2 * longestSecret) : text
      this.rest = end.slice(settledWithin(end))
    }
  }

  private async giveUp(error: unknown): Promise<void> {
    this.context.log(
      'error',
      `${this.file.path} is emptied: secrets could not be taken out of it (${error instanceof Error ? error.message : String(error)})`,
    )
    await this.file.empty().catch(() => undefined)
  }
}
