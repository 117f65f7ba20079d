import { randomBytes } from 'node:crypto'
import { constants, writeSync } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import type { Seal } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { callsFolder, folderName } from './call_record.js'
import { ownFolder } from './private_folder.js'

export const spoolFolder = '.vtcode/spool'
/** When there are more files than this, the oldest go until as many are left as may be live. */
const maxFiles = 200
const maxLive = 150
const maxBytes = 512 * 1024 * 1024
const maxAge = 24 * 60 * 60 * 1000

// A file is called by what it holds and by chance; before that by the session it belongs to, where that is a conversation that is kept;
// behind it by a mark, for a repository may bring files of others.
function nameOf({ seal }: Workspace, session: string, label: string, end: string): string {
  const name = `${session.startsWith('ses_') ? `${ownerName(session)}-` : ''}${label.replace(/\W+/g, '_')}-${randomBytes(4).toString('hex')}`
  return `${name}${markOf(seal, name)}.${end}`
}
const markOf = (seal: Seal, name: string): string => seal.nameMark('spool', name).slice(0, 8)
const ownerName = (session: string): string => session.replace(/[^\w-]+/g, '_')
/** The session, as a name, whose file this is; empty for one that is not kept, and nothing for a file that is not ours. */
export function ownerOf({ seal }: Workspace, name: string): string | undefined {
  const [, own, owner = '', mark] = /^((?:(.+)-)?\w*-[0-9a-f]{8})([0-9a-f]{8})\.\w+$/.exec(name) ?? []
  return own !== undefined && mark === markOf(seal, own) ? owner : undefined
}

// Files of sessions that still run, oldest first; their readers would miss them. A session without end keeps its newest.
const live = new Set<string>()

/** A look at every file costs more than the writing of one; it is taken once in so many. */
const looks = 8
let opened = 0

/** By session, the names of the files that it has kept while the program runs. */
const ownFiles = new Map<string, Set<string>>()

function noteOwner(session: Context['session'], name: string): void {
  const own = ownFiles.get(session.id)
  if (own) return void own.add(name)
  ownFiles.set(session.id, new Set([name]))
  session.onClose(() => void ownFiles.delete(session.id))
}

/** Whether a file belongs to a session. */
export const ownsSpool = (workspace: Workspace, session: string, name: string): boolean =>
  (ownFiles.get(session)?.has(name) ?? false) || ownerOf(workspace, name) === ownerName(session)

/** More of them would make the start of each command slow. */
const mostShown = 64
/** Of what is kept below `.vtcode/`, the places that commands of this session may see: its latest texts, and its own folder. */
export async function ownPlaces({ session, workspace }: Pick<Context, 'session' | 'workspace'>): Promise<string[]> {
  const names = (await workspace.listNames(spoolFolder).catch(() => []))
    .filter(({ name, kind }) => kind === 'file' && ownsSpool(workspace, session.id, name))
    .map(({ name }) => name)
  const latest = [...(ownFiles.get(session.id) ?? [])].slice(-mostShown)
  const there = new Set(names)
  const texts = new Set([...latest.filter((name) => there.has(name)), ...names.slice(-mostShown)])
  const folder = `${callsFolder}/${folderName(session.id)}`
  const own = (await workspace.stat(folder).catch(() => undefined))?.kind === 'directory' ? [folder] : []
  return [...own, ...[...texts].slice(0, mostShown).map((name) => `${spoolFolder}/${name}`)]
}

/** A file below `.vtcode/spool/` that is being written. */
export interface Spool {
  /** Workspace-relative. */
  readonly path: string
  write(chunk: Buffer | string): Promise<void>
  /** The same before it returns. Throws when the disk is full. */
  writeNow(chunk: Buffer): void
  /** Puts other bytes in the place of some that were written. */
  replace(position: number, bytes: Buffer): Promise<void>
  /** Removes a file that could not be written to its end: on a full disk it is in the way. */
  discard(): Promise<void>
  /** Drops all that was written. */
  empty(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a file for what is too long to show. Only this user can read it, git ignores it, and it stays at least as long as
 * the session; a conversation that is kept keeps its files.
 */
export async function openSpool(context: Context, label: string, end = 'txt'): Promise<Spool> {
  await using directory = await ownFolder(context.workspace, spoolFolder)
  const name = nameOf(context.workspace, context.session.id, label, end)
  const file = await create(directory, name)
  live.add(name)
  noteOwner(context.session, name)
  if (live.size > maxLive) live.delete(live.values().next().value!)
  context.session.onClose(() => void live.delete(name))
  await prune(context.workspace, directory)
  return {
    path: `${spoolFolder}/${name}`,
    write: async (chunk) => file.appendFile(chunk),
    writeNow: (chunk) => {
      for (let at = 0; at < chunk.length;) at += writeSync(file.fd, chunk, at)
    },
    replace: async (position, bytes) => void (await file.write(bytes, 0, bytes.length, position)),
    discard: async () => {
      await using folder = await ownFolder(context.workspace, spoolFolder)
      await unlink(`${folder.ref}/${name}`).catch(() => undefined)
    },
    empty: () => file.truncate(),
    close: () => file.close(),
  }
}

/** Keeps a whole text; returns its workspace-relative path. */
export async function spool(context: Context, label: string, content: string, end?: string): Promise<string> {
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

const create = (directory: Handle, name: string): Promise<FileHandle> =>
  open(`${directory.ref}/${name}`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)

/** What sessions have kept here, the latest first. What bears no mark of ours is put aside. */
export async function spooled(
  workspace: Workspace,
  session?: string,
): Promise<{ path: string; owner: string; mtime_ms: number; bytes: number }[]> {
  const files = []
  for (const { name, kind } of await workspace.listNames(spoolFolder).catch(() => [])) {
    if (name === '.gitignore') continue
    const owner = kind === 'file' ? ownerOf(workspace, name) : undefined
    if (owner === undefined) await workspace.quarantine(`${spoolFolder}/${name}`)
    if (owner === undefined || (session !== undefined && owner !== ownerName(session))) continue
    const path = `${spoolFolder}/${name}`
    const stat = await workspace.stat(path)
    if (stat) files.push({ path, owner, mtime_ms: stat.mtime_ms, bytes: stat.bytes })
  }
  return files.sort((a, b) => b.mtime_ms - a.mtime_ms)
}

/** How many files belonged to conversations that are kept, when they were last looked at. */
let kept = 0

/** Removes the oldest files beyond the limits of count, size and age; those of conversations that are kept go with them. */
async function prune(workspace: Workspace, directory: Handle): Promise<void> {
  if (opened++ % looks > 0 && directory.listNames().length - kept <= maxFiles) return
  const all = await spooled(workspace)
  const talks = new Set<string>()
  for (const owner of new Set(all.map(({ owner }) => owner))) {
    if (owner !== '' && (await workspace.stat(`.vtcode/sessions/${owner}/messages.jsonl`))) talks.add(owner)
  }
  const loose = all.filter(({ owner }) => !talks.has(owner))
  kept = all.length - loose.length
  let bytes = 0
  for (const [index, file] of loose.entries()) {
    bytes += file.bytes
    const over =
      (loose.length > maxFiles && index >= maxLive) || bytes > maxBytes || Date.now() - file.mtime_ms > maxAge
    const name = file.path.slice(spoolFolder.length + 1)
    if (over && !live.has(name)) await unlink(`${directory.ref}/${name}`).catch(() => undefined)
  }
}
