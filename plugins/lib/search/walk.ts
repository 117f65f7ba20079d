import { setImmediate as turn } from 'node:timers/promises'
import { VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryKind, Handle } from '../../../core/workspace/index.js'
import { parentOf } from '../base/index.js'
import { choose, globFilter, Ignoring, maxRules, ruleFiles } from '../globs/index.js'
import { gone } from './entries.js'
import { leftOutBelow, walkLimits, type WalkOptions } from './ripgrep.js'

interface NamedEntry {
  name: string
  kind: EntryKind
}
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

/** What ignore rules say in a folder, once somebody asks. */
type Rules = () => Ignoring | Promise<Ignoring>

/** One more than a walk tells. */
const mostNames = walkLimits.entries + 1

/** How long the walk keeps the process to itself. */
const sliceMs = 10

/** A directory of a walk, opened through the one that holds it once something is asked of it. */
class Folder {
  constructor(
    readonly path: string,
    readonly resolved: string,
    private readonly open: () => Handle,
    private handle?: Handle,
  ) {}

  get held(): Handle {
    return (this.handle ??= this.open())
  }

  /** The directory `name` inside. */
  inside(path: string, name: string): Folder {
    return new Folder(path, this.resolved === '.' ? name : `${this.resolved}/${name}`, () =>
      this.held.openDirectory(name),
    )
  }

  close(): void {
    void this.handle?.close()
  }
}

/** The same for one that is open. */
const standing = (handle: Handle): Folder => new Folder(handle.path, handle.resolved, () => handle, handle)

/** A folder in which the walk stands. */
interface Step {
  readonly folder: Folder
  /** What its paths begin with. */
  readonly prefix: string
  /** How many entries were found before those in it. */
  readonly before: number
  names: NamedEntry[]
  /** Which of the names comes next. */
  at: number
  rules: Rules
}

/** A walk that opens each folder through the one that holds it, so that no exchange of a folder leads it out. */
export class Walk {
  private readonly found: Entries = { entries: [], ignored: 0, hidden: 0, incomplete: false, complaints: [] }
  /** From the base to where we stand. */
  private readonly way: Step[] = []
  private readonly always: Set<string>
  private readonly passes: (path: string, directory: boolean) => boolean
  private readonly narrows: boolean
  private readonly end: number
  private pause = performance.now() + sliceMs

  constructor(
    private readonly context: Context,
    private readonly base: Handle,
    private readonly discovery: WalkOptions,
  ) {
    this.end = Date.now() + walkLimits.seconds * 1000
    this.always = new Set(leftOutBelow(base.path, discovery.globs))
    this.passes = globFilter(base.path, discovery)
    this.narrows = choose(discovery.globs) || (discovery.file_extensions?.length ?? 0) > 0
  }

  async start(): Promise<Entries> {
    const outer = this.discovery.include_ignored ? undefined : Ignoring.above(this.context.workspace.root)
    let rules: Rules = () => outer!
    for (const path of ancestors(this.base.path)) {
      const above = await this.context.workspace.openDirectory(path).catch(gone)
      if (!above) continue
      await using held = above
      rules = this.rulesIn(held, held.listNames(mostNames), rules)
    }
    this.stand(standing(this.base), rules)
    try {
      // Few entries need something that has to be waited for: a promise for each would take as long as what it waits for.
      for (let step; (step = this.way.at(-1));) {
        const pending = step.at < step.names.length ? this.meet(step, step.names[step.at++]!) : this.leave(step)
        if (pending) await pending
      }
    } finally {
      // The base stays its owner's to close.
      for (const { folder } of this.way.slice(1)) folder.close()
    }
    return this.found
  }

  /** Goes into a folder, the last entry found, or into the base. */
  private stand(folder: Folder, above: Rules): void {
    const prefix = folder.path === '.' ? '' : `${folder.path}/`
    const isIn = this.way.length < (this.discovery.max_depth ?? walkLimits.depth) && !this.found.incomplete
    const before = this.way.length === 0 ? -1 : this.found.entries.length
    const step: Step = { folder, prefix, before, names: [], at: 0, rules: above }
    this.way.push(step)
    if (!isIn) return
    step.names = this.open(() => folder.held.listNames(mostNames)) ?? []
    if (step.names.length === mostNames) this.found.incomplete = true
    step.rules = this.rulesIn(folder, step.names, above)
  }

  private leave({ folder, before }: Step): Promise<void> | undefined {
    this.way.pop()
    // Where files are chosen, a folder counts for those in it.
    if (this.narrows && this.found.entries.length === before) this.found.entries.pop()
    if (this.way.length > 0) folder.close()
    return performance.now() > this.pause ? this.rest() : undefined
  }

  private async rest(): Promise<void> {
    await turn()
    this.context.signal.throwIfAborted()
    this.pause = performance.now() + sliceMs
  }

