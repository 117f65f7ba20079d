import { opendir, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { problem, type VtError } from '../../../core/base/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { ruleFiles } from '../globs/index.js'

/** Nothing was heard of an engine for so long: it may hang on a file of rules. */
const quiet_ms = 2000
const mostEntries = 200_000
/** An engine that makes patterns of more rules than this takes seconds for it, and memory by the gigabyte. */
const mostBytes = 262_144

/** What ends an engine that hangs on a pipe or a device in the place of a file of rules. */
export interface RulesWatch extends Disposable {
  /** For the engine: aborts with the outer signal too. */
  readonly signal: AbortSignal
  /** The engine said something. */
  heard(): void
  /** Why the engine was ended, if it was. */
  readonly found: VtError | undefined
}

/**
 * Looks, once an engine that walks `directory` has been quiet for a while, whether one of the files of rules that it opens is no file: it
 * would wait at a pipe, and read a device for ever. A search that comes to its end before pays nothing for this.
 */
export function watchRules(directory: Handle, outer: AbortSignal): RulesWatch {
  const stop = new AbortController()
  const follow = (): void => stop.abort(outer.reason)
  if (outer.aborted) follow()
  outer.addEventListener('abort', follow, { once: true })
  let found: VtError | undefined
  const look = async (): Promise<void> => {
    found = await specialRules(directory, stop.signal, Infinity).catch(() => undefined)
    if (found) stop.abort(found)
  }
  let timer: NodeJS.Timeout | undefined = setTimeout(() => {
    timer = undefined
    void look()
  }, quiet_ms)
  return {
    signal: stop.signal,
    heard: () => void timer?.refresh(),
    get found() {
      return found
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      outer.removeEventListener('abort', follow)
      stop.abort()
    },
  }
}

/** Why an engine has taken too much memory before it said anything, where rules are the cause. */
export const heavyRules = (directory: Handle, signal: AbortSignal): Promise<VtError | undefined> => specialRules(directory, signal, mostBytes).catch(() => undefined)

/** The first file of rules, below a directory or above it, that is a pipe or a device, be it through a link, or has more bytes than `most`. */
async function specialRules(directory: Handle, signal: AbortSignal, most: number): Promise<VtError | undefined> {
  const start = await realpath(directory.ref)
  const above: string[] = []
  for (let at = start; dirname(at) !== at; ) above.push((at = dirname(at)))
  const queue = [start]
  let left = mostEntries
  for (const folder of above) {
    const special = await specialIn(folder, most)
    if (special !== undefined) return refusal(special)
  }
  for (let next = 0; next < queue.length && left > 0 && !signal.aborted; next += 1) {
    const folder = queue[next]!
    const { folders, dotted, seen } = await lookInto(folder, left, signal)
    left -= seen
    for (const name of folders) queue.push(join(folder, name))
    const special = dotted ? await specialIn(folder, most) : undefined
    if (special !== undefined) return refusal({ ...special, path: join(directory.path, relative(start, special.path)) })
  }
  return undefined
}

/** The folders in a folder, and whether it holds what may be a file of rules, as far as can be seen: a million names at once would take a hundred megabytes. */
async function lookInto(folder: string, most: number, signal: AbortSignal): Promise<{ folders: string[]; dotted: boolean; seen: number }> {
  const found = { folders: [] as string[], dotted: false, seen: 0 }
  try {
    for await (const entry of await opendir(folder, { bufferSize: 256 })) {
      if (entry.isDirectory() && entry.name !== '.git') found.folders.push(entry.name)
      // Only a name that begins with a dot is one of a file of rules.
      found.dotted ||= entry.name.startsWith('.') || found.seen === most
      if (found.seen++ === most || signal.aborted) break
    }
  } catch {
    // It has gone, or is not ours to read.
  }
  return found
}

interface Special {
  path: string
  kind: string
}

async function specialIn(folder: string, most: number): Promise<Special | undefined> {
  for (const name of ruleFiles) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => undefined)
    if (stats && !stats.isFile() && !stats.isDirectory()) return { path, kind: stats.isFIFO() ? 'pipe' : 'device' }
    if (stats?.isFile() && stats.size > most) return { path, kind: `file of ${stats.size} bytes` }
  }
  return undefined
}

const refusal = ({ path, kind }: Special): VtError =>
  problem('VT_PATH_SPECIAL', { path, kind }, { hint: 'Nothing was searched: it stands where ignore rules are read from. Remove it, or give a path that does not lie below its folder.' })
