import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { escapePath } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Operation, FileVersion, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'
import { countChangedLines, findMissingParents, recordChange, readVersion, type Step } from '../files/index.js'
import { readBlobs, type TreeChange, type TreeEntry } from './changes.js'
import { noWorktree, runStore, formatGitMessage, type Worktree } from './worktree.js'

/** A file that cannot be merged. */
export interface MergeFault {
  path: string
  reason: string
  /** Conflicting parts with the text of both sides, as git prints them. */
  hunks?: string
}
/** A merged file. */
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
type MergeContext = Pick<Context, 'workspace' | 'session' | 'signal'>

/**
 * Merges changes of a worktree into the workspace, all or nothing, and records them for undo. A file unchanged in the
 * workspace gets the bytes and mode of the worktree. Texts changed on both sides are merged as by `git merge-file`.
 * Returns the changed files. Throws VT_AGENT_MERGE_CONFLICT with every file that cannot be merged, and the errors of
 * a transaction.
 */
export async function mergeWorktree(
  author: { slot: string; id: string },
  { workspace, session, signal }: MergeContext,
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
  if (merge.faults.length > 0) throw createConflict(merge.faults)
  if (planned.length === 0) return []
  const operations = [...planned]
    .sort((a, b) => Number(b.operation.op === 'remove') - Number(a.operation.op === 'remove'))
    .map(({ operation }) => operation)
  const steps = await Promise.all(operations.map((operation) => toStep(operation, workspace)))
  await recordChange(author, { workspace, session }, steps, () => workspace.transact(operations))
  return planned.map(({ merged }) => merged)
}

