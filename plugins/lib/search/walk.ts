import { setImmediate as turn } from 'node:timers/promises'
import { VtError } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'
import type { EntryKind, Handle } from '../../../core/workspace/index.js'
import { parentOf } from '../base/index.js'
import { choose, globFilter, Ignoring, maxRules, ruleFiles } from '../globs/index.js'
import { gone } from './entries.js'
import type { NamedEntry, ReadAhead } from './read_ahead.js'
import { leftOutBelow, walkLimits, type WalkOptions } from './ripgrep.js'

export interface FoundEntry {
  path: string
  kind: EntryKind
}
export interface Entries {
  /** A folder before what is in it, names in code-unit order. */
  entries: FoundEntry[]
  /** How many entries ignore rules or a leading dot left out where the walk met them. */
  ignored: number
  hidden: number
  /** The walk stopped before its end. */
  incomplete: boolean
  complaints: string[]
}

/** What ignore rules say in a folder. */
type Rules = () => Promise<Ignoring>

/** One more than a walk tells. */
export const mostNames = walkLimits.entries + 1

/** How long the walk keeps the process to itself. */
const sliceMs = 10

/** A directory of a walk, opened through the one that holds it once something is asked of it. */
class Folder {
  private handle: Handle | undefined

  constructor(
    readonly path: string,
    readonly resolved: string,
    private readonly open: () => Handle,
  ) {}

  get held(): Handle {
    return (this.handle ??= this.open())
  }

  /** The directory `name` inside. */
  inside(path: string, name: string): Folder {
    return new Folder(path, this.resolved === '.' ? name : `${this.resolved}/${name}`, () => this.held.enter(name))
  }

  async close(): Promise<void> {
    await this.handle?.close()
  }
}

/** The same for one that is open, which stays its owner's to close. */
const standing = (handle: Handle): Folder => new Folder(handle.path, handle.resolved, () => handle)

/** A walk of our own: without ripgrep, through links, one level deep, and for what ripgrep does not tell. */
export class Walk {
  private readonly found: Entries = { entries: [], ignored: 0, hidden: 0, incomplete: false, complaints: [] }
  private readonly always: Set<string>
  private readonly passes: (path: string, directory: boolean) => boolean
  private readonly narrows: boolean
  private readonly end: number
  private pause = performance.now() + sliceMs

  constructor(
    private readonly context: Context,
    private readonly base: Handle,
    private readonly discovery: WalkOptions,
    /** When the whole search began, in ms. */
    since: number,
    /** What was read already, and which files ripgrep told of: those that rules leave. */
    private readonly ahead?: ReadAhead,
  ) {
    this.end = Math.max(since + walkLimits.seconds * 1000, Date.now() + walkLimits.least_seconds * 1000)
    this.always = new Set(leftOutBelow(base.path, discovery.globs))
    this.passes = globFilter(base.path, discovery)
    this.narrows = choose(discovery.globs) || (discovery.file_extensions?.length ?? 0) > 0
  }

  async start(): Promise<Entries> {
    const outer = this.discovery.include_ignored ? undefined : Promise.resolve(Ignoring.above(this.context.workspace.root))
    let rules: Rules = () => outer!
    for (const path of ancestors(this.base.path)) {
      const above = await this.context.workspace.openDirectory(path).catch(gone)
      if (!above) continue
      await using held = above
      rules = this.rulesIn(held, held.names(mostNames), rules)
    }
    await this.descend(standing(this.base), rules, [this.base.resolved], 1)
    return this.found
  }

  /** `trail` holds the directories that we stand in, with links resolved; the last is this one. */
  private async descend(folder: Folder, above: Rules, trail: string[], depth: number): Promise<void> {
    if (depth > (this.discovery.max_depth ?? walkLimits.depth) || this.found.incomplete) return
    if (performance.now() > this.pause) {
      await turn()
      this.context.signal.throwIfAborted()
      this.pause = performance.now() + sliceMs
    }
    const names = this.namesIn(folder)
    const rules = this.rulesIn(folder, names, above)
    const isTold = this.ahead && inOrder(this.ahead.toldIn(folder.path))
    for (const entry of names) {
      const { name, kind } = entry
      if (this.always.has(name)) continue
      const path = folder.path === '.' ? name : `${folder.path}/${name}`
      if (!this.sees(folder, path, name)) continue
      const isKnown = kind === 'directory' ? this.ahead?.leadsOn(path) : isTold?.(path)
      const verdict = isKnown ? 'keep' : isTold && kind === 'file' ? 'ignore' : await this.verdict(path, entry, rules)
      if (verdict === 'ignore') this.found.ignored++
      // A rule that keeps an entry keeps it though its name begins with a dot.
      else if (name.startsWith('.') && !this.discovery.include_hidden && verdict !== 'keep') this.found.hidden++
      else if (this.found.entries.length >= walkLimits.entries || Date.now() > this.end) this.found.incomplete = true
      else if (kind === 'directory') await this.enter(folder, { path, kind, name }, rules, trail, depth)
      else if (kind === 'link' && this.discovery.follow) await this.follow({ path, kind }, rules, trail, depth)
      else this.add({ path, kind })
    }
  }

