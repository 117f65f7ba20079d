import type { OpenWorkspace, Operation, FileVersion, Workspace } from '../../../core/workspace/index.js'
import { openCheckpoints, type RevertPlan, type StateChange } from '../../lib/checkpoints/index.js'
import { contentHash } from '../../lib/base/index.js'
import {
  findMissingParents,
  recordChange,
  refuseForeign,
  listUndoable,
  readKept,
  readVersion,
  type Step,
  type Undoable,
} from '../../lib/files/index.js'

/** The former content of a path: a kept file, a file that is now at another path, or nothing. */
type Was = { kept: string; mode: number; sha256?: string } | { now: string } | 'nothing'

/** The operations that restore files to a former state. */
export interface Rewind {
  operations: Operation[]
  /** Paths that change. */
  reverted: string[]
  /** Paths that cannot be restored, with the reason. */
  skipped: { path: string; reason: string }[]
  /** Paths that somebody else changed since. */
  conflicts: string[]
  /** Folders that were created together with the reverted files. */
  made: string[]
  /** Entries that only commands changed, from their checkpoints: links, folders, state of git. */
  entries?: StateChange[]
}

/**
 * Plans how to take back all changes of a session since a time (ISO 8601). A non-empty `only` limits the paths. Nothing
 * is changed yet.
 */
export async function planRewind(
  workspace: Workspace,
  session: string,
  since: string,
  only: readonly string[],
): Promise<Rewind> {
  const steps = (await listUndoable(workspace)).filter(
    ({ checkpoint }) => checkpoint.session === session && checkpoint.time >= since,
  )
  const past = new PastFiles(workspace)
  for (const one of steps) await past.rewindCheckpoint(one)
  const rewind: Rewind = {
    operations: [],
    reverted: [],
    skipped: past.skipped,
    conflicts: [...past.conflicts],
    made: past.madeFolders,
  }
  for (const [path, was] of past.view) {
    if (!isWanted(path, only)) continue
    try {
      await refuseForeign(workspace, path)
      const operation = await planRestore(workspace, path, was)
      if (operation) rewind.operations.push(operation)
      if (operation) rewind.reverted.push(path)
    } catch (error) {
      rewind.skipped.push({ path, reason: (error as Error).message })
    }
  }
  const entries = await planEntries(workspace, session, since, (path) => !past.view.has(path) && isWanted(path, only))
  rewind.entries = entries.changes
  rewind.skipped.push(...entries.skipped)
  const others = entries.changes.filter(({ before, after }) => (after ?? before)!.kind !== 'directory')
  rewind.reverted.push(...others.map(({ path }) => path))
  rewind.conflicts.push(...entries.conflicts)
  rewind.conflicts = rewind.conflicts.filter((path) => rewind.reverted.includes(path))
  return rewind
}

const isWanted = (path: string, only: readonly string[]): boolean =>
  only.length === 0 || only.some((one) => path === one || path.startsWith(`${one}/`))

/** Plans the revert of what the history of files does not have, from the checkpoints of the commands of a session. */
async function planEntries(
  { root, home }: Workspace,
  session: string,
  since: string,
  select: (path: string) => boolean,
): Promise<RevertPlan> {
  const store = openCheckpoints(root, home)
  const records = store.records.list().filter((one) => one.session === session && one.time >= since)
  return records.length === 0
    ? { changes: [], conflicts: [], skipped: [] }
    : store.revert(records, { select, force: true, apply: false, session })
}

/** Applies a plan, all of it or nothing, as a checkpoint of its own, which can be reverted in turn. */
export async function applyRewind(
  whole: OpenWorkspace,
  session: string,
  id: string,
  { operations, made, entries = [] }: Rewind,
): Promise<void> {
  if (entries.length > 0)
    await openCheckpoints(whole.root, whole.home).restore(entries, { call: id, session, command: id })
  if (operations.length === 0) return
  const workspace = whole.createLinkFreeView(operations.map(({ path }) => path))
  const steps = await Promise.all(operations.map((operation) => createStep(workspace, operation)))
  await recordChange({ slot: 'revert', id }, { workspace, session: { id: session } }, steps, () =>
    workspace.transact(operations),
  )
  // `made` contains the target of every rename and copy. If a file is there now, the operations restored it.
  for (const path of [...made].reverse())
    if ((await workspace.stat(path))?.kind !== 'file') await workspace.remove(path).catch(() => {})
}

async function createStep(workspace: Workspace, { op, path, ...rest }: Operation): Promise<Step> {
  const { expected } = rest
  const before =
    expected === 'nothing'
      ? undefined
      : { sha256: expected.sha256, mode: expected.stat.mode & 0o7777, bytes: expected.stat.bytes }
  if (op === 'remove') return { op, path, before: before! }
  const { bytes } = rest as { bytes: Uint8Array }
  return {
    op,
    path,
    ...(before && { before }),
    after: contentHash(bytes),
    made: await findMissingParents(path, workspace),
  }
}

