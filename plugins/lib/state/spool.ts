import { randomBytes } from 'node:crypto'
import { constants, writeSync } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import type { Seal } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, toFolderName } from './call_record.js'
import { openPrivateFolder } from './private_folder.js'

export const SPOOL_FOLDER = '.vtcode/spool'
/** Above this number, the oldest files are removed until the number of possible live files remains. */
const MAX_FILES = 200
const MAX_LIVE = 150
const MAX_BYTES = 512 * 1024 * 1024
const MAX_AGE_MS = 24 * 60 * 60 * 1000

// Name of a file: the session of a stored conversation, the label, a random part, and a mark of ours, because a
// repository may contain foreign files.
function createName({ seal }: Workspace, session: string, label: string, end: string): string {
  const owner = session.startsWith('ses_') ? `${toOwnerName(session)}-` : ''
  const name = `${owner}${label.replace(/\W+/g, '_')}-${randomBytes(4).toString('hex')}`
  return `${name}${createMark(seal, name)}.${end}`
}
const createMark = (seal: Seal, name: string): string => seal.nameMark('spool', name).slice(0, 8)
const toOwnerName = (session: string): string => session.replace(/[^\w-]+/g, '_')
/**
 * Returns the session that owns a file, as a name: empty for a session that is not stored, `undefined` for a foreign
 * file.
 */
export function parseOwner({ seal }: Workspace, name: string): string | undefined {
  const [, own, owner = '', mark] = /^((?:(.+)-)?\w*-[0-9a-f]{8})([0-9a-f]{8})\.\w+$/.exec(name) ?? []
  return own !== undefined && mark === createMark(seal, own) ? owner : undefined
}

// Files of running sessions, oldest first, whose readers would miss them. An endless session keeps its newest.
const liveFiles = new Set<string>()

/** Pruning reads every file, so it runs once in so many writes. */
const PRUNE_EVERY = 8
let openCount = 0

/** Names of the files that each session wrote while the program runs. */
const filesBySession = new Map<string, Set<string>>()

function noteOwner(session: Context['session'], name: string): void {
  const own = filesBySession.get(session.id)
  if (own) return void own.add(name)
  filesBySession.set(session.id, new Set([name]))
  session.onClose(() => void filesBySession.delete(session.id))
}

/** Checks whether a file belongs to a session. */
export const isSpoolOwner = (workspace: Workspace, session: string, name: string): boolean =>
  (filesBySession.get(session)?.has(name) ?? false) || parseOwner(workspace, name) === toOwnerName(session)

/** Limit for visible files: more would slow the start of each command. */
const MAX_SHOWN = 64
/** Returns the paths below `.vtcode/` that commands of this session may read: its latest files and its own folder. */
export async function listOwnPaths({ session, workspace }: Pick<Context, 'session' | 'workspace'>): Promise<string[]> {
  const names = (await workspace.listNames(SPOOL_FOLDER).catch(() => []))
    .filter(({ name, kind }) => kind === 'file' && isSpoolOwner(workspace, session.id, name))
    .map(({ name }) => name)
  const latest = [...(filesBySession.get(session.id) ?? [])].slice(-MAX_SHOWN)
  const existing = new Set(names)
  const texts = new Set([...latest.filter((name) => existing.has(name)), ...names.slice(-MAX_SHOWN)])
  const folder = `${CALLS_FOLDER}/${toFolderName(session.id)}`
  const own = (await workspace.stat(folder).catch(() => undefined))?.kind === 'directory' ? [folder] : []
  return [...own, ...[...texts].slice(0, MAX_SHOWN).map((name) => `${SPOOL_FOLDER}/${name}`)]
}

