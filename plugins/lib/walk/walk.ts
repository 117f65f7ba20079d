import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { toParentPath } from '../base/index.js'
import {
  hasPositiveGlob,
  createGlobFilter,
  findNamedPaths,
  IgnoreRules,
  isInRepository,
  MAX_RULE_BYTES,
  readExcludeFile,
  ruleFiles,
  type NamedPaths,
} from '../globs/index.js'
import {
  Folder,
  toFolder,
  type Entries,
  type FoundEntry,
  type NamedEntry,
  type Reason,
  type WalkTask,
} from './entries.js'
import { ignoreMissing, listExcludedNames, listNaming, WALK_LIMITS, type WalkOptions } from './options.js'

/** Reads the ignore rules of a folder at the first call. */
type Rules = () => IgnoreRules | Promise<IgnoreRules>

/** One more than the limit of a walk, to detect that it was reached. */
const MAX_NAMES = WALK_LIMITS.entries + 1

/** Time after which the walk yields to other work of the process. */
const SLICE_MS = 10

/** A folder on the current path of the walk. */
interface Step {
  readonly folder: Folder
  /** Prefix of the paths of its entries. */
  readonly prefix: string
  /** Number of entries found before those of this folder. */
  readonly before: number
  /** Set in a folder that other walks leave out. */
  readonly left_out: Reason | undefined
  names: NamedEntry[]
  /** Index of the next name. */
  at: number
  rules: Rules
}

/**
 * Walks a directory. Opens each folder through its parent, so that a replaced folder cannot lead out of the
 * workspace.
 */
export class Walk {
  private readonly found: Entries = {
    entries: [],
    ignored: 0,
    hidden: 0,
    excluded: new Set(),
    spelled: [],
    incomplete: false,
    complaints: [],
  }
  /** Folders from the base to the current one. */
  private readonly steps: Step[] = []
  private readonly excludedNames: Set<string>
  private readonly passes: (path: string, directory: boolean) => boolean
  private readonly named: NamedPaths
  /** Length of the base in the path of an entry. */
  private readonly offset: number
  private readonly isNarrowed: boolean
  /** Set if rules of git end at the next `.git`; without a repository they count everywhere. */
  private readonly isInRepository: boolean
  private isTooDeep = false
  private readonly end: number
  private pauseAt = performance.now() + SLICE_MS

  constructor(
    private readonly context: Context,
    private readonly base: Handle,
    private readonly discovery: WalkOptions,
    private readonly task: WalkTask = {},
  ) {
    this.end = Date.now() + (task.seconds ?? WALK_LIMITS.seconds) * 1000
    const naming = listNaming(discovery)
    this.excludedNames = new Set(listExcludedNames(base.path, naming))
    this.named = findNamedPaths(naming)
    this.offset = base.path === '.' ? 0 : base.path.length + 1
    this.passes = createGlobFilter(base.path, discovery)
    this.isInRepository = isInRepository(join(context.workspace.root, base.resolved))
    this.isNarrowed = hasPositiveGlob(discovery.globs) || (discovery.file_extensions?.length ?? 0) > 0
  }

  async start(): Promise<Entries> {
    const outer = this.discovery.include_ignored ? undefined : IgnoreRules.readAbove(this.context.workspace.root)
    let rules: Rules = () => outer!
    for (const path of listAncestors(this.base.path)) {
      const above = await this.context.workspace.openDirectory(path).catch(ignoreMissing)
      if (!above) continue
      await using held = above
      rules = this.addRules(held, held.listNames(MAX_NAMES), rules)
    }
    this.enterFolder(toFolder(this.base), rules, undefined)
    try {
      // Few entries need asynchronous work, and a promise for each entry would double the time.
      for (let step; (step = this.steps.at(-1));) {
        const pending = step.at < step.names.length ? this.visit(step, step.names[step.at++]!) : this.leave(step)
        if (pending) await pending
      }
    } finally {
      // The caller closes the base.
      for (const { folder } of this.steps.slice(1)) folder.close()
    }
    this.found.incomplete ||= this.isTooDeep
    return this.found
  }

  /** Enters the base or a folder, the last entry found. */
  private enterFolder(folder: Folder, above: Rules, left_out: Reason | undefined): void {
    const prefix = folder.path === '.' ? '' : `${folder.path}/`
    const isEntered = this.steps.length < (this.discovery.max_depth ?? WALK_LIMITS.depth) && !this.found.incomplete
    const before = this.steps.length === 0 ? -1 : this.found.entries.length
    const step: Step = { folder, prefix, before, left_out, names: [], at: 0, rules: above }
    this.isTooDeep ||= this.steps.length >= WALK_LIMITS.depth
    this.steps.push(step)
    if (!isEntered) return
    step.names = this.open(() => folder.held.listNames(MAX_NAMES)) ?? []
    if (step.names.length === MAX_NAMES) this.found.incomplete = true
    step.rules = this.addRules(folder, step.names, above)
  }

  private leave({ folder, before }: Step): Promise<void> | undefined {
    this.steps.pop()
    // If files are selected, a folder without any of them is dropped.
    if (this.isNarrowed && this.found.entries.length === before) this.found.entries.pop()
    if (this.steps.length > 0) folder.close()
    return performance.now() > this.pauseAt ? this.yieldTurn() : undefined
  }

  private async yieldTurn(): Promise<void> {
    await turn()
    this.context.signal.throwIfAborted()
    this.pauseAt = performance.now() + SLICE_MS
  }

