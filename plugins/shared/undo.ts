import { problem, VtError, type Operation, type Workspace } from '../../core/index.js'
import { checkpoints, type Checkpoint, type Kept, type Step } from './history.js'
import { sha256 } from './target.js'

/** A checkpoint with the folder that keeps it. */
export interface Undoable {
  folder: string
  checkpoint: Checkpoint
}

/** What can be undone, the latest first. */
export async function undoable(workspace: Workspace): Promise<Undoable[]> {
  const found: Undoable[] = []
  for (const { path: folder } of (await checkpoints(workspace)).reverse()) {
    const record = await workspace.text(`${folder}/record.json`).catch(() => undefined)
    if (record !== undefined) found.push({ folder, checkpoint: JSON.parse(record) as Checkpoint })
  }
  return found
}

/**
 * Puts back what a checkpoint replaced, all of it or nothing. Throws VT_FILE_STALE where a file is not as the call left it,
 * VT_PATH_EXISTS where something took the old name.
 */
export async function undo(workspace: Workspace, { folder, checkpoint }: Undoable): Promise<void> {
  const { steps } = checkpoint
  const paths = steps.flatMap((step) => ('path' in step ? [step.path] : [step.from, step.to]))
  for (const path of paths) await refuseForeign(workspace, path)
  await using _ = await workspace.lock(paths)
  const operations: Operation[] = []
  for (const [index, step] of steps.entries()) {
    const operation = await putBack(workspace, step, `${folder}/${index}`)
    if (operation) operations.push(operation)
  }
  if (operations.length > 0) await workspace.transact(operations)
  for (const folder of steps.flatMap((step) => ('made' in step ? step.made : [])).reverse()) await workspace.remove(folder).catch(() => {})
  await workspace.remove(folder, { recursive: true })
}

/** The operation that takes a step back; what is no file is put back at once. */
async function putBack(workspace: Workspace, step: Step, kept: string): Promise<Operation | undefined> {
  switch (step.op) {
    case 'write': {
      const over = await seen(workspace, step.path, step.after)
      return step.before ? { ...(await restored(workspace, step.path, kept, step.before)), over } : { op: 'remove', path: step.path, over }
    }
    case 'remove':
      return restored(workspace, step.path, kept, step.before)
    case 'take':
      await workspace.rename(kept, step.path)
      return undefined
    case 'rename':
      await workspace.rename(step.to, step.from)
      return step.before && restored(workspace, step.to, kept, step.before)
    case 'create': {
      const { entries, bytes } = await workspace.measure(step.path)
      if (entries !== step.entries || bytes !== step.bytes) throw problem('VT_FILE_STALE', { path: step.path })
      await workspace.remove(step.path, { recursive: true })
      return undefined
    }
  }
}

async function restored(workspace: Workspace, path: string, kept: string, { sha256: hash, mode }: Kept): Promise<Operation & { op: 'write' }> {
  const bytes = await workspace.read(kept)
  if (sha256(bytes) !== hash) throw problem('VT_FILE_IO', { path, reason: 'what was kept of it is damaged' })
  return { op: 'write', path, bytes, over: 'nothing', mode }
}

/** The version a call left, if it is still there. */
async function seen(workspace: Workspace, path: string, expected: string) {
  await using file = await workspace.openFile(path)
  const hash = sha256(await file.read(0, file.stat.bytes))
  if (hash !== expected) throw problem('VT_FILE_STALE', { path }, { hint: 'It was changed since; undo that first, or restore the file by hand.' })
  return { stat: file.stat, sha256: hash }
}

/** A history may have come with a repository: what no tool may write is not restored from it. */
async function refuseForeign(workspace: Workspace, path: string): Promise<void> {
  const names = path.toLowerCase().split('/')
  const outside = names.includes('.git') || (names[0] === '.vtcode' && names[1] !== 'plans')
  if (outside || (await resolvedParent(workspace, path))) throw problem('VT_PATH_OUTSIDE', { path })
}

/** Whether a link leads to the folder of a path: no checkpoint of ours says so. */
async function resolvedParent(workspace: Workspace, path: string): Promise<boolean> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if ((await workspace.stat(path.slice(0, end)))?.kind === 'link') return true
  }
  return false
}

/** An error in words for a person. */
export const explained = (error: unknown): string => (error instanceof VtError ? `${error.message} ${error.problem.hint}` : (error as Error).message)