  private meet(step: Step, entry: NamedEntry): Promise<void> | undefined {
    const { name, kind } = entry
    if (this.always.has(name)) return undefined
    const path = step.prefix + name
    if (!this.sees(step.folder, path, name)) return undefined
    if (this.discovery.include_ignored) return this.judged(step, path, entry, undefined)
    const rules = step.rules()
    const judge = (all: Ignoring) => this.judged(step, path, entry, all.verdict(path, name, kind === 'directory'))
    return rules instanceof Ignoring ? judge(rules) : rules.then(judge)
  }

  private judged(
    step: Step,
    path: string,
    { name, kind }: NamedEntry,
    verdict: 'ignore' | 'keep' | undefined,
  ): Promise<void> | undefined {
    if (verdict === 'ignore') this.found.ignored++
    // A rule that keeps an entry keeps it though its name begins with a dot.
    else if (name.startsWith('.') && !this.discovery.include_hidden && verdict !== 'keep') this.found.hidden++
    else if (kind === 'directory') this.enter(step, path, name)
    else if (kind === 'link' && this.discovery.follow) return this.follow(step, path)
    else this.add({ path, kind })
    return undefined
  }

  private add(entry: FoundEntry): void {
    if (this.isRoom() && this.passes(entry.path, false)) this.found.entries.push(entry)
  }

  /** Whether one entry more may be told. */
  private isRoom(): boolean {
    if (this.found.entries.length < walkLimits.entries && Date.now() <= this.end) return true
    this.found.incomplete = true
    return false
  }

  /** Whether an entry may be told, under the name it was reached by and under its own. */
  private sees({ path, resolved }: Folder, entry: string, name: string): boolean {
    const { workspace } = this.context
    return (
      workspace.isVisible(entry) &&
      (path === resolved || workspace.isVisible(resolved === '.' ? name : `${resolved}/${name}`))
    )
  }

  private enter({ folder, rules }: Step, path: string, name: string): void {
    if (!this.isRoom() || !this.passes(path, true)) return
    const inside = folder.inside(path, name)
    if (!this.open(() => inside.held)) return
    this.found.entries.push({ path, kind: 'directory' })
    this.stand(inside, rules)
  }

  /** Through a link that stays inside the workspace; any other is told as what it is. */
  private async follow({ rules }: Step, path: string): Promise<void> {
    const target = await this.context.workspace.open(path).catch(gone)
    // A link to where we stand would never end.
    const isEnd = target?.kind !== 'directory' || this.way.some(({ folder }) => folder.resolved === target.resolved)
    if (!isEnd && this.isRoom() && this.passes(path, true)) {
      this.found.entries.push({ path, kind: 'directory' })
      return this.stand(standing(target), rules)
    }
    await target?.close()
    if (isEnd) this.add({ path, kind: target?.kind === 'file' ? 'file' : 'link' })
  }

  /** What the system lets us see; what vanished meanwhile was never there. */
  private open<T>(look: () => T): T | undefined {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      if (error.code !== 'VT_PATH_NOT_FOUND' && error.code !== 'VT_PATH_NOT_DIRECTORY')
        this.found.complaints.push(error.problem.message)
      return undefined
    }
  }

  /** With the rules of a folder, which are read when somebody asks for them. */
  private rulesIn(
    { path, resolved }: Pick<Handle, 'path' | 'resolved'>,
    names: { name: string }[],
    above: Rules,
  ): Rules {
    if (!names.some(({ name }) => name.startsWith('.'))) return above
    const known = ruleFiles.filter(
      (kind) =>
        (kind !== '.vtcodegitignore' || resolved === '.') && names.some(({ name }) => name === kind.split('/', 1)[0]),
    )
    if (known.length === 0) return above
    const read = (kind: string): Promise<string | undefined> =>
      this.context.workspace
        .readText(resolved === '.' ? kind : `${resolved}/${kind}`, { max_bytes: maxRules })
        .catch((error: unknown) => this.unread(error))
    let rules: Ignoring | Promise<Ignoring> | undefined
    const readAll = async (): Promise<Ignoring> => (rules = await (await above()).with(path, known, read))
    return () => (rules ??= readAll())
  }

  /** A file of rules that is a pipe, a device or too large is named: what it says does not hold. Any other that cannot be read is none. */
  private unread(error: unknown): undefined {
    if (error instanceof VtError && (error.code === 'VT_PATH_SPECIAL' || error.code === 'VT_INPUT_TOO_LARGE'))
      this.found.complaints.push(error.problem.message)
    return gone(error)
  }
}

/** The folders above `path`, from the root on. */
function ancestors(path: string): string[] {
  const found: string[] = []
  for (let folder = path; folder !== '.';) found.unshift((folder = parentOf(folder)))
  return found
}
