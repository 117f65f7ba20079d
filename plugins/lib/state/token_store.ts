import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import { keepSecret } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'

/**
 * What one sign-in was granted, in a file that only the user can read. The name of the file is made of what the grant is `bound` to – the
 * address it is good for and who gave it –, so that another server never sees it. It is replaced in one step: a refresh token counts
 * once, and one that a crash loses is a sign-in lost.
 */
export class TokenStore<Kept extends object> {
  readonly #file: string
  constructor(
    home: string,
    sort: 'model-logins' | 'mcp-logins',
    bound: { to: string; digits: number; prefix?: string },
    /** Named where a token is redacted. */
    private readonly owner: string,
  ) {
    this.#file = join(home, sort, `${bound.prefix ?? ''}${sha256(bound.to).slice(0, bound.digits)}.json`)
  }

  /** Nothing where nothing is, or nothing that can be read. */
  read(): Partial<Kept> | undefined {
    try {
      const kept: unknown = JSON.parse(readBytes(this.#file).toString('utf8'))
      if (!isObject(kept)) return undefined
      this.#hide(kept)
      return kept as Partial<Kept>
    } catch {
      return undefined
    }
  }
  write(kept: Kept): void {
    this.#hide(kept)
    writeStateSync(this.#file, JSON.stringify(kept))
  }
  forget(): void {
    rmSync(this.#file, { force: true })
  }

  /** Tokens are known to the redactor before anybody gets them. */
  #hide(value: object): void {
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object' && inner !== null) this.#hide(inner as object)
      else if (typeof inner === 'string' && secretFields.has(key)) keepSecret(inner, this.owner)
    }
  }
}

const secretFields = new Set(['access_token', 'refresh_token', 'id_token', 'client_secret'])
