import { readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A change is reported when no further change has followed for this long. */
export const QUIET_MS = 200
const MAX_FILES = 20_000

/**
 * Polls these files and folders and reports a change once they are quiet. Polling costs a fraction of the system's
 * events, needs none of its limited handles and detects every way of writing a file; the interval depends on the cost.
 * Contract: `onChange` does not reject; it is not called while it runs. The returned function ends the watch.
 */
export function watchFiles(paths: () => readonly string[], onChange: () => Promise<unknown>): () => void {
  const stop = new AbortController()
  void (async () => {
    let known = computeSignature(paths())
    let last = known
    for (let pause = QUIET_MS; ;) {
      try {
        await sleep(pause, undefined, { signal: stop.signal, ref: false })
      } catch {
        return
      }
      const started = performance.now()
      const now = computeSignature(paths())
      pause = Math.max(QUIET_MS, 20 * (performance.now() - started))
      const quiet = now === last
      last = now
      if (!quiet || now === known) continue
      known = now
      await onChange()
    }
  })()
  return () => stop.abort()
}

/** Returns a text that changes with every file below these paths; hidden files and `node_modules` are skipped. */
export function computeSignature(paths: readonly string[]): string {
  const versions: string[] = []
  const look = (path: string) => {
    const stat = statIfPresent(path)
    if (versions.length >= MAX_FILES) return
    versions.push(stat ? `${path}\0${stat.ino}\0${stat.isDirectory() ? 0 : `${stat.mtimeMs}\0${stat.size}`}` : path)
    if (!stat?.isDirectory()) return
    for (const name of listNames(path)) if (!name.startsWith('.') && name !== 'node_modules') look(join(path, name))
  }
  for (const path of paths) look(path)
  return versions.join('\n')
}

/** Returns the stats of a file; a file that vanishes during the poll counts as missing. */
function statIfPresent(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
function listNames(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
