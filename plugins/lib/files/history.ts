import { randomBytes } from 'node:crypto'
import { problem } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { openCheckpoints } from '../checkpoints/index.js'

// Each changing call keeps the replaced content below .vtcode/history/<session>/<checkpoint>/. record.json describes
// the steps; a file named by the index of a step holds the earlier content. A checkpoint is written before any change.

export const historyFolder = '.vtcode/history'
/** Larger entries are removed for good. */
export const MAX_KEPT = { entries: 20_000, bytes: 256 * 1024 * 1024 }
/** Limits of the history in number, size and age. The oldest checkpoints are removed first. */
const HISTORY_LIMITS = { checkpoints: 1000, bytes: 512 * 1024 * 1024, ageMs: 30 * 24 * 60 * 60 * 1000 }

/** State of a file before or after a step. */
export interface KeptFile {
  sha256: string
  mode: number
  bytes: number
}
export type Step =
  /**
   * A file got new content. `before` is kept, absent for a new file. `made` lists the created directories, outermost
   * first.
   */
  | { op: 'write'; path: string; before?: KeptFile; after: string; made: string[] }
  /** A file was removed and is kept. */
  | { op: 'remove'; path: string; before: KeptFile }
  /** A directory or a link was moved into the checkpoint unchanged. */
  | { op: 'take'; path: string; bytes: number }
  /** An entry was renamed. A replaced file is kept. */
  | { op: 'rename'; from: string; to: string; before?: KeptFile; made: string[] }
  /** A directory or a link was copied to `path`. */
  | { op: 'create'; path: string; entries: number; bytes: number; made: string[] }

export interface Checkpoint {
  id: string
  slot: string
  session: string
  time: string
  steps: Step[]
}

/** The author of a change: the slot and the id of its call. */
export interface Author {
  slot: string
  id: string
}
interface SessionScope {
  workspace: Workspace
  session: { id: string }
}
/** Returns the folder with the checkpoints of a session. */
export const toHistoryFolder = (session: string): string => `${historyFolder}/${session.replace(/[^\w.-]|^\.+/g, '_')}`

/**
 * Runs `change` and keeps the replaced content for undo. A failed change removes the checkpoint. `folder` is where a
 * step may move entries. `kept` names files that were already kept because the change could not wait, by index of the
 * step; `contents` if the checkpoints of commands have them by their hash.
 */
export async function recordChange<T>(
  { slot, id }: Author,
  { workspace, session }: SessionScope,
  steps: Step[],
  change: (folder: string) => Promise<T>,
  kept?: string[] | 'contents',
): Promise<T> {
  const bytes = kept === 'contents' ? 0 : steps.reduce((sum, step) => sum + countKeptBytes(step), 0)
  const name = `${String(Date.now()).padStart(14, '0')}-${randomBytes(3).toString('hex')}-${bytes}`
  const home = toHistoryFolder(session.id)
  const folder = `${home}/${name}-${workspace.seal.nameMark('checkpoint', `${home}/${name}`)}`
  const record: Checkpoint = { id, slot, session: session.id, time: new Date().toISOString(), steps }
  try {
    await writeIgnoreFile(workspace)
    for (const [index, step] of kept === 'contents' ? [] : steps.entries()) {
      if ('before' in step && step.before)
        await workspace.linkOrCopy(kept?.[index] ?? ('to' in step ? step.to : step.path), `${folder}/${index}`)
    }
    await workspace.write(
      `${folder}/record.json`,
      Buffer.from(workspace.seal.write('checkpoint', folder, record)),
      'nothing',
      { mode: 0o600 },
    )
    return await change(folder)
  } catch (error) {
    await workspace.remove(folder, { recursive: true }).catch(() => {})
    throw error
  } finally {
    await prune(workspace)
  }
}

const countKeptBytes = (step: Step): number =>
  step.op === 'take' ? step.bytes : 'before' in step && step.before ? step.before.bytes : 0

/** Returns the missing directories above `path`, outermost first. */
export async function findMissingParents(path: string, workspace: Workspace): Promise<string[]> {
  const missing: string[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const parent = path.slice(0, at)
    if (await workspace.stat(parent)) break
    missing.unshift(parent)
  }
  return missing
}

/** A checkpoint folder with its time (milliseconds) and the bytes that it keeps. */
export interface CheckpointFolder {
  path: string
  time: number
  bytes: number
}

