import { createHash, randomBytes } from 'node:crypto'
import { isTempName, type FileVersion, type WriteResult } from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { toPathError, sha256, escapePath } from '../system/index.js'
import { isReserved } from './own_state.js'
import type { CommitPoint, Operation, PluginLimits, Workspace } from './types.js'

// A transaction stages the new contents, writes a commit mark, applies the changes and removes the journal. Before
// the mark nothing has changed. After the mark all changes happen, in the next process if need be.

const JOURNAL_FOLDER = '.vtcode/journal'
const MAX_PLAN_BYTES = 64 * 1_048_576

/** The part of a workspace that the journal uses. */
type Files = Pick<Workspace, 'write' | 'remove' | 'read' | 'listNames' | 'stat' | 'openFile' | 'seal'> & {
  /** Returns a view in which these paths and the folders above them are no links. */
  createLinkFreeView: (paths: readonly string[]) => Files
  /** Locks the journal against other transactions and recoveries. */
  lockJournal: () => Promise<AsyncDisposable>
  /** Moves a file that this program did not write out of its state. */
  quarantine: (path: string) => Promise<void>
}
/** One operation in the plan on disk. `staged` is the file with the new content. */
interface PlannedOperation {
  path: string
  before: string | null
  after: string | null
  mode?: number
  staged?: string
}

/** Returns the limits of a plugin with access to the journal. */
export const openJournal = (limits: PluginLimits): PluginLimits => ({
  isNamed: (path) => limits.isNamed(path),
  checkChange: async (change) =>
    change.entry.startsWith(`${JOURNAL_FOLDER}/`) && change.entry === change.resolved
      ? undefined
      : limits.checkChange(change),
})

/**
 * Applies all operations or none. Throws VT_FILE_STALE, VT_PATH_EXISTS, VT_PATCH_RECOVERY and the errors of `write`.
 */
export async function transact(
  files: Files,
  whole: Files,
  operations: readonly Operation[],
  passCommit: CommitPoint,
): Promise<WriteResult[]> {
  await using _ = await files.lockJournal()
  await recoverAll(whole)
  const [only] = operations
  if (only && operations.length === 1) return [await applyOperation(files, only)].filter((done) => done !== undefined)
  const own = `${process.pid}-${randomBytes(6).toString('hex')}`
  const home = `${JOURNAL_FOLDER}/${own}-${files.seal.nameMark('journal', own)}`
  try {
    const plan: PlannedOperation[] = []
    for (const [index, operation] of operations.entries()) {
      passCommit('preparing')
      plan.push(await stage(files, operation, `${home}/${index}`))
    }
    await writeGitignore(files)
    const text = JSON.stringify(plan)
    await files.write(`${home}/plan.json`, Buffer.from(text), 'nothing')
    for (const { path, expected } of operations) await refuseOtherVersion(files, path, expected)
    passCommit('changing')
    await files.write(`${home}/commit`, Buffer.from(files.seal.mark('plan', home, text)), 'nothing')
  } catch (error) {
    await files.remove(home, { recursive: true }).catch(() => {})
    throw error
  }
  return await applyAll(files, operations, home)
}

/** Completes committed transactions and drops others. Waits for an active one. Throws VT_PATCH_RECOVERY. */
export async function recover(files: Files): Promise<void> {
  try {
    if ((await listJournals(files)).length === 0) return
    await using _ = await files.lockJournal()
    await recoverAll(files)
  } catch (error) {
    throw toPathError(error, JOURNAL_FOLDER)
  }
}

async function applyAll(files: Files, operations: readonly Operation[], home: string): Promise<WriteResult[]> {
  const written: WriteResult[] = []
  const undo: (() => Promise<unknown>)[] = []
  try {
    for (const operation of operations) {
      undo.unshift(await createUndo(files, operation))
      const done = await applyOperation(files, operation)
      if (done) written.push(done)
    }
  } catch (error) {
    const stuck = await rollBack(undo)
    if (stuck.length === 0) {
      // The mark must go: the next transaction would complete a marked journal, and drops an unmarked one.
      const dropped = files.remove(home, { recursive: true }).catch(() => files.remove(`${home}/commit`))
      await dropped.catch((reason: Error) => stuck.push(reason.message))
    }
    throw addRollbackState(error, stuck)
  }
  // A journal that cannot be removed now is complete, and the next transaction removes it.
  await files.remove(home, { recursive: true }).catch(() => {})
  return written
}

async function applyOperation(files: Files, operation: Operation): Promise<WriteResult | undefined> {
  if (operation.op === 'write') {
    const { path, bytes, expected, mode } = operation
    return files.write(path, bytes, expected, mode === undefined ? {} : { mode })
  }
  await refuseOtherVersion(files, operation.path, operation.expected)
  await files.remove(operation.path)
  return undefined
}

/** Returns a function that restores the present state of a file, if the file has changed by then. */
async function createUndo(files: Files, { path, expected }: Operation): Promise<() => Promise<unknown>> {
  if (expected === 'nothing')
    return () => files.remove(path).catch((error: unknown) => (isMissing(error) ? undefined : Promise.reject(error)))
  const bytes = expected.bytes ?? (await files.read(path))
  return async () =>
    (await hashFile(files, path)) !== expected.sha256 &&
    files.write(path, bytes, 'anything', { mode: expected.stat.mode })
}

async function rollBack(undo: (() => Promise<unknown>)[]): Promise<string[]> {
  const stuck: string[] = []
  for (const run of undo) await run().catch((error: unknown) => stuck.push((error as Error).message))
  return stuck
}

