import { problem, VtError } from '../../../core/shapes/index.js'
import { renderPlainText } from '../../../core/input/index.js'
import type { OpenWorkspace, Operation, FileVersion, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'
import {
  readCheckpoint,
  readKept,
  listCheckpoints,
  listSessionCheckpoints,
  toHistoryFolder,
  type Checkpoint,
  type KeptFile,
  type Step,
} from './history.js'

/** A checkpoint with the folder that keeps it. */
export interface Undoable {
  folder: string
  checkpoint: Checkpoint
}

/** Lists undoable changes, latest first. */
export async function listUndoable(workspace: Workspace): Promise<Undoable[]> {
  const found: Undoable[] = []
  for (const { path: folder } of (await listCheckpoints(workspace)).reverse()) {
    const checkpoint = await readCheckpoint(workspace, folder)
    if (checkpoint) found.push({ folder, checkpoint })
  }
  return found
}

/** Returns the latest change of a session. */
export async function findLatestChange(workspace: Workspace, session: string): Promise<Undoable | undefined> {
  const { path: folder } = (await listSessionCheckpoints(workspace, toHistoryFolder(session))).at(-1) ?? {}
  const checkpoint = folder === undefined ? undefined : await readCheckpoint(workspace, folder)
  return checkpoint && { folder: folder!, checkpoint }
}

/**
 * Restores the content that a checkpoint replaced, all or nothing. Restored files stay, so the next undo completes an
 * interrupted one. Throws VT_FILE_STALE where a file changed after the call, VT_PATH_EXISTS where the old name is
 * taken.
 */
export async function undo(whole: OpenWorkspace, { folder, checkpoint }: Undoable): Promise<void> {
  const { steps } = checkpoint
  const paths = steps.flatMap((step) => ('path' in step ? [step.path] : [step.from, step.to]))
  for (const path of paths) await refuseForeign(whole, path)
  // A running command may redirect these paths at any moment.
  const workspace = whole.createLinkFreeView(paths)
  await using _ = await workspace.lock(paths)
  try {
    const operations: Operation[] = []
    for (const [index, step] of steps.entries()) {
      const operation = await putBack(workspace, step, `${folder}/${index}`)
      if (operation) operations.push(operation)
    }
    if (operations.length > 0) await workspace.transact(operations)
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_EXISTS') throw error
    const hint = 'Move or delete the file that has this name now, then undo again.'
    throw new VtError({ ...error.problem, hint })
  }
  for (const made of steps.flatMap((step) => ('made' in step ? step.made : [])).reverse())
    await workspace.remove(made).catch(() => {})
  await workspace.remove(folder, { recursive: true })
}

/** Returns the operation that undoes a step. Entries other than files are restored immediately. */
async function putBack(workspace: Workspace, step: Step, kept: string): Promise<Operation | undefined> {
  switch (step.op) {
    case 'write':
      return putBackWritten(workspace, step, kept)
    case 'remove': {
      const { path, before } = step
      const now = await readVersion(workspace, path)
      return now?.sha256 === before.sha256 ? undefined : createRestore(workspace, path, kept, before)
    }
    case 'take':
      if (await workspace.stat(kept)) await workspace.rename(kept, step.path)
      else if (!(await workspace.stat(step.path)))
        throw problem('VT_FILE_IO', { path: step.path, reason: 'the kept copy is missing' })
      return undefined
    case 'rename':
      return putBackRenamed(workspace, step, kept)
    case 'create': {
      if (!(await workspace.stat(step.path))) return undefined
      const { entries, bytes } = await workspace.measure(step.path)
      if (entries !== step.entries || bytes !== step.bytes) throw createChangedError(step.path)
      await workspace.remove(step.path, { recursive: true })
      return undefined
    }
  }
}

type PutBack = Promise<Operation | undefined>
type StepOf<Op extends Step['op']> = Extract<Step, { op: Op }>

async function putBackWritten(workspace: Workspace, { path, before, after }: StepOf<'write'>, kept: string): PutBack {
  const now = await readVersion(workspace, path)
  // A change may affect the mode alone.
  const hasMode = now === undefined || (now.stat.mode & 0o7777) === before?.mode
  if (now?.sha256 === before?.sha256 && hasMode) return undefined
  if (now?.sha256 !== after) throw createChangedError(path)
  return before
    ? { ...(await createRestore(workspace, path, kept, before)), expected: now }
    : { op: 'remove', path, expected: now }
}

async function putBackRenamed(workspace: Workspace, { from, to, before }: StepOf<'rename'>, kept: string): PutBack {
  // After an interrupted move the file has both names.
  if (await isSameEntry(workspace, from, to)) await workspace.remove(to)
  // The old name exists, so the move is undone. The new name is done too once its earlier content is back.
  const back = (await workspace.stat(from)) !== undefined
  const now = back ? await readVersion(workspace, to) : undefined
  if (back && now?.sha256 === before?.sha256) return undefined
  if (!back || now) await workspace.rename(to, from)
  return before && createRestore(workspace, to, kept, before)
}

async function isSameEntry(workspace: Workspace, one: string, other: string): Promise<boolean> {
  const [a, b] = [await workspace.stat(one), await workspace.stat(other)]
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
}

/** Returns the operation that writes the kept content of a file. */
async function createRestore(workspace: Workspace, path: string, kept: string, { sha256: hash, mode }: KeptFile) {
  const bytes = await readKept(workspace, kept, hash)
  if (contentHash(bytes) !== hash) throw problem('VT_FILE_IO', { path, reason: 'the kept copy is damaged' })
  return { op: 'write' as const, path, bytes, expected: 'nothing' as const, mode }
}

/** Returns the current version of a file; `undefined` if missing. Throws VT_FILE_STALE for any other entry. */
export async function readVersion(workspace: Workspace, path: string): Promise<FileVersion | undefined> {
  const stat = await workspace.stat(path)
  if (!stat) return undefined
  if (stat.kind !== 'file') throw createChangedError(path)
  await using file = await workspace.openFile(path)
  const bytes = await file.read(0, file.stat.bytes)
  return { stat: file.stat, sha256: contentHash(bytes), bytes }
}

const createChangedError = (path: string): VtError =>
  problem(
    'VT_FILE_STALE',
    { path },
    { hint: 'The file was changed after this call; undo the later change first, or restore the file by hand.' },
  )

/** Refuses a path that no tool may write: a repository may have provided the history. */
export async function refuseForeign(workspace: Workspace, path: string): Promise<void> {
  const names = path.toLowerCase().split('/')
  const outside = names.includes('.git') || (names[0] === '.vtcode' && names[1] !== 'plans')
  if (outside || (await hasLinkedParent(workspace, path))) throw problem('VT_PATH_OUTSIDE', { path })
}

/** Checks whether a parent folder is a link. Checkpoints of this program never contain such paths. */
async function hasLinkedParent(workspace: Workspace, path: string): Promise<boolean> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if ((await workspace.stat(path.slice(0, end)))?.kind === 'link') return true
  }
  return false
}

/** Formats an error for a person. */
export const explainError = (error: unknown): string =>
  error instanceof VtError ? `${error.message} ${renderPlainText(error.problem.hint)}` : (error as Error).message