async function planRestore(workspace: Workspace, path: string, was: Was): Promise<Operation | undefined> {
  const entry = await workspace.stat(path)
  if (entry && entry.kind !== 'file')
    throw new Error(`a ${entry.kind} stands in its place: take that away and revert again`)
  const current: FileVersion | undefined = await readVersion(workspace, path)
  if (was === 'nothing') return current && { op: 'remove', path, expected: current }
  const source = 'kept' in was ? was.kept : was.now
  const mode = 'kept' in was ? was.mode : (await workspace.stat(source))!.mode & 0o7777
  const bytes = await readKept(workspace, source, 'kept' in was ? was.sha256 : undefined)
  if (current?.sha256 === contentHash(bytes) && (current.stat.mode & 0o7777) === mode) return undefined
  return { op: 'write', path, bytes, expected: current ?? 'nothing', mode }
}

/**
 * Walks the changes backwards, the latest first, and computes the former content of each path. Paths without an entry
 * are unchanged.
 */
class PastFiles {
  readonly view = new Map<string, Was>()
  readonly skipped: Rewind['skipped'] = []
  readonly conflicts = new Set<string>()
  readonly madeFolders: string[] = []

  constructor(private readonly workspace: Workspace) {}

  async rewindCheckpoint({ folder, checkpoint }: Undoable): Promise<void> {
    for (const [index, step] of [...checkpoint.steps.entries()].reverse())
      await this.rewindStep(step, `${folder}/${index}`)
  }

  private async rewindStep(step: Step, kept: string): Promise<void> {
    if ('made' in step) this.madeFolders.push(...step.made)
    switch (step.op) {
      case 'write':
        await this.noteConflict(step.path, step.after)
        this.view.set(step.path, step.before ? { kept, ...step.before } : 'nothing')
        return
      case 'remove':
        await this.noteConflict(step.path, undefined)
        this.view.set(step.path, { kept, ...step.before })
        return
      case 'take':
        for (const file of await this.listFiles(kept))
          this.view.set(file === '' ? step.path : `${step.path}/${file}`, {
            kept: file === '' ? kept : `${kept}/${file}`,
            mode: await this.readMode(`${kept}${file && `/${file}`}`),
          })
        return
      case 'create':
        for (const file of await this.listFiles(step.path))
          this.view.set(file === '' ? step.path : `${step.path}/${file}`, 'nothing')
        this.madeFolders.push(step.path)
        return
      case 'rename':
        await this.rewindRename(step.from, step.to)
        if (step.before) this.view.set(step.to, { kept, ...step.before })
    }
  }

  /** Moves the entries at and below `to` back to `from`. */
  private async rewindRename(from: string, to: string): Promise<void> {
    const moved = new Map<string, Was>()
    for (const file of await this.listFiles(to)) moved.set(file, { now: file === '' ? to : `${to}/${file}` })
    for (const [path, was] of this.view)
      if (path === to || path.startsWith(`${to}/`)) moved.set(path.slice(to.length + 1), was)
    for (const [file, was] of moved) {
      this.view.set(file === '' ? to : `${to}/${file}`, 'nothing')
      this.view.set(file === '' ? from : `${from}/${file}`, was)
    }
    this.madeFolders.push(to)
  }

  /** Notes a conflict if the file differs from what the latest known change left. */
  private async noteConflict(path: string, hash: string | undefined): Promise<void> {
    if (this.view.has(path)) return
    const entry = await this.workspace.stat(path)
    // Only a file is ever replaced; anything else fails later with its own message.
    if (entry && entry.kind !== 'file') return
    if ((await readVersion(this.workspace, path))?.sha256 !== hash) this.conflicts.add(path)
  }

  /**
   * Lists the files at and below a path, relative to it; '' is the path itself. Other kinds of entries cannot be
   * restored.
   */
  private async listFiles(path: string): Promise<string[]> {
    const stat = await this.workspace.stat(path)
    if (!stat || stat.kind === 'file') return stat ? [''] : []
    if (stat.kind !== 'directory') {
      this.skipped.push({ path, reason: `it is a ${stat.kind}` })
      return []
    }
    const found: string[] = []
    for (const { name } of await this.workspace.listNames(path))
      for (const file of await this.listFiles(`${path}/${name}`)) found.push(file === '' ? name : `${name}/${file}`)
    return found
  }

  private readMode = async (path: string): Promise<number> => (await this.workspace.stat(path))!.mode & 0o7777
}