  private visit(step: Step, entry: NamedEntry): Promise<void> | undefined {
    const { name, kind } = entry
    const path = step.prefix + name
    if (!this.isVisible(step.folder, path, name)) return undefined
    if (this.excludedNames.has(name)) return void this.found.excluded.add(name)
    if (this.task.scope === 'spelled' && !this.named.spells(path.slice(this.offset))) return undefined
    if (this.discovery.include_ignored) return this.admit(step, path, entry, undefined)
    const rules = step.rules()
    const judge = (all: IgnoreRules) => this.admit(step, path, entry, all.verdict(path, name, kind === 'directory'))
    return rules instanceof IgnoreRules ? judge(rules) : rules.then(judge)
  }

  private admit(
    step: Step,
    path: string,
    { name, kind }: NamedEntry,
    verdict: 'ignore' | 'keep' | undefined,
  ): Promise<void> | undefined {
    const reason = this.findReason(path, name, verdict)
    if (reason) this.found[reason]++
    if (reason && this.task.scope !== 'marked') return undefined
    const left_out = step.left_out ?? reason
    if (kind === 'directory') this.enterDirectory(step, path, name, left_out)
    else if (kind === 'link' && this.discovery.follow) return this.follow(step, path, left_out)
    else this.add({ path, kind, ...(left_out && { left_out }) })
    return undefined
  }

  /** Returns why an entry is left out. A glob that names the entry outright keeps it. */
  private findReason(path: string, name: string, verdict: 'ignore' | 'keep' | undefined): Reason | undefined {
    // A rule that keeps an entry keeps it though its name begins with a dot.
    const isHidden = name.startsWith('.') && !this.discovery.include_hidden && verdict !== 'keep'
    const reason = verdict === 'ignore' ? 'ignored' : isHidden ? 'hidden' : undefined
    if (!reason) return undefined
    const relative = path.slice(this.offset)
    if (reason === 'hidden' && this.named.writesDot(relative)) return undefined
    if (!this.named.spells(relative)) return reason
    this.found.spelled.push(path)
    return undefined
  }

  private add(entry: FoundEntry): void {
    if (this.isRoom() && this.passes(entry.path, false)) this.found.entries.push(entry)
  }

  /** Returns whether the walk may add one more entry. */
  private isRoom(): boolean {
    if (this.found.entries.length < WALK_LIMITS.entries && Date.now() <= this.end) return true
    this.found.incomplete = true
    return false
  }

  /** Returns whether an entry is visible, under the given name and under the resolved one. */
  private isVisible({ path, resolved }: Folder, entry: string, name: string): boolean {
    const { workspace } = this.context
    return (
      workspace.isVisible(entry) &&
      (path === resolved || workspace.isVisible(resolved === '.' ? name : `${resolved}/${name}`))
    )
  }

  private enterDirectory({ folder, rules }: Step, path: string, name: string, left_out: Reason | undefined): void {
    if (!this.isRoom() || !this.passes(path, true)) return
    const inside = folder.toChild(path, name)
    if (!this.open(() => inside.held)) return
    this.found.entries.push({ path, kind: 'directory', ...(left_out && { left_out }) })
    this.enterFolder(inside, rules, left_out)
  }

  /** Follows a link that stays in the workspace; adds any other link as a link. */
  private async follow({ rules }: Step, path: string, left_out: Reason | undefined): Promise<void> {
    const target = await this.context.workspace.open(path).catch(ignoreMissing)
    // A link to a folder on the current path would never end.
    const isEnd = target?.kind !== 'directory' || this.steps.some(({ folder }) => folder.resolved === target.resolved)
    if (!isEnd && this.isRoom() && this.passes(path, true)) {
      this.found.entries.push({ path, kind: 'directory', ...(left_out && { left_out }) })
      return this.enterFolder(toFolder(target), rules, left_out)
    }
    await target?.close()
    if (isEnd) this.add({ path, kind: target?.kind === 'file' ? 'file' : 'link', ...(left_out && { left_out }) })
  }

  /** Returns the result of `look`, or `undefined` for an entry that vanished or cannot be read. */
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

  /** Adds the rules of a folder to those above; they are read at first use. */
  private addRules({ path, resolved }: Pick<Handle, 'path' | 'resolved'>, names: NamedEntry[], above: Rules): Rules {
    if (!names.some(({ name }) => name.startsWith('.'))) return above
    const known = ruleFiles.filter(
      (kind) =>
        (kind !== '.vtcodegitignore' || resolved === '.') && names.some(({ name }) => name === kind.split('/', 1)[0]),
    )
    if (known.length === 0) return above
    const git = names.find(({ name }) => name === '.git')
    const read = async (kind: string): Promise<string | undefined> => {
      if (kind === '.git/info/exclude' && git?.kind === 'file')
        return readExcludeFile(join(this.context.workspace.root, resolved))
      return this.context.workspace
        .readText(resolved === '.' ? kind : `${resolved}/${kind}`, { max_bytes: MAX_RULE_BYTES })
        .catch((error: unknown) => this.reportUnread(error))
    }
    let rules: IgnoreRules | Promise<IgnoreRules> | undefined
    const readAll = async (): Promise<IgnoreRules> => {
      const outer = await above()
      return (rules = await (git && this.isInRepository ? outer.enterRepository() : outer).with(path, known, read))
    }
    return () => (rules ??= readAll())
  }

  /**
   * Reports a file of rules that is a pipe, a device or too large and so has no effect. Ignores one that is missing.
   */
  private reportUnread(error: unknown): undefined {
    if (error instanceof VtError && (error.code === 'VT_PATH_SPECIAL' || error.code === 'VT_INPUT_TOO_LARGE'))
      this.found.complaints.push(error.problem.message)
    return ignoreMissing(error)
  }
}

/** Lists the folders above `path`, from the root on. */
function listAncestors(path: string): string[] {
  const found: string[] = []
  for (let folder = path; folder !== '.';) found.unshift((folder = toParentPath(folder)))
  return found
}