/** Adds to an error whether all files were restored. */
function addRollbackState(error: unknown, stuck: string[]): unknown {
  if (!(error instanceof VtError)) return error
  const { details } = error.problem
  if (stuck.length === 0) return new VtError({ ...error.problem, details: { ...details, rolled_back: true } })
  return new VtError({
    ...error.problem,
    hint: 'Some files could not be put back; the journal is kept and the next change completes it.',
    details: { ...details, rolled_back: false, not_rolled_back: stuck, not_applied: false },
  })
}

async function stage(files: Files, operation: Operation, staged: string): Promise<PlannedOperation> {
  const { path, expected } = operation
  const before = expected === 'nothing' ? null : expected.sha256
  if (operation.op === 'remove') return { path, before, after: null }
  const { bytes, mode } = operation
  await files.write(staged, bytes, 'nothing', { mode: 0o600 })
  return { path, before, after: sha256(bytes), ...(mode !== undefined && { mode }), staged }
}

/** Throws VT_FILE_STALE for another version, VT_PATH_EXISTS for a file that should be missing. */
async function refuseOtherVersion(files: Files, path: string, expected: 'nothing' | FileVersion): Promise<void> {
  const now = await hashFile(files, path)
  if (expected === 'nothing' && now !== null) throw problem('VT_PATH_EXISTS', { path: escapePath(path) })
  if (expected !== 'nothing' && now !== expected.sha256) throw problem('VT_FILE_STALE', { path: escapePath(path) })
}

/** Returns the journals with a mark of this program. Others may come from a repository: they are quarantined. */
async function listJournals(files: Files): Promise<string[]> {
  const stat = await files.stat(JOURNAL_FOLDER)
  if (!stat) return []
  if (stat.kind !== 'directory') return files.quarantine(JOURNAL_FOLDER).then(() => [])
  const ours: string[] = []
  for (const { name } of await files.listNames(JOURNAL_FOLDER)) {
    const [, own, mark] = /^(\d+-[0-9a-f]{12})-([0-9a-f]{12})$/.exec(name) ?? []
    if (own !== undefined && mark === files.seal.nameMark('journal', own)) ours.push(name)
    else if (name !== '.gitignore' && !isTempName(name)) await files.quarantine(`${JOURNAL_FOLDER}/${name}`)
  }
  return ours
}

/** Recovers all journals. Under the lock no journal belongs to an active transaction. */
async function recoverAll(files: Files): Promise<void> {
  for (const name of await listJournals(files)) await recoverOne(files, `${JOURNAL_FOLDER}/${name}`)
}

async function recoverOne(files: Files, home: string): Promise<void> {
  if (await files.stat(`${home}/commit`)) {
    // A larger file is not read: this program writes no larger plan.
    const sizes = await Promise.all([`${home}/plan.json`, `${home}/commit`].map((path) => files.stat(path)))
    if (sizes.some((stat) => stat?.kind !== 'file' || stat.bytes > MAX_PLAN_BYTES)) return files.quarantine(home)
    const [text, mark] = [
      (await files.read(`${home}/plan.json`)).toString(),
      (await files.read(`${home}/commit`)).toString(),
    ]
    if (mark !== files.seal.mark('plan', home, text)) return files.quarantine(home)
    const plan = JSON.parse(text) as PlannedOperation[]
    for (const { path } of plan) if (!(await canRecover(files, path))) throw recoveryError(path, home)
    const states = await Promise.all(plan.map(({ path }) => hashFile(files, path)))
    const foreign = plan.find(({ before, after }, index) => states[index] !== before && states[index] !== after)
    if (foreign) throw recoveryError(foreign.path, home)
    const named = files.createLinkFreeView(plan.map(({ path }) => path))
    for (const [index, { path, after, mode, staged }] of plan.entries()) {
      if (states[index] === after) continue
      if (staged === undefined) await named.remove(path)
      else
        await named.write(
          path,
          await readStaged(files, staged, after, path, home),
          'anything',
          mode === undefined ? {} : { mode },
        )
    }
  }
  await files.remove(home, { recursive: true })
}

/** Reads a staged content and compares it with its digest. Throws VT_PATCH_RECOVERY. */
async function readStaged(
  files: Files,
  staged: string,
  after: string | null,
  path: string,
  home: string,
): Promise<Buffer> {
  const bytes = await files.read(staged)
  if (sha256(bytes) !== after) throw recoveryError(path, home)
  return bytes
}

/**
 * Returns whether recovery may write a path without a question. State of git and of this program is excluded, and so
 * is any path with a link, which may be newer than the plan.
 */
async function canRecover(files: Files, path: string): Promise<boolean> {
  if (isReserved(path)) return false
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
    const stat = await files.stat(path.slice(0, end))
    if (stat && stat.kind !== 'directory' && !(end === path.length && stat.kind === 'file')) return false
  }
  return true
}

const recoveryError = (path: string, journal: string): VtError =>
  problem('VT_PATCH_RECOVERY', { path: escapePath(path), journal }, { details: { path, journal } })

async function hashFile(files: Files, path: string): Promise<string | null> {
  try {
    await using file = await files.openFile(path)
    const hash = createHash('sha256')
    const chunk = Buffer.allocUnsafe(Math.min(file.stat.bytes, 1024 * 1024))
    for (let at = 0, piece; (piece = await file.read(at, chunk.length, chunk)).length > 0; at += piece.length)
      hash.update(piece)
    return hash.digest('hex')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function writeGitignore(files: Files): Promise<void> {
  if (!(await files.stat(`${JOURNAL_FOLDER}/.gitignore`)))
    await files.write(`${JOURNAL_FOLDER}/.gitignore`, Buffer.from('*\n'), 'anything')
}

const isMissing = (error: unknown): boolean => error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND'
