import { sha256 } from '../../../core/system/index.js'

/** Takes back one change of a text: the digest of the changed text, and the earlier text of the changed part. */
export interface Reversal {
  digest: string
  at: number
  length: number
  text: string
}

/** Returns the reversal of a change; only the part of the text that changed is kept. */
export function createReversal(before: string, after: string): Reversal {
  const most = Math.min(before.length, after.length)
  let at = 0
  while (at < most && before[at] === after[at]) at++
  let same = 0
  while (same < most - at && before.at(-1 - same) === after.at(-1 - same)) same++
  return {
    digest: sha256(after),
    at,
    length: after.length - same - at,
    text: before.slice(at, before.length - same),
  }
}

/** Takes back a change exactly; `undefined` if the text has changed since. */
export function revertText(now: string | undefined, { digest, at, length, text }: Reversal): string | undefined {
  if (now === undefined || sha256(now) !== digest) return undefined
  return now.slice(0, at) + text + now.slice(at + length)
}
