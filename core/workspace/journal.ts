import { createHash, randomBytes } from 'node:crypto'
import { isTemp, type Version, type Written } from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { systemRefusal, sha256, shownPath } from '../system/index.js'
import { isReserved } from './own_state.js'
import type { CommitPoint, Operation, Workspace } from './types.js'

// Several files change as one: what they become is put aside, then a mark, then the changes, then all of it goes. Without the mark
// nothing has happened yet; with it everything will, be it in the next process.

const folder = '.vtcode/journal'
const MAX_PLAN = 64 * 1_048_576

/** What changes files, and looks at them. */
type Files = Pick<Workspace, 'write' | 'remove' | 'read' | 'names' | 'stat' | 'openFile' | 'seal'> & {
  /** Itself, where no link has come in the way of these paths. */
  asNamed: (paths: readonly string[]) => Files
  /** Waits for whoever changes several files, or completes what somebody left. */
  holdJournal: () => Promise<AsyncDisposable>
  /** Puts away what lies among our own state and is not ours. */
  setAside: (path: string) => Promise<void>
}
/** One operation as the plan on disk says it; `staged` is the file that holds the new content. */
interface Planned {
  path: string
  before: string | null
  after: string | null
  mode?: number
  staged?: string
}

/** Carries out all operations or none. Throws VT_FILE_STALE, VT_PATH_EXISTS, VT_PATCH_RECOVERY and whatever writing throws. */
export async function transact(
  files: Files,
  whole: Files,
  operations: readonly Operation[],
  passCommit: CommitPoint,
): Promise<Written[]> {
  await using _ = await files.holdJournal()
  await recoverAll(whole)
  const [only] = operations
  if (only && operations.length === 1) return [await carryOut(files, only)].filter((done) => done !== undefined)
  const own = `${process.pid}-${randomBytes(6).toString('hex')}`
  const home = `${folder}/${own}-${files.seal.nameMark('journal', own)}`
  try {
    const plan: Planned[] = []
    for (const [index, operation] of operations.entries()) {
      passCommit('preparing')
      plan.push(await stage(files, operation, `${home}/${index}`))
    }
    await ignored(files)
    const text = JSON.stringify(plan)
    await files.write(`${home}/plan.json`, Buffer.from(text), 'nothing')
    for (const { path, over } of operations) await refuseOther(files, path, over)
    passCommit('changing')
    await files.write(`${home}/commit`, Buffer.from(files.seal.mark('plan', home, text)), 'nothing')
  } catch (error) {
    await files.remove(home, { recursive: true }).catch(() => {})
    throw error
  }
  return await carryOutAll(files, operations, home)
}

/** Completes committed changes and drops others; waits for a change that is active. Throws VT_PATCH_RECOVERY. */
export async function recover(files: Files): Promise<void> {
  try {
    if ((await journals(files)).length === 0) return
    await using _ = await files.holdJournal()
    await recoverAll(files)
  } catch (error) {
    throw systemRefusal(error, folder)
  }
}

async function carryOutAll(files: Files, operations: readonly Operation[], home: string): Promise<Written[]> {
  const written: Written[] = []
  const undo: (() => Promise<unknown>)[] = []
  try {
    for (const operation of operations) {
      undo.unshift(await reversal(files, operation))
      const done = await carryOut(files, operation)
      if (done) written.push(done)
    }
  } catch (error) {
    const stuck = await rollBack(undo)
    if (stuck.length === 0) {
      // Without its mark it is dropped by the next change, should it stay; with it the next change would complete what is put back.
      const dropped = files.remove(home, { recursive: true }).catch(() => files.remove(`${home}/commit`))
      await dropped.catch((reason: Error) => stuck.push(reason.message))
    }
    throw withState(error, stuck)
  }
  // All is done. A journal that cannot be taken away now is seen to be complete by the next change, and goes then.
  await files.remove(home, { recursive: true }).catch(() => {})
  return written
}

async function carryOut(files: Files, operation: Operation): Promise<Written | undefined> {
  if (operation.op === 'write') {
    const { path, bytes, over, mode } = operation
    return files.write(path, bytes, over, mode === undefined ? {} : { mode })
  }
  await refuseOther(files, operation.path, operation.over)
  await files.remove(operation.path)
  return undefined
}

/** What puts a file back as it is now; one that is so still is left alone. */
async function reversal(files: Files, { path, over }: Operation): Promise<() => Promise<unknown>> {
  if (over === 'nothing')
    return () => files.remove(path).catch((error: unknown) => (isMissing(error) ? undefined : Promise.reject(error)))
  const bytes = over.bytes ?? (await files.read(path))
  return async () =>
    (await hashAt(files, path)) !== over.sha256 && files.write(path, bytes, 'anything', { mode: over.stat.mode })
}

async function rollBack(undo: (() => Promise<unknown>)[]): Promise<string[]> {
  const stuck: string[] = []
  for (const run of undo) await run().catch((error: unknown) => stuck.push((error as Error).message))
  return stuck
}

