import { sha256 } from '../../../core/system/index.js'

const known = new WeakMap<Uint8Array, string>()

/** Returns the SHA-256 of a buffer in hex and caches it. The buffer must not change afterwards. */
export function contentHash(bytes: Uint8Array): string {
  const hash = known.get(bytes) ?? sha256(bytes)
  known.set(bytes, hash)
  return hash
}
/** Returns the first 16 digits of a hash, the form in outputs. */
export const shortenHash = (hash: string): string => hash.slice(0, 16)
