import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { shownPath } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Operation, FileVersion, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'
import { countChangedLines, findMissingParents, recordChange, readVersion, type Step } from '../files/index.js'
import { bytesOf, type TreeChange, type TreeEntry } from './changes.js'
import { noWorktree, runStore, saidBy, type Worktree } from './place.js'

/** Why a file cannot be merged. */
export interface MergeFault {
  path: string
  reason: string
  /** The parts that both sides changed, with both of them, as git shows them. */
  hunks?: string
}
/** A file as it was merged. */
export interface MergedFile {
  path: string
  op: 'add' | 'update' | 'delete'
  /** Lines. */
  added: number
  removed: number
}
interface Planned {
  operation: Operation
  merged: MergedFile
}
type Place = Pick<Context, 'workspace' | 'session' | 'signal'>

/**
 * Brings changes of a worktree into the workspace, all or nothing, kept for undo: a file that is here as it was gets the bytes and the mode
 * of the worktree; of a text that changed on both sides the lines are put together as `git merge-file` does. Returns what changed here.
 * Throws VT_AGENT_MERGE_CONFLICT with every file that cannot be merged, and what a transaction throws.
 */
export async function mergeWorktree(
  author: { slot: string; id: string },
  { workspace, session, signal }: Place,
  tree: Worktree,
  changes: readonly TreeChange[],
): Promise<MergedFile[]> {
  if (changes.length === 0) return []
  await using _ = await workspace.lock(
    changes.map(({ path }) => path),
    signal,
  )
  const merge = new Merge(workspace, tree, signal)
  const planned = await merge.plan(changes)
  if (merge.faults.length > 0) throw conflict(merge.faults)
  if (planned.length === 0) return []
  const operations = [...planned]
    .sort((a, b) => Number(b.operation.op === 'remove') - Number(a.operation.op === 'remove'))
    .map(({ operation }) => operation)
  const steps = await Promise.all(operations.map((operation) => stepOf(operation, workspace)))
  await recordChange(author, { workspace, session }, steps, () => workspace.transact(operations))
  return planned.map(({ merged }) => merged)
}

/** What the record of the change says of one file. */
async function stepOf(operation: Operation, workspace: Workspace): Promise<Step> {
  const { path, expected } = operation
  const before =
    expected === 'nothing'
      ? undefined
      : { sha256: expected.sha256, mode: expected.stat.mode & 0o7777, bytes: expected.stat.bytes }
  if (operation.op === 'remove') return { op: 'remove', path, before: before! }
  return {
    op: 'write',
    path,
    ...(before && { before }),
    after: contentHash(operation.bytes),
    made: await findMissingParents(path, workspace),
  }
}

const mostShown = 20
function conflict(faults: readonly MergeFault[]): VtError {
  const lines = faults.slice(0, mostShown).map(({ path, reason }) => `'${shownPath(path)}' ${reason}`)
  const more = faults.length > mostShown ? `; and ${faults.length - mostShown} more` : ''
  return new VtError({
    code: 'VT_AGENT_MERGE_CONFLICT',
    message: `Nothing was merged: ${lines.join('; ')}${more}.`,
    hint: 'Merge the other files with merge: ["glob"], or make these changes yourself: the files of the agent are in its worktree.',
    retryable: false,
    details: { conflicts: faults.slice(0, mostShown).map((fault) => ({ ...fault })) },
  })
}

/** A file on one side: what it holds and whether it may be run. */
interface Side {
  oid: string
  runs: boolean
}
const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith('100')
const sideOf = (entry: TreeEntry | undefined): Side | undefined =>
  entry && { oid: entry.oid, runs: entry.mode === '100755' }
const same = (one: Side | undefined, other: Side | undefined): boolean =>
  one?.oid === other?.oid && one?.runs === other?.runs

/** What changed on one side alone; nothing where both changed. */
function picked<T>(before: T, here: T, now: T): { value: T } | undefined {
  if (here === now || before === now) return { value: here }
  return before === here ? { value: now } : undefined
}

class Merge {
  readonly faults: MergeFault[] = []
  private bytes = new Map<string, Buffer>()

  constructor(
    private readonly workspace: Workspace,
    private readonly tree: Worktree,
    private readonly signal: AbortSignal,
  ) {}

  /** What is to be done here, file by file; what cannot be done is among the faults. */
  async plan(changes: readonly TreeChange[]): Promise<Planned[]> {
    this.bytes = await bytesOf(
      this.workspace,
      this.tree,
      changes.flatMap(({ before, now }) => [before, now].flatMap((entry) => (entry && isFile(entry) ? entry.oid : []))),
      this.signal,
    )
    const planned: Planned[] = []
    for (const change of changes) {
      const one = await this.one(change)
      if (one) planned.push(one)
    }
    return planned
  }

  private fault(path: string, reason: string, hunks?: string): undefined {
    this.faults.push({ path, reason, ...(hunks !== undefined && { hunks }) })
    return undefined
  }

