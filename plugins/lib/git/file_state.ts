import { statSync, type BigIntStats } from 'node:fs'

/** Nanoseconds for which nothing is kept of what just changed: it may change once more within the same tick of its clock. */
export const TICK_NS = 100_000_000n

export function bigStat(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** One version of a file; of a folder only which one it is, for what is in it changes all day. */
export function fileState(file: string): string {
  const stat = bigStat(file)
  if (!stat) return '-'
  return stat.isDirectory()
    ? `${stat.dev}.${stat.ino}`
    : `${stat.dev}.${stat.ino}.${stat.size}.${stat.mtimeNs}.${stat.ctimeNs}`
}