/** File below `.vtcode/spool/` that is being written. */
export interface SpoolFile {
  /** Workspace-relative. */
  readonly path: string
  write(chunk: Buffer | string): Promise<void>
  /** Writes synchronously. Throws if the disk is full. */
  writeNow(chunk: Buffer): void
  /** Replaces bytes. */
  replace(position: number, bytes: Buffer): Promise<void>
  /** Removes a file that could not be completed, which would block a full disk. */
  discard(): Promise<void>
  /** Removes all content. */
  truncate(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a spool file. Only this user can read it, git ignores it, and it lives at least as long as the session. A
 * stored conversation keeps its files.
 */
export async function openSpool(context: Context, label: string, end = 'txt'): Promise<SpoolFile> {
  await using directory = await openPrivateFolder(context.workspace, SPOOL_FOLDER)
  const name = createName(context.workspace, context.session.id, label, end)
  const file = await createFile(directory, name)
  liveFiles.add(name)
  noteOwner(context.session, name)
  if (liveFiles.size > MAX_LIVE) liveFiles.delete(liveFiles.values().next().value!)
  context.session.onClose(() => void liveFiles.delete(name))
  await prune(context.workspace, directory)
  return {
    path: `${SPOOL_FOLDER}/${name}`,
    write: async (chunk) => file.appendFile(chunk),
    writeNow: (chunk) => {
      for (let at = 0; at < chunk.length;) at += writeSync(file.fd, chunk, at)
    },
    replace: async (position, bytes) => void (await file.write(bytes, 0, bytes.length, position)),
    discard: async () => {
      await using folder = await openPrivateFolder(context.workspace, SPOOL_FOLDER)
      await unlink(`${folder.ref}/${name}`).catch(() => undefined)
    },
    truncate: () => file.truncate(),
    close: () => file.close(),
  }
}

/** Writes a text; returns its workspace-relative path. */
export async function writeSpool(context: Context, label: string, content: string, end?: string): Promise<string> {
  const file = await openSpool(context, label, end)
  try {
    file.writeNow(Buffer.from(content))
    return file.path
  } catch (error) {
    await file.discard()
    throw error
  } finally {
    await file.close()
  }
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

const createFile = (directory: Handle, name: string): Promise<FileHandle> =>
  open(`${directory.ref}/${name}`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)

/** Returns the spool files, the latest first. Files without a mark of ours are moved away. */
export async function listSpoolFiles(
  workspace: Workspace,
  session?: string,
): Promise<{ path: string; owner: string; mtime_ms: number; bytes: number }[]> {
  const files = []
  for (const { name, kind } of await workspace.listNames(SPOOL_FOLDER).catch(() => [])) {
    if (name === '.gitignore') continue
    const owner = kind === 'file' ? parseOwner(workspace, name) : undefined
    if (owner === undefined) await workspace.quarantine(`${SPOOL_FOLDER}/${name}`)
    if (owner === undefined || (session !== undefined && owner !== toOwnerName(session))) continue
    const path = `${SPOOL_FOLDER}/${name}`
    const stat = await workspace.stat(path)
    if (stat) files.push({ path, owner, mtime_ms: stat.mtime_ms, bytes: stat.bytes })
  }
  return files.sort((a, b) => b.mtime_ms - a.mtime_ms)
}

/** Number of files of stored conversations, from the last pruning. */
let keptCount = 0

/** Removes the oldest files beyond the limits of count, size and age. Files of stored conversations stay with them. */
async function prune(workspace: Workspace, directory: Handle): Promise<void> {
  if (openCount++ % PRUNE_EVERY > 0 && directory.listNames().length - keptCount <= MAX_FILES) return
  const all = await listSpoolFiles(workspace)
  const talks = new Set<string>()
  for (const owner of new Set(all.map(({ owner }) => owner))) {
    if (owner !== '' && (await workspace.stat(`.vtcode/sessions/${owner}/messages.jsonl`))) talks.add(owner)
  }
  const loose = all.filter(({ owner }) => !talks.has(owner))
  keptCount = all.length - loose.length
  let bytes = 0
  for (const [index, file] of loose.entries()) {
    bytes += file.bytes
    const over =
      (loose.length > MAX_FILES && index >= MAX_LIVE) || bytes > MAX_BYTES || Date.now() - file.mtime_ms > MAX_AGE_MS
    const name = file.path.slice(SPOOL_FOLDER.length + 1)
    if (over && !liveFiles.has(name)) await unlink(`${directory.ref}/${name}`).catch(() => undefined)
  }
}
