import { redactText, maskSameSize, findSafeEnd } from '../../../core/text/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { SpoolFile } from './spool.js'

/** Maximum length of a secret that the redactor waits for. */
export const MAX_SECRET_CHARACTERS = 16_384

/**
 * Returns the position up to which a text may be shown while more follows: the beginning of a secret that may be
 * incomplete.
 */
export function findSettledEnd(text: string): number {
  const at = findSafeEnd(text)
  return text.length - at < MAX_SECRET_CHARACTERS ? at : text.length
}

/** Replaces secrets in bytes by as many other bytes. */
export const redactBytes = (bytes: Buffer): Buffer =>
  Buffer.from(redactText(bytes.toString('latin1'), maskSameSize), 'latin1')

const pending = new Map<string, Promise<void>>()

/** Waits until a spool file is redacted. */
export const waitForRedaction = (path: string): Promise<void> => pending.get(path) ?? Promise.resolve()

/** Size of a step, so that other work runs in between. */
const CHUNK_BYTES = 1024 * 1024

/** Overwrites secrets in a spool file by as many bytes, so that positions stay. */
export class SpoolRedactor {
  /** Position up to which the file is redacted. */
  private at = 0
  /** Original end of that part, which may be the beginning of a secret. */
  private rest = ''

  constructor(
    private readonly file: SpoolFile,
    private readonly context: Context,
  ) {}

  /** Redacts new content. Never rejects: content that cannot be redacted is removed. */
  redact(): Promise<void> {
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
      const bytes = await file.read(this.at, CHUNK_BYTES)
      more = bytes.length === CHUNK_BYTES
      const text = this.rest + bytes.toString('latin1')
      const from = this.at - this.rest.length
      const clean = redactText(text, maskSameSize)
      // The file holds the rest redacted, although the secret may have become a longer one.
      if (clean !== text || this.rest !== '') await this.file.replace(from, Buffer.from(clean, 'latin1'))
      this.at += bytes.length
      // Without a secret, only the end of the text can become one.
      const end = clean === text ? text.slice(-2 * MAX_SECRET_CHARACTERS) : text
      this.rest = end.slice(findSettledEnd(end))
    }
  }

  private async giveUp(error: unknown): Promise<void> {
    this.context.log(
      'error',
      `The content of '${this.file.path}' was removed, because its secrets could not be redacted: ` +
        `${error instanceof Error ? error.message : String(error)}`,
    )
    await this.file.truncate().catch(() => undefined)
  }
}