/** Lists all checkpoint folders of the workspace, oldest first. */
export async function listCheckpoints(workspace: Workspace): Promise<CheckpointFolder[]> {
  const found: CheckpointFolder[] = []
  for (const session of await workspace.listNames(historyFolder).catch(() => [])) {
    if (session.kind === 'directory')
      found.push(...(await listSessionCheckpoints(workspace, `${historyFolder}/${session.name}`)))
  }
  return found.sort(compareAge)
}

/** Lists the checkpoint folders of one session, oldest first. */
export async function listSessionCheckpoints(workspace: Workspace, folder: string): Promise<CheckpointFolder[]> {
  const names = await workspace.listNames(folder).catch(() => [])
  const found = names.flatMap(({ name }): CheckpointFolder[] => {
    const [, own, time, bytes, mark] = /^((\d{14})-[0-9a-f]{6}-(\d+))-([0-9a-f]{12})$/.exec(name) ?? []
    // Folders without our mark are ignored: a repository may have provided them.
    return time && mark === workspace.seal.nameMark('checkpoint', `${folder}/${own}`)
      ? [{ path: `${folder}/${name}`, time: Number(time), bytes: Number(bytes) }]
      : []
  })
  return found.sort(compareAge)
}

/** Moves foreign entries out of the history: single entries, or a whole session folder without a checkpoint of ours. */
export async function dropForeign(workspace: Workspace): Promise<void> {
  for (const { name: session, kind } of await workspace.listNames(historyFolder).catch(() => [])) {
    if (kind !== 'directory') continue
    const home = `${historyFolder}/${session}`
    const ours = new Set((await listSessionCheckpoints(workspace, home)).map(({ path }) => path))
    const others = (await workspace.listNames(home).catch(() => [])).filter(
      ({ name }) => name !== 'copies' && !ours.has(`${home}/${name}`),
    )
    const foreign = ours.size === 0 && others.length > 0 ? [home] : others.map(({ name }) => `${home}/${name}`)
    for (const path of foreign) await workspace.quarantine(path)
  }
}

/** Reads the former content of a step: its own copy at `kept`, or that of the checkpoints of commands. */
export async function readKept(
  workspace: Workspace,
  kept: string,
  sha256: string | undefined,
  range?: { length: number },
): Promise<Buffer> {
  if (sha256 === undefined || (await workspace.stat(kept))) return workspace.read(kept, range)
  const bytes = openCheckpoints(workspace.root, workspace.home).readContent(sha256)
  if (!bytes) throw problem('VT_FILE_IO', { path: kept, reason: 'the kept copy is missing' })
  return bytes
}

/** Reads the record of a checkpoint; `undefined` if its seal does not match. */
export async function readCheckpoint(workspace: Workspace, folder: string): Promise<Checkpoint | undefined> {
  const text = await workspace.readText(`${folder}/record.json`).catch(() => '')
  return workspace.seal.read('checkpoint', folder, text) as Checkpoint | undefined
}

const compareAge = (a: CheckpointFolder, b: CheckpointFolder): number => a.time - b.time || (a.path < b.path ? -1 : 1)

async function writeIgnoreFile(workspace: Workspace): Promise<void> {
  if (await workspace.stat(`${historyFolder}/.gitignore`)) return
  await workspace.write(`${historyFolder}/.gitignore`, Buffer.from('*\n'), 'anything').catch(() => {})
}

let sincePrune = 0

/** Removes checkpoints beyond the limits and empty session folders. Runs on every 50th call. */
async function prune(workspace: Workspace): Promise<void> {
  if (sincePrune++ % 50 !== 0) return
  const all = await listCheckpoints(workspace)
  let bytes = all.reduce((sum, checkpoint) => sum + checkpoint.bytes, 0)
  let count = all.length
  for (const checkpoint of all) {
    const old = Date.now() - checkpoint.time > HISTORY_LIMITS.ageMs
    if (!old && count <= HISTORY_LIMITS.checkpoints && bytes <= HISTORY_LIMITS.bytes) break
    await workspace.remove(checkpoint.path, { recursive: true }).catch(() => {})
    bytes -= checkpoint.bytes
    count--
  }
  for (const { name } of await workspace.listNames(historyFolder).catch(() => [])) {
    const stat = await workspace.stat(`${historyFolder}/${name}`)
    // Only old folders are removed: another process may be about to write into a new one.
    if (stat?.kind === 'directory' && Date.now() - stat.mtime_ms > 60 * 60 * 1000) {
      await workspace.remove(`${historyFolder}/${name}`).catch(() => {})
    }
  }
}
