import { createHash } from 'node:crypto'

const known = new WeakMap<Uint8Array, string>()

/** SHA-256 in hex, worked out once for a buffer, which must not change afterwards. */
export function sha256(bytes: Uint8Array): string {
  const hash = known.get(bytes) ?? createHash('sha256').update(bytes).digest('hex')
  known.set(bytes, hash)
  return hash
}
/** How outputs name a content. */
export const short = (hash: string): string => hash.slice(0, 16)
