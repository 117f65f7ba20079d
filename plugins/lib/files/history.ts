import { randomBytes } from 'node:crypto'
import type { Workspace } from '../../../core/workspace/index.js'

// What a changing call replaces is kept below .vtcode/history/<session>/<checkpoint>/: record.json says what was done, a file
// named by the index of a step holds what was there before. A checkpoint is written before anything changes.

export const historyFolder = '.vtcode/history'
/** What is larger is removed for good. */
export const MAX_KEPT = { entries: 20_000, bytes: 256 * 1024 * 1024 }
/** What history holds at most, by number, size and age; the oldest goes first. */
const HISTORY_LIMITS = { checkpoints: 1000, bytes: 512 * 1024 * 1024, ageMs: 30 * 24 * 60 * 60 * 1000 }

/** A file as a step left or found it. */
export interface KeptFile {
  sha256: string
  mode: number
  bytes: number
}
export type Step =
  /** A file got new content; `before` is kept, absent if it is new. `made` are the directories made for it, outermost first. */
  | { op: 'write'; path: string; before?: KeptFile; after: string; made: string[] }
  /** A file was removed, and is kept. */
  | { op: 'remove'; path: string; before: KeptFile }
  /** A directory or a link was removed: it lies in the checkpoint as it was. */
  | { op: 'take'; path: string; bytes: number }
  /** An entry got another name; what had that name before is kept. */
  | { op: 'rename'; from: string; to: string; before?: KeptFile; made: string[] }
  /** A directory or a link was copied there. */
  | { op: 'create'; path: string; entries: number; bytes: number; made: string[] }

export interface Checkpoint {
  id: string
  slot: string
  session: string
  time: string
  steps: Step[]
}

/** Who changes something: the slot, the id of its call, the session. */
export interface Author {
  slot: string
  id: string
}
interface SessionScope {
  workspace: Workspace
  session: { id: string }
}
/** Where the checkpoints of a session lie. */
export const toHistoryFolder = (session: string): string => `${historyFolder}/${session.replace(/[^\w.-]|^\.+/g, '_')}`

/**
 * Runs `change` with what it replaces kept for undo. If it fails the checkpoint goes again. `folder` is where a step may move things.
 * What was kept already, because the change could not wait, is named by `kept`, the file for each step.
 */
export async function recordChange<T>(
  { slot, id }: Author,
  { workspace, session }: SessionScope,
  steps: Step[],
  change: (folder: string) => Promise<T>,
  kept?: string[],
): Promise<T> {
  const bytes = steps.reduce((sum, step) => sum + countKeptBytes(step), 0)
  const name = `${String(Date.now()).padStart(14, '0')}-${randomBytes(3).toString('hex')}-${bytes}`
  const home = toHistoryFolder(session.id)
  const folder = `${home}/${name}-${workspace.seal.nameMark('checkpoint', `${home}/${name}`)}`
  const record: Checkpoint = { id, slot, session: session.id, time: new Date().toISOString(), steps }
  try {
    await writeIgnoreFile(workspace)
    for (const [index, step] of steps.entries()) {
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

/** The directories that a file at `path` would need and that are not there, outermost first. */
export async function findMissingParents(path: string, workspace: Workspace): Promise<string[]> {
  const missing: string[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const parent = path.slice(0, at)
    if (await workspace.stat(parent)) break
    missing.unshift(parent)
  }
  return missing
}

/** The folder of a checkpoint, when it was made and how much it keeps. */
export interface CheckpointFolder {
  path: string
  time: number
  bytes: number
}

/** Every checkpoint folder of the workspace, oldest first. */
export async function checkpoints(workspace: Workspace): Promise<CheckpointFolder[]> {
  const found: CheckpointFolder[] = []
  for (const session of await workspace.listNames(historyFolder).catch(() => [])) {
    if (session.kind === 'directory')
      found.push(...(await listSessionCheckpoints(workspace, `${historyFolder}/${session.name}`)))
  }
  return found.sort(compareAge)
}

/** Those of one session. */
export async function listSessionCheckpoints(workspace: Workspace, folder: string): Promise<CheckpointFolder[]> {
  const names = await workspace.listNames(folder).catch(() => [])
  const found = names.flatMap(({ name }): CheckpointFolder[] => {
    const [, own, time, bytes, mark] = /^((\d{14})-[0-9a-f]{6}-(\d+))-([0-9a-f]{12})$/.exec(name) ?? []
    // What is not ours is neither undone nor removed: a repository may have brought it.
    return time && mark === workspace.seal.nameMark('checkpoint', `${folder}/${own}`)
      ? [{ path: `${folder}/${name}`, time: Number(time), bytes: Number(bytes) }]
      : []
  })
  return found.sort(compareAge)
}

/** What lies among the checkpoints and is none of ours is put aside, the folder of a session as a whole where none in it is. */
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

/** The record of a checkpoint, if it is as it was written. */
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

/** Removes the oldest checkpoints beyond the bounds, and the folders of sessions that have none left; looked after now and then. */
async function prune(workspace: Workspace): Promise<void> {
  if (sincePrune++ % 50 !== 0) return
  const all = await checkpoints(workspace)
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
    // Only what has been still for long: another process may be about to put something there.
    if (stat?.kind === 'directory' && Date.now() - stat.mtime_ms > 60 * 60 * 1000) {
      await workspace.remove(`${historyFolder}/${name}`).catch(() => {})
    }
  }
}