  private async verdict(path: string, { name, kind }: { name: string; kind: EntryKind }, rules: Rules): Promise<'ignore' | 'keep' | undefined> {
    return this.discovery.include_ignored ? undefined : (await rules()).verdict(path, name, kind === 'directory')
  }

  private add(entry: FoundEntry): void {
    if (this.passes(entry.path, false)) this.found.entries.push(entry)
  }

  /** Whether an entry may be told, under the name it was reached by and under its own. */
  private sees({ path, resolved }: Folder, entry: string, name: string): boolean {
    const { workspace } = this.context
    return workspace.sees(entry) && (path === resolved || workspace.sees(resolved === '.' ? name : `${resolved}/${name}`))
  }

  private async enter(folder: Folder, { name, ...entry }: FoundEntry & { name: string }, rules: Rules, trail: string[], depth: number): Promise<void> {
    if (!this.passes(entry.path, true)) return
    const inside = folder.inside(entry.path, name)
    if (!this.ahead?.namesIn(entry.path) && !this.open(() => inside.held)) return
    try {
      await this.inside(entry, inside, rules, trail, depth)
    } finally {
      await inside.close()
    }
  }

  /** Through a link that stays inside the workspace; any other is told as what it is. */
  private async follow(entry: FoundEntry, rules: Rules, trail: string[], depth: number): Promise<void> {
    const target = await this.context.workspace.open(entry.path).catch(gone)
    if (!target) return this.add(entry)
    await using held = target
    if (held.kind === 'file') return this.add({ ...entry, kind: 'file' })
    // A link to where we stand would never end.
    if (trail.includes(held.resolved)) return this.add(entry)
    if (this.passes(entry.path, true)) await this.inside({ ...entry, kind: 'directory' }, standing(held), rules, trail, depth)
  }

  private async inside(entry: FoundEntry, folder: Folder, rules: Rules, trail: string[], depth: number): Promise<void> {
    const { entries } = this.found
    entries.push(entry)
    const before = entries.length
    await this.descend(folder, rules, [...trail, folder.resolved], depth + 1)
    // Where files are chosen, a folder counts for those in it.
    if (this.narrows && entries.length === before) entries.pop()
  }

  private namesIn(folder: Folder): NamedEntry[] {
    const names = this.ahead?.namesIn(folder.path) ?? this.open(() => folder.held.names(mostNames)) ?? []
    if (names.length === mostNames) this.found.incomplete = true
    return names
  }

  /** What the system lets us see; what vanished meanwhile was never there. */
  private open<T>(look: () => T): T | undefined {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      if (error.code !== 'VT_PATH_NOT_FOUND' && error.code !== 'VT_PATH_NOT_DIRECTORY') this.found.complaints.push(error.problem.message)
      return undefined
    }
  }

  /** With the rules of a folder, which are read when somebody asks for them. */
  private rulesIn({ path, resolved }: Pick<Handle, 'path' | 'resolved'>, names: { name: string }[], above: Rules): Rules {
    if (!names.some(({ name }) => name.startsWith('.'))) return above
    const known = ruleFiles.filter((kind) => (kind !== '.vtcodegitignore' || resolved === '.') && names.some(({ name }) => name === kind.split('/', 1)[0]))
    if (known.length === 0) return above
    const read = (kind: string): Promise<string | undefined> =>
      this.context.workspace.text(resolved === '.' ? kind : `${resolved}/${kind}`, { max_bytes: maxRules }).catch((error: unknown) => this.unread(error))
    let rules: Promise<Ignoring> | undefined
    return () => (rules ??= above().then((all) => all.with(path, known, read)))
  }

  /** A file of rules that is a pipe, a device or too large is named: what it says does not hold. Any other that cannot be read is none. */
  private unread(error: unknown): undefined {
    if (error instanceof VtError && (error.code === 'VT_PATH_SPECIAL' || error.code === 'VT_INPUT_TOO_LARGE')) this.found.complaints.push(error.problem.message)
    return gone(error)
  }
}

/** Tells of texts in order whether they are among those, which are in order too. */
function inOrder(all: string[]): (text: string) => boolean {
  let at = 0
  return (text) => {
    while (at < all.length && all[at]! < text) at++
    return all[at] === text
  }
}

/** The folders above `path`, from the root on. */
function ancestors(path: string): string[] {
  const found: string[] = []
  for (let folder = path; folder !== '.'; ) found.unshift((folder = parentOf(folder)))
  return found
}
