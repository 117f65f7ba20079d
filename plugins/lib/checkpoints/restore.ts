import type { OpenWorkspace, PlacedEntry } from '../../../core/workspace/index.js'
import type { CommandRecord, StateChange, EntryState } from './types.js'

/** The changes of a revert. */
export interface RevertPlan {
  /** `before` is the present state, `after` the restored one. */
  changes: StateChange[]
  /** Paths that somebody changed since the newest of the commands; a revert replaces that work. */
  conflicts: string[]
  /** Paths that cannot be restored. */
  skipped: { path: string; reason: string }[]
}

export const isSameState = (a: EntryState | null, b: EntryState | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.kind === b.kind &&
    (a.kind !== 'file' ||
      (a.mode === (b as typeof a).mode && a.sha256 === (b as typeof a).sha256 && a.bytes === (b as typeof a).bytes)) &&
    (a.kind !== 'directory' || a.mode === (b as typeof a).mode) &&
    (a.kind !== 'link' || a.target === (b as typeof a).target))

/** Computes the states before the oldest of `records`, which are in order, the newest first. */
export function planRevert(
  records: readonly CommandRecord[],
  select: (path: string) => boolean,
  current: (path: string) => EntryState | null,
): RevertPlan {
  const latest = new Map<string, EntryState | null>()
  const wanted = new Map<string, EntryState | null>()
  for (const { changes } of records) {
    for (const { path, before, after } of changes) {
      if (!select(path)) continue
      if (!latest.has(path)) latest.set(path, after)
      wanted.set(path, before)
    }
  }
  const plan: RevertPlan = { changes: [], conflicts: [], skipped: [] }
  for (const [path, after] of wanted) {
    const before = current(path)
    if (isSameState(before, after)) continue
    const reason = findObstacle(after)
    if (reason !== undefined) {
      plan.skipped.push({ path, reason })
      continue
    }
    if (!isSameState(before, latest.get(path)!)) plan.conflicts.push(path)
    plan.changes.push({ path, before, after })
  }
  addParents(plan, current)
  plan.changes.sort((a, b) => (a.path < b.path ? -1 : 1))
  return plan
}

/** A folder that a later command removed is made again above a restored file. */
function addParents(plan: RevertPlan, current: (path: string) => EntryState | null): void {
  const known = new Map(plan.changes.map(({ path, after }) => [path, after]))
  for (const { path, after } of [...plan.changes]) {
    if (after === null) continue
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const parent = path.slice(0, at)
      if (known.has(parent) || path.startsWith('/')) continue
      const before = current(parent)
      if (before?.kind === 'directory') break
      known.set(parent, { kind: 'directory', mode: 0o755 })
      plan.changes.push({ path: parent, before, after: { kind: 'directory', mode: 0o755 } })
    }
  }
}

function findObstacle(state: EntryState | null): string | undefined {
  if (state?.kind === 'special') return 'a pipe, socket or device is not restored'
  return state?.kind === 'file' && state.sha256 === undefined ? 'its content was not kept' : undefined
}

type Locate = (path: string) => { workspace: OpenWorkspace; inside: string }

/**
 * Gives each path its state `after`, whatever was done before: a revert that was killed can be applied again. Entries
 * are removed first, the deepest first; then folders are made, then files and links; modes of folders come last.
 */
export async function applyChanges(
  changes: readonly StateChange[],
  locate: Locate,
  readContent: (sha256: string) => Buffer | undefined,
): Promise<{ path: string; reason: string }[]> {
  const placer = new Placer(locate)
  const deepestFirst = [...changes].sort((a, b) => (a.path < b.path ? 1 : -1))
  await openFolders(placer, deepestFirst)
  for (const { path, after } of deepestFirst) {
    const kind = await placer.findKind(path)
    if (kind !== undefined && (after === null || (after.kind === 'directory') !== (kind === 'directory')))
      await placer.place(path, { kind: 'nothing' })
  }
  for (const { path, after } of changes)
    if (after?.kind === 'directory') await placer.place(path, { kind: 'directory', mode: after.mode | 0o700 })
  for (const { path, after } of changes) {
    if (after?.kind === 'link') await placer.place(path, { kind: 'link', target: after.target })
    if (after?.kind === 'file') await placer.placeFile(path, after, readContent(after.sha256!))
  }
  for (const { path, after } of deepestFirst)
    if (isClosedFolder(after)) await placer.place(path, { kind: 'directory', mode: after.mode })
  return placer.skipped
}

/** Lets the owner change what is in folders that a command closed. */
async function openFolders(placer: Placer, changes: readonly StateChange[]): Promise<void> {
  for (const { path, before } of changes)
    if (isClosedFolder(before) && (await placer.findKind(path)) === 'directory')
      await placer.place(path, { kind: 'directory', mode: before.mode | 0o700 })
}

/** Returns whether the owner may not change what is in a folder. */
const isClosedFolder = (state: EntryState | null): state is EntryState & { kind: 'directory' } =>
  state?.kind === 'directory' && (state.mode & 0o700) !== 0o700

/** Places entries and notes those that cannot be placed. */
class Placer {
  readonly skipped: { path: string; reason: string }[] = []

  constructor(private readonly locate: Locate) {}

  async place(path: string, state: PlacedEntry): Promise<void> {
    const { workspace, inside } = this.locate(path)
    try {
      if (await hasLinkedParent(workspace, inside)) throw new Error('a folder above it is a link')
      if (state.kind !== 'nothing' || (await workspace.stat(inside))) await workspace.place(inside, state)
    } catch (error) {
      this.skipped.push({ path, reason: (error as Error).message })
    }
  }

  async placeFile(path: string, { mode }: { mode: number }, bytes: Buffer | undefined): Promise<void> {
    if (bytes) await this.place(path, { kind: 'file', bytes, mode })
    else this.skipped.push({ path, reason: 'its kept content is lost' })
  }

  async findKind(path: string): Promise<string | undefined> {
    const { workspace, inside } = this.locate(path)
    return (await workspace.stat(inside).catch(() => undefined))?.kind
  }
}

async function hasLinkedParent(workspace: OpenWorkspace, path: string): Promise<boolean> {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
    if ((await workspace.stat(path.slice(0, at)))?.kind === 'link') return true
  return false
}
