import { secrets, settled } from '../../../core/base/index.js'

/** What a linear engine may look for to find candidates: more than the secrets, never less. */
export const candidates = (): string[] => [
  ...Object.values(secrets.formats).map(({ source }) => source.replace(/\(\?=[^)]*\)/g, '').replace(/\$\)$/, '\\z)')),
  ...[...secrets.values.keys()].map((value) => value.replace(/[^\w\s]/g, '\\$&')),
]

/** Longer than any secret that is waited for to be whole. */
export const longestSecret = 16_384

/** Up to where a text may be told while more of it comes: to a secret that has begun and may not be whole yet. */
export function settledWithin(text: string): number {
  const at = settled(text)
  return text.length - at < longestSecret ? at : text.length
}
