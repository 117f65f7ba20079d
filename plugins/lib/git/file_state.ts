import { statSync, type BigIntStats } from 'node:fs'

/** Age in nanoseconds below which a change is not cached: the file may change again within the same clock tick. */
export const TICK_NS = 100_000_000n

export function bigStat(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/**
 * Returns a text that identifies the version of a file. For a folder only its identity counts, since its entries change
 * often.
 */
export function fileState(file: string): string {
  const stat = bigStat(file)
  if (!stat) return '-'
  return stat.isDirectory()
    ? `${stat.dev}.${stat.ino}`
    : `${stat.dev}.${stat.ino}.${stat.size}.${stat.mtimeNs}.${stat.ctimeNs}`
}
