/** The files of a directory as every search action sees them: ripgrep's walk, in path order. */
import { isUtf8 } from 'node:buffer'
import { encodeName, type Context, type Handle } from '../../core/index.js'
import { tellable } from './entries.js'
import { inPathOrder } from './order.js'
import { choose, leftOutBelow, ripgrep, walkLimits, withWalk, type Discovery } from './ripgrep.js'
import { walkOurselves } from './walk.js'

export interface Listing {
  /** Workspace-relative, in path order. */
  files: string[]
  /** Entries that ignore rules or a leading dot left out where the walk met them; only if asked for. */
  ignored: string[]
  hidden: string[]
  /** The walk stopped before its end. */
  incomplete: boolean
  complaints: string[]
  /** Listed without ripgrep. */
  fallback?: boolean
}

/**
 * Lists the files below a directory, by a walk of our own where ripgrep is missing, or would follow links out of the workspace.
 * With `reasons` it also tells what was left out.
 */
export async function filesBelow(context: Context, directory: Handle, discovery: Discovery, reasons = false): Promise<Listing> {
  const walked = discovery.follow ? undefined : await byRipgrep(context, directory, discovery, reasons)
  const listing = walked ?? { ...(await walkOurselves(context, directory.path, discovery)), ...(!discovery.follow && { fallback: true }) }
  const seen = (paths: string[]): string[] => paths.filter((path) => seenBelow(context, directory, path))
  return { ...listing, files: seen(listing.files), ignored: seen(listing.ignored), hidden: seen(listing.hidden) }
}

/** Whether a path below an open directory may be told, under the name it was reached by and under its own. */
export function seenBelow({ workspace }: Pick<Context, 'workspace'>, directory: Handle, path: string): boolean {
  if (!workspace.sees(path)) return false
  if (directory.path === directory.resolved) return true
  const below = directory.path === '.' ? path : path.slice(directory.path.length + 1)
  return workspace.sees(directory.resolved === '.' ? below : `${directory.resolved}/${below}`)
}

async function byRipgrep(context: Context, directory: Handle, discovery: Discovery, reasons: boolean): Promise<Listing | undefined> {
  if (!choose(discovery.globs)) return walk(context, directory, discovery, reasons)
  // Globs that choose files would bring ignored ones back, so a walk without them has to agree.
  const { globs, ...rest } = discovery
  const [chosen, visible] = await Promise.all([
    walk(context, directory, discovery, false),
    walk(context, directory, { ...rest, left_out: leftOutBelow(directory.path, globs) }, reasons),
  ])
  if (!chosen || !visible) return undefined
  const known = new Set(visible.files)
  return {
    ...visible,
    files: chosen.files.filter((file) => known.has(file)),
    incomplete: chosen.incomplete || visible.incomplete,
    complaints: [...new Set([...chosen.complaints, ...visible.complaints])],
  }
}

async function walk(context: Context, directory: Handle, discovery: Discovery, reasons: boolean): Promise<Listing | undefined> {
  const prefix = directory.path === '.' ? '' : `${directory.path}/`
  const chunks: Buffer[] = []
  let entries = 0
  const take = (chunk: Buffer) => {
    chunks.push(chunk)
    for (let at = chunk.indexOf(0); at >= 0; at = chunk.indexOf(0, at + 1)) entries++
    return entries < walkLimits.entries ? undefined : (false as const)
  }
  const ignored: string[] = []
  const hidden: string[] = []
  const note = (line: string) => {
    const [, name, why] = / ignoring (?:\.\/)?(.+): Ignore\(IgnoreMatch\((\w+)/s.exec(line) ?? []
    if (name && why && why !== 'Override' && why !== 'Types') (why === 'Hidden' ? hidden : ignored).push(prefix + name)
  }
  const asked = await withWalk(context.workspace, directory, discovery, (flags) =>
    ripgrep(directory.ref, ['--files', '--null', ...flags], { signal: context.signal, seconds: walkLimits.seconds }, take, reasons ? note : undefined),
  )
  if (!asked) return undefined
  const files = sorted(Buffer.concat(chunks), prefix).slice(0, walkLimits.entries)
  return { files, ignored, hidden, incomplete: asked.timed_out || asked.stopped, complaints: await tellable(context, directory.path, asked.complaints) }
}

/** Names that end in NUL, as workspace paths in order. */
function sorted(bytes: Buffer, prefix: string): string[] {
  const plain = bytes.subarray(0, Math.max(0, bytes.lastIndexOf(0)))
  if (plain.length === 0) return []
  const text = plain.toString()
  const files = isUtf8(plain) && !text.includes('\\x') ? text.split('\0') : names(bytes).map(encodeName)
  const ordered = inPathOrder(files, (file) => file)
  return prefix ? ordered.map((file) => prefix + file) : ordered
}

function names(bytes: Buffer): Buffer[] {
  const found: Buffer[] = []
  let start = 0
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, start)) {
    found.push(bytes.subarray(start, at))
    start = at + 1
  }
  return found
}
