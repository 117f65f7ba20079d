import { readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A change is reported when no further one has followed for this long. */
export const quietMs = 200
const MAX_FILES = 20_000

/**
 * Polls these files and folders and reports a change once they are quiet. Polling costs a fraction of the
 * system's events, needs none of its limited handles and sees every way of writing a file; the interval depends on the cost.
 * Contract: `tell` does not reject; it is not called while it runs. The returned function ends the watch.
 */
export function watchFiles(paths: () => readonly string[], tell: () => Promise<unknown>): () => void {
  const stop = new AbortController()
  void (async () => {
    let known = signatureOf(paths())
    let last = known
    for (let pause = quietMs; ;) {
      try {
        await sleep(pause, undefined, { signal: stop.signal, ref: false })
      } catch {
        return
      }
      const started = performance.now()
      const now = signatureOf(paths())
      pause = Math.max(quietMs, 20 * (performance.now() - started))
      const quiet = now === last
      last = now
      if (!quiet || now === known) continue
      known = now
      await tell()
    }
  })()
  return () => stop.abort()
}

/** A digest that changes with every file below these paths; hidden files and `node_modules` are skipped. */
export function signatureOf(paths: readonly string[]): string {
  const versions: string[] = []
  const look = (path: string) => {
    const stat = statOf(path)
    if (versions.length >= MAX_FILES) return
    versions.push(stat ? `${path}\0${stat.ino}\0${stat.isDirectory() ? 0 : `${stat.mtimeMs}\0${stat.size}`}` : path)
    if (!stat?.isDirectory()) return
    for (const name of namesIn(path)) if (!name.startsWith('.') && name !== 'node_modules') look(join(path, name))
  }
  for (const path of paths) look(path)
  return versions.join('\n')
}

/** A file that vanishes during the poll counts as missing. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
