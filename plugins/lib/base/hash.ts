import { sha256 } from '../../../core/system/index.js'

const known = new WeakMap<Uint8Array, string>()

/** SHA-256 in hex, worked out once for a buffer, which must not change afterwards. */
export function contentHash(bytes: Uint8Array): string {
  const hash = known.get(bytes) ?? sha256(bytes)
  known.set(bytes, hash)
  return hash
}
/** How outputs name a content. */
export const shortenHash = (hash: string): string => hash.slice(0, 16)