/** An error that says where a failure while changing several files has left them. */
function withState(error: unknown, stuck: string[]): unknown {
  if (!(error instanceof VtError)) return error
  const { details } = error.problem
  if (stuck.length === 0) return new VtError({ ...error.problem, details: { ...details, rolled_back: true } })
  return new VtError({
    ...error.problem,
    hint: 'Some files could not be put back; the journal is kept and the next change completes it.',
    details: { ...details, rolled_back: false, not_rolled_back: stuck, not_applied: false },
  })
}

async function stage(files: Files, operation: Operation, staged: string): Promise<Planned> {
  const { path, over } = operation
  const before = over === 'nothing' ? null : over.sha256
  if (operation.op === 'remove') return { path, before, after: null }
  const { bytes, mode } = operation
  await files.write(staged, bytes, 'nothing', { mode: 0o600 })
  return { path, before, after: sha256(bytes), ...(mode !== undefined && { mode }), staged }
}

/** Throws VT_FILE_STALE unless the file is the version that was seen, or is still missing. */
async function refuseOther(files: Files, path: string, over: 'nothing' | Version): Promise<void> {
  const now = await hashAt(files, path)
  if (over === 'nothing' && now !== null) throw problem('VT_PATH_EXISTS', { path: shownPath(path) })
  if (over !== 'nothing' && now !== over.sha256) throw problem('VT_FILE_STALE', { path: shownPath(path) })
}

/** Returns our own journals. Others may have come with a repository: they are ignored. */
async function journals(files: Files): Promise<string[]> {
  const stat = await files.stat(folder)
  if (!stat) return []
  if (stat.kind !== 'directory') return files.setAside(folder).then(() => [])
  const ours: string[] = []
  for (const { name } of await files.names(folder)) {
    const [, own, mark] = /^(\d+-[0-9a-f]{12})-([0-9a-f]{12})$/.exec(name) ?? []
    if (own !== undefined && mark === files.seal.nameMark('journal', own)) ours.push(name)
    else if (name !== '.gitignore' && !isTemp(name)) await files.setAside(`${folder}/${name}`)
  }
  return ours
}

/** Whoever holds the lock sees only what nobody works on any more. */
async function recoverAll(files: Files): Promise<void> {
  for (const name of await journals(files)) await recoverOne(files, `${folder}/${name}`)
}

async function recoverOne(files: Files, home: string): Promise<void> {
  if (await files.stat(`${home}/commit`)) {
    // What is larger was not written by us, and is not read to find that out.
    const sizes = await Promise.all([`${home}/plan.json`, `${home}/commit`].map((path) => files.stat(path)))
    if (sizes.some((stat) => stat?.kind !== 'file' || stat.bytes > MAX_PLAN)) return files.setAside(home)
    const [text, mark] = [
      (await files.read(`${home}/plan.json`)).toString(),
      (await files.read(`${home}/commit`)).toString(),
    ]
    if (mark !== files.seal.mark('plan', home, text)) return files.setAside(home)
    const plan = JSON.parse(text) as Planned[]
    for (const { path } of plan) if (!(await isOurs(files, path))) throw unfinished(path, home)
    const states = await Promise.all(plan.map(({ path }) => hashAt(files, path)))
    const foreign = plan.find(({ before, after }, index) => states[index] !== before && states[index] !== after)
    if (foreign) throw unfinished(foreign.path, home)
    const named = files.asNamed(plan.map(({ path }) => path))
    for (const [index, { path, after, mode, staged }] of plan.entries()) {
      if (states[index] === after) continue
      if (staged === undefined) await named.remove(path)
      else
        await named.write(
          path,
          await content(files, staged, after, path, home),
          'anything',
          mode === undefined ? {} : { mode },
        )
    }
  }
  await files.remove(home, { recursive: true })
}

/** What was put aside for a file, if it is still that. */
async function content(
  files: Files,
  staged: string,
  after: string | null,
  path: string,
  home: string,
): Promise<Buffer> {
  const bytes = await files.read(staged)
  if (sha256(bytes) !== after) throw unfinished(path, home)
  return bytes
}

/**
 * Whether this may still be written without asking: not what no tool may write, git's and our own files, nor anything through a link,
 * which may have come since.
 */
async function isOurs(files: Files, path: string): Promise<boolean> {
  if (isReserved(path)) return false
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
    const stat = await files.stat(path.slice(0, end))
    if (stat && stat.kind !== 'directory' && !(end === path.length && stat.kind === 'file')) return false
  }
  return true
}

const unfinished = (path: string, journal: string): VtError =>
  problem('VT_PATCH_RECOVERY', { path: shownPath(path), journal }, { details: { path, journal } })

async function hashAt(files: Files, path: string): Promise<string | null> {
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

async function ignored(files: Files): Promise<void> {
  if (!(await files.stat(`${folder}/.gitignore`)))
    await files.write(`${folder}/.gitignore`, Buffer.from('*\n'), 'anything')
}

const isMissing = (error: unknown): boolean => error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND'
