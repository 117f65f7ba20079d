import { isUtf8 } from 'node:buffer'
import { encodeName } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'
import { bringInFront, type Handle } from '../../../core/workspace/index.js'
import { byPath, inPathOrder } from '../base/index.js'
import { choose, fileFilter } from '../globs/index.js'
import type { Consumer } from '../process/index.js'
import { FoldersBelow } from './doubts.js'
import { look, tellable } from './entries.js'
import { ReadAhead } from './read_ahead.js'
import { hangs, refusedGlob, ripgrep, walkLimits, withWalk, type WalkOptions } from './ripgrep.js'
import { mostNames, Walk, type Entries } from './walk.js'

export interface Listing extends Pick<Entries, 'incomplete' | 'complaints'> {
  /** Workspace-relative, in path order. */
  files: string[]
}

/** The files below a directory. */
export async function filesBelow(context: Context, directory: Handle, discovery: WalkOptions): Promise<Listing> {
  const { files, ...found } = await unsortedFilesBelow(context, directory, discovery)
  return { ...found, files: inPathOrder(files, (path) => path) }
}

/** The same in no order. */
export async function unsortedFilesBelow(context: Context, directory: Handle, discovery: WalkOptions): Promise<Listing> {
  const since = Date.now()
  const folders = new FoldersBelow(directory)
  const told = await filesByRipgrep(context, directory, discovery, folders)
  if (told) return { ...told, files: await stillThere(context, told.files, folders, since) }
  const { entries, incomplete, complaints } = await new Walk(context, directory, discovery, since).start()
  return { files: entries.flatMap(({ path, kind }) => (kind === 'file' ? [path] : [])), incomplete, complaints }
}

/** Everything below a directory: ripgrep says which files ignore rules leave, and tells no folder and no link, which we look for meanwhile. */
export async function entriesBelow(context: Context, directory: Handle, discovery: WalkOptions): Promise<Entries> {
  const { globs = [], max_depth = walkLimits.depth, include_ignored } = discovery
  const since = Date.now()
  if (include_ignored || max_depth === 1) return new Walk(context, directory, discovery, since).start()
  using ahead = new ReadAhead(directory, mostNames)
  const told = await filesByRipgrep(context, directory, { ...discovery, globs: [], named: globs }, ahead)
  if (!told) return new Walk(context, directory, discovery, since).start()
  ahead.tell(told.files)
  const found = await new Walk(context, directory, discovery, since, ahead.top).start()
  return { ...found, incomplete: found.incomplete || told.incomplete }
}

/** Whether a path below an open directory may be told, under the name it was reached by and under its own. */
export function seenBelow({ workspace }: Pick<Context, 'workspace'>, directory: Handle, path: string): boolean {
  if (!workspace.sees(path)) return false
  if (directory.path === directory.resolved) return true
  const below = directory.path === '.' ? path : path.slice(directory.path.length + 1)
  return workspace.sees(directory.resolved === '.' ? below : `${directory.resolved}/${below}`)
}

/** As ripgrep has seen it. `undefined` without ripgrep, and where only our own walk can go: ripgrep would follow links out of the workspace. */
async function filesByRipgrep(context: Context, directory: Handle, discovery: WalkOptions, heard: FoldersBelow | ReadAhead): Promise<Listing | undefined> {
  if (discovery.follow) return undefined
  const { globs = [], named = [], file_extensions: _, ...rules } = discovery
  const passes = fileFilter(directory.path, discovery)
  const prefix = directory.path === '.' ? '' : `${directory.path}/`
  const files: string[] = []
  /** No file behind this one is among the first. */
  let last: string | undefined
  const keepFirst = (): void => {
    // Whatever the order in which they are told.
    bringInFront(files, walkLimits.entries, (a, b) => byPath(a, b) < 0)
    files.length = walkLimits.entries
    last = files.at(-1)
  }
  const take = names((name) => {
    const path = prefix + name
    if ((last !== undefined && byPath(path, last) > 0) || !passes(path) || !seenBelow(context, directory, path)) return
    files.push(path)
    heard.found(path)
    if (files.length >= 1.5 * walkLimits.entries) keepFirst()
  })
  const limits = { signal: context.signal, seconds: walkLimits.seconds - (heard instanceof ReadAhead ? walkLimits.least_seconds : 0) }
  // To read all names and choose among them ourselves takes less than to have it done by a file of rules; the globs are only read for faults.
  const chosen = choose(globs)
  const walk = { max_depth: walkLimits.depth, ...rules, globs: chosen ? [] : globs, named: [...named, ...globs] }
  const how = ['--files', '--null', ...(chosen ? globs.flatMap((glob) => ['--pre-glob', glob]) : [])]
  const asked = await withWalk(context.workspace, directory, walk, (flags) => ripgrep(directory, [...how, ...flags], limits, take)).catch(hangs)
  if (!asked) return undefined
  if (asked.exit_code === 2) refusedGlob(asked.complaints)
  if (files.length > walkLimits.entries) keepFirst()
  return { files, incomplete: last !== undefined || asked.timed_out, complaints: await tellable(context, directory.path, asked.complaints) }
}

/** A consumer of names that end with NUL, as they read in an answer. */
function names(take: (name: string) => void): Consumer {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const end = bytes.lastIndexOf(0)
    rest = Buffer.from(bytes.subarray(end + 1))
    if (end < 0) return
    const whole = bytes.subarray(0, end)
    const plain = isUtf8(whole) && !whole.includes('\\x')
    // All at once where each is the text that it reads as; else one character is one byte.
    for (const name of whole.toString(plain ? 'utf8' : 'latin1').split('\0')) take(plain ? name : encodeName(Buffer.from(name, 'latin1')))
  }
}

/** Of files that ripgrep named, those that are there: what is doubtful is looked at name by name. */
async function stillThere(context: Context, files: string[], folders: FoldersBelow, since: number): Promise<string[]> {
  const { doubtful } = folders.doubts('names', since)
  if (!doubtful) return files
  const found = await look(context, files.filter(doubtful))
  return files.filter((path) => !doubtful(path) || found.get(path)?.kind === 'file')
}
