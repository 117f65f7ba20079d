import { readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Nothing has changed for this long before anybody is told. */
export const quietMs = 200
const MAX_FILES = 20_000

/**
 * Looks at these files and folders again and again and tells when they have changed and are quiet. Looking costs a fraction of the
 * events of the system, needs none of its limited handles and sees every way of writing a file; how often depends on what it costs.
 * Contract: `tell` does not reject; it is not called while it runs. The answer ends it.
 */
export function watchFiles(paths: () => readonly string[], tell: () => Promise<unknown>): () => void {
  const stop = new AbortController()
  void (async () => {
    let known = signatureOf(paths())
    let last = known
    for (let pause = quietMs; ; ) {
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

/** Changes with every file below these paths; hidden ones and `node_modules` are passed over. */
function signatureOf(paths: readonly string[]): string {
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

/** What vanishes while it is looked at is not there. */
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