/** Returns the step of one file for the record of the change. */
async function toStep(operation: Operation, workspace: Workspace): Promise<Step> {
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

const MAX_SHOWN = 20
function createConflict(faults: readonly MergeFault[]): VtError {
  const lines = faults.slice(0, MAX_SHOWN).map(({ path, reason }) => `'${escapePath(path)}' ${reason}`)
  const more = faults.length > MAX_SHOWN ? `; and ${faults.length - MAX_SHOWN} more` : ''
  return new VtError({
    code: 'VT_AGENT_MERGE_CONFLICT',
    message: `Nothing was merged: ${lines.join('; ')}${more}.`,
    hint:
      'Merge the other files with merge: ["glob"], ' +
      'or make these changes yourself: the files of the agent are in its worktree.',
    retryable: false,
    details: { conflicts: faults.slice(0, MAX_SHOWN).map((fault) => ({ ...fault })) },
  })
}

/** A file on one side: the id of its bytes and whether it is executable. */
interface Side {
  oid: string
  runs: boolean
}
const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith('100')
const toSide = (entry: TreeEntry | undefined): Side | undefined =>
  entry && { oid: entry.oid, runs: entry.mode === '100755' }
const isSameSide = (one: Side | undefined, other: Side | undefined): boolean =>
  one?.oid === other?.oid && one?.runs === other?.runs

/** Returns the value of the side that changed; `undefined` where both changed. */
function pickChanged<T>(before: T, here: T, now: T): { value: T } | undefined {
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

  /** Plans the change of each file; adds files that cannot be merged to the faults. */
  async plan(changes: readonly TreeChange[]): Promise<Planned[]> {
    this.bytes = await readBlobs(
      this.workspace,
      this.tree,
      changes.flatMap(({ before, now }) => [before, now].flatMap((entry) => (entry && isFile(entry) ? entry.oid : []))),
      this.signal,
    )
    const planned: Planned[] = []
    for (const change of changes) {
      const one = await this.planChange(change)
      if (one) planned.push(one)
    }
    return planned
  }

  private addFault(path: string, reason: string, hunks?: string): undefined {
    this.faults.push({ path, reason, ...(hunks !== undefined && { hunks }) })
    return undefined
  }

  private async planChange({ path, before, now }: TreeChange): Promise<Planned | undefined> {
    const strange = [before, now].find((entry) => entry && !isFile(entry))
    if (strange)
      return this.addFault(
        path,
        strange.mode === '120000'
          ? 'is a link in the worktree, and links are not merged'
          : 'is a repository in the worktree, and repositories are not merged',
      )
    const stat = await this.workspace.stat(path)
    if (stat && stat.kind !== 'file') return this.addFault(path, `is a ${stat.kind} here`)
    const version = await readVersion(this.workspace, path)
    const here = version && { oid: this.computeOid(version.bytes!), runs: (version.stat.mode & 0o100) !== 0 }
    const [was, is] = [toSide(before), toSide(now)]
    if (isSameSide(here, is) || isSameSide(was, is)) return undefined
    if (isSameSide(here, was)) return this.planOneSided(path, version, is)
    if (!is) return this.addFault(path, 'was deleted by the agent and changed here')
    if (!here) return this.addFault(path, 'was changed by the agent and deleted here')
    return this.planBothSides(path, version!, { was, here, is })
  }

  /** Plans the state of the worktree for a file unchanged in the workspace. */
  private planOneSided(path: string, version: FileVersion | undefined, is: Side | undefined): Planned | undefined {
    const old = Buffer.from(version?.bytes ?? Buffer.alloc(0))
    if (!is)
      return {
        operation: { op: 'remove', path, expected: version! },
        merged: { path, op: 'delete', ...countLines(old, Buffer.alloc(0)) },
      }
    return this.planWrite(path, version, this.bytes.get(is.oid)!, is.runs)
  }

  /** Plans a write; `undefined` if the workspace already has these bytes and this mode. */
  private planWrite(path: string, version: FileVersion | undefined, bytes: Buffer, runs: boolean): Planned | undefined {
    const mode = version ? toMode(version.stat.mode & 0o7777, runs) : runs ? 0o755 : 0o644
    if (version && mode === (version.stat.mode & 0o7777) && bytes.equals(version.bytes!)) return undefined
    const operation: Operation = { op: 'write', path, bytes, expected: version ?? 'nothing', mode }
    return {
      operation,
      merged: {
        path,
        op: version ? 'update' : 'add',
        ...countLines(Buffer.from(version?.bytes ?? Buffer.alloc(0)), bytes),
      },
    }
  }

  /** Plans the merge of a file that changed on both sides. */
  private async planBothSides(
    path: string,
    version: FileVersion,
    { was, here, is }: { was: Side | undefined; here: Side; is: Side },
  ): Promise<Planned | undefined> {
    // A new file has no base, so the mode of the workspace is used as the base.
    const runs = pickChanged(was?.runs ?? here.runs, here.runs, is.runs)!.value
    const one = pickChanged(was?.oid, here.oid, is.oid)
    if (one)
      return this.planWrite(
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
    if ([base, ours, theirs].some(isBinary)) return this.addFault(path, 'is binary and was changed on both sides')
    const { bytes, hunks } = await this.mergeTexts(base, ours, theirs)
    if (hunks !== undefined)
      return this.addFault(
        path,
        was ? 'was changed on both sides in the same lines' : 'was added on both sides with different lines',
        hunks,
      )
    return this.planWrite(path, version, bytes, runs)
  }

  /** Merges three texts by git, byte for byte; returns the conflicting parts as `hunks`. */
  private async mergeTexts(base: Buffer, ours: Buffer, theirs: Buffer): Promise<{ bytes: Buffer; hunks?: string }> {
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
    // The exit code is the number of conflicts, up to 127; a greater one is an error.
    if (exit_code === undefined || exit_code > 127) throw noWorktree(`git says: ${formatGitMessage(message)}`)
    return { bytes: output, hunks: findConflicts(output.toString()) }
  }

  /** Computes the id of these bytes in git. */
  private computeOid(bytes: Uint8Array): string {
    return createHash(this.tree.commit.length === 64 ? 'sha256' : 'sha1')
      .update(`blob ${bytes.length}\0`)
      .update(bytes)
      .digest('hex')
  }
}

/** Returns whether git treats the bytes as binary: a NUL near the beginning. */
const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, 8000).includes(0)
const toMode = (mode: number, runs: boolean): number => (runs ? mode | ((mode & 0o444) >> 2) : mode & ~0o111)
const countLines = (before: Buffer, after: Buffer): Pick<MergedFile, 'added' | 'removed'> =>
  countChangedLines(before, after) ?? { added: 0, removed: 0 }

const MAX_HUNKS_CHARS = 4096
/** Returns the parts between conflict markers, with the markers. */
function findConflicts(text: string): string {
  const parts: string[] = []
  let open = false
  for (const line of text.split('\n')) {
    if (line.startsWith('<<<<<<< here')) open = true
    if (open) parts.push(line)
    if (line.startsWith('>>>>>>> agent')) open = false
  }
  return parts.join('\n').slice(0, MAX_HUNKS_CHARS)
}
