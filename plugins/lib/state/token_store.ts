import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import { registerSecret } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'

/**
 * Store for the tokens of one sign-in, in a file that only the user can read. The name of the file is derived from
 * `bound`, the address and the issuer, so that no other server gets the tokens. Writes are atomic: a refresh token is
 * valid once, and a lost one loses the sign-in.
 */
export class TokenStore<Kept extends object> {
  readonly #file: string
  constructor(
    home: string,
    sort: 'model-logins' | 'mcp-logins',
    bound: { to: string; digits: number; prefix?: string },
    /** Name that replaces a redacted token. */
    private readonly owner: string,
  ) {
    this.#file = join(home, sort, `${bound.prefix ?? ''}${sha256(bound.to).slice(0, bound.digits)}.json`)
  }

  /** Returns the tokens; `undefined` if the file does not exist or is invalid. */
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

  /** Registers tokens with the redactor before any use. */
  #hide(value: object): void {
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object' && inner !== null) this.#hide(inner as object)
      else if (typeof inner === 'string' && secretFields.has(key)) registerSecret(inner, this.owner)
    }
  }
}

const secretFields = new Set(['access_token', 'refresh_token', 'id_token', 'client_secret'])