  private async one({ path, before, now }: TreeChange): Promise<Planned | undefined> {
    const strange = [before, now].find((entry) => entry && !isFile(entry))
    if (strange)
      return this.fault(
        path,
        strange.mode === '120000'
          ? 'is a link there, and links are not merged'
          : 'is a repository there, which is not merged',
      )
    const stat = await this.workspace.stat(path)
    if (stat && stat.kind !== 'file') return this.fault(path, `is a ${stat.kind} here`)
    const version = await readVersion(this.workspace, path)
    const here = version && { oid: this.oidOf(version.bytes!), runs: (version.stat.mode & 0o100) !== 0 }
    const [was, is] = [sideOf(before), sideOf(now)]
    if (same(here, is) || same(was, is)) return undefined
    if (same(here, was)) return this.taken(path, version, is)
    if (!is) return this.fault(path, 'was deleted by the agent and changed here')
    if (!here) return this.fault(path, 'was changed by the agent and deleted here')
    return this.together(path, version!, { was, here, is })
  }

  /** Here nothing changed: the side of the worktree is taken as it is. */
  private taken(path: string, version: FileVersion | undefined, is: Side | undefined): Planned | undefined {
    const old = Buffer.from(version?.bytes ?? Buffer.alloc(0))
    if (!is)
      return {
        operation: { op: 'remove', path, expected: version! },
        merged: { path, op: 'delete', ...counted(old, Buffer.alloc(0)) },
      }
    return this.written(path, version, this.bytes.get(is.oid)!, is.runs)
  }

  /** Nothing is to be done where that is what is here. */
  private written(path: string, version: FileVersion | undefined, bytes: Buffer, runs: boolean): Planned | undefined {
    const mode = version ? modeWith(version.stat.mode & 0o7777, runs) : runs ? 0o755 : 0o644
    if (version && mode === (version.stat.mode & 0o7777) && bytes.equals(version.bytes!)) return undefined
    const operation: Operation = { op: 'write', path, bytes, expected: version ?? 'nothing', mode }
    return {
      operation,
      merged: {
        path,
        op: version ? 'update' : 'add',
        ...counted(Buffer.from(version?.bytes ?? Buffer.alloc(0)), bytes),
      },
    }
  }

  /** Both sides changed. */
  private async together(
    path: string,
    version: FileVersion,
    { was, here, is }: { was: Side | undefined; here: Side; is: Side },
  ): Promise<Planned | undefined> {
    // Of a file that was nowhere before, each side says by itself whether it may be run.
    const runs = picked(was?.runs ?? here.runs, here.runs, is.runs)!.value
    const one = picked(was?.oid, here.oid, is.oid)
    if (one)
      return this.written(
        path,
        version,
        one.value === here.oid ? Buffer.from(version.bytes!) : this.bytes.get(one.value!)!,
        runs,
      )
    const [base, ours, theirs] = [
      was ? this.bytes.get(was.oid)! : Buffer.alloc(0),
      Buffer.from(version.bytes!),
      this.bytes.get(is.oid)!,
    ]
    if ([base, ours, theirs].some(isBinary)) return this.fault(path, 'is binary and was changed on both sides')
    const { bytes, hunks } = await this.texts(base, ours, theirs)
    if (hunks !== undefined)
      return this.fault(
        path,
        was ? 'was changed on both sides in the same lines' : 'was added on both sides, each with other lines',
        hunks,
      )
    return this.written(path, version, bytes, runs)
  }

  /** Three texts put together by git, byte for byte, or the parts that it cannot put together. */
  private async texts(base: Buffer, ours: Buffer, theirs: Buffer): Promise<{ bytes: Buffer; hunks?: string }> {
    const { workspace, tree, signal } = this
    const files = Object.entries({ here: ours, before: base, agent: theirs }).map(([name, bytes]) => {
      const file = join(tree.store, `merge-${name}`)
      writeFileSync(file, bytes, { mode: 0o600 })
      return file
    })
    const ended = await runStore(
      workspace,
      tree,
      ['merge-file', '-p', '-q', '-L', 'here', '-L', 'before', '-L', 'agent', ...files],
      { signal },
    )
    const { exit_code, output, message } = ended
    if (exit_code === 0) return { bytes: output }
    // The number of conflicts, or an error beyond it.
    if (exit_code === undefined || exit_code > 127) throw noWorktree(`git says: ${saidBy(message)}`)
    return { bytes: output, hunks: conflictsIn(output.toString()) }
  }

  /** The id that git gives to these bytes. */
  private oidOf(bytes: Uint8Array): string {
    return createHash(this.tree.commit.length === 64 ? 'sha256' : 'sha1')
      .update(`blob ${bytes.length}\0`)
      .update(bytes)
      .digest('hex')
  }
}

/** As git decides it: by a NUL near the beginning. */
const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, 8000).includes(0)
const modeWith = (mode: number, runs: boolean): number => (runs ? mode | ((mode & 0o444) >> 2) : mode & ~0o111)
const counted = (before: Buffer, after: Buffer): Pick<MergedFile, 'added' | 'removed'> =>
  countChangedLines(before, after) ?? { added: 0, removed: 0 }

const mostHunks = 4096
/** The parts between the marks of conflicts, with them. */
function conflictsIn(text: string): string {
  const parts: string[] = []
  let open = false
  for (const line of text.split('\n')) {
    if (line.startsWith('<<<<<<< here')) open = true
    if (open) parts.push(line)
    if (line.startsWith('>>>>>>> agent')) open = false
  }
  return parts.join('\n').slice(0, mostHunks)
}
