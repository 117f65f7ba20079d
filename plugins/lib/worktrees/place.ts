import { copyFileSync, existsSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { inodeOf, worktreeSeal, worktreesFolder } from '../../../core/trust/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { isolatedGitEnv, runGit, type GitRun } from '../git/index.js'

/** A copy of the files of a workspace, for somebody who works on them apart. */
export interface Worktree {
  /** The name of its folder. */
  id: string
  /** Absolute. It has a repository of its own, which borrows nothing. */
  root: string
  /** Absolute: a repository beside it that knows the files as they were. Whoever works in the copy does not reach it. */
  store: string
  /** The commit of the files as they were, in both. */
  commit: string
}
export type TreePlaces = Pick<Worktree, 'root' | 'store'>
export type How = Pick<GitRun, 'signal'>
/** What the sealed note beside a worktree says. */
interface Note {
  commit: string
  /** Of the folder, so that no other is taken for it. */
  ino: string
  /** Whose work it is a part of. */
  session: string
}

export const noWorktree = (reason: string): VtError =>
  new VtError({
    code: 'VT_AGENT_NO_WORKTREE',
    message: `No worktree can be made here: ${reason}.`,
    hint: 'Name write_paths instead, or do the work yourself.',
    retryable: false,
  })

export const placesOfTree = (
  workspace: Pick<Workspace, 'root'>,
  id: string,
): { root: string; store: string; note: string } => {
  const root = join(workspace.root, worktreesFolder, id)
  return { root, store: `${root}.git`, note: `${worktreesFolder}/${id}.json` }
}

/** Notes that a worktree is there whole: from now on it is found. */
export async function noteTree(workspace: Workspace, { id, root, commit }: Worktree, session: string): Promise<void> {
  const note: Note = { commit, ino: inodeOf(root), session }
  await workspace.write(
    placesOfTree(workspace, id).note,
    Buffer.from(workspace.seal.write(worktreeSeal, id, note)),
    'anything',
    { mode: 0o600 },
  )
}

/** The worktree of this name that a program of this user made; nothing where there is none. */
export async function worktreeAt(workspace: Workspace, id: string): Promise<Worktree | undefined> {
  const { root, store } = placesOfTree(workspace, id)
  const note = await noteOf(workspace, id)
  return note && existsSync(root) && existsSync(store) && note.ino === inodeOf(root)
    ? { id, root, store, commit: note.commit }
    : undefined
}

async function noteOf(workspace: Workspace, id: string): Promise<Note | undefined> {
  const text = await workspace.readText(placesOfTree(workspace, id).note, { max_bytes: 65_536 }).catch(() => '')
  return workspace.seal.read(worktreeSeal, id, text) as Note | undefined
}

/** Removes a worktree with all that belongs to it, whatever of it is there. */
export async function dropWorktree(workspace: Workspace, id: string): Promise<void> {
  for (const name of [id, `${id}.git`, `${id}.json`]) {
    const path = `${worktreesFolder}/${name}`
    if (await workspace.stat(path)) await workspace.remove(path, { recursive: true })
  }
}

/** Removes the worktrees of a session, and of the agents that did parts of its work. */
export async function dropWorktreesOf(workspace: Workspace, session: string): Promise<void> {
  for (const { name } of await workspace.listNames(worktreesFolder).catch(() => [])) {
    const id = /^(.+)\.json$/.exec(name)?.[1]
    if (id !== undefined && (id === session || (await noteOf(workspace, id))?.session === session))
      await dropWorktree(workspace, id)
  }
}

/**
 * Copies the index of a repository. The copy is as old as what is copied, in seconds, which is how git tells files that may have changed
 * since without looking so: of those it compares the bytes.
 */
export function copyIndex(from: string, to: string): void {
  copyFileSync(from, to)
  const second = Math.floor(statSync(from).mtimeMs / 1000)
  utimesSync(to, second, second)
}

/** How the repository beside a worktree is asked. */
interface StoreRun extends Pick<GitRun, 'input' | 'signal' | 'most'> {
  /** Whose files are meant; default: those of the worktree. */
  files?: string
  /** Default: the index of the files as they were. */
  index?: string
  /** Absolute: objects of another repository, which are read for this one run. */
  objects?: string | undefined
}
const seconds = 600

/**
 * What git prints that is run on the repository beside a worktree. Settings, attributes and hooks are those of that repository, so ours: no
 * filter is run and no end of a line changed, whatever the files say. Throws `noWorktree` with git's words, VT_CALL_ABORTED.
 */
export async function askStore(
  workspace: Pick<Workspace, 'root'>,
  tree: TreePlaces,
  args: readonly string[],
  { files = tree.root, index = 'index', ...run }: StoreRun = {},
): Promise<Buffer> {
  const ended = await runStore(workspace, tree, args, { files, index, ...run })
  if (ended.exit_code === 0) return ended.output
  throw noWorktree(`git says: ${saidBy(ended.message)}`)
}

/** What the repository of a folder lists of its files, as `git ls-files -z` prints it. No filter is run. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED. */
export async function listFiles(folder: string, what: readonly string[], how: How): Promise<Buffer> {
  const ended = await runGit(['ls-files', '-z', ...what], { folder, workspace: folder, seconds: 120, ...how })
  if (typeof ended === 'string') throw noWorktree(ended)
  if (ended.exit_code !== 0) throw noWorktree(`git says: ${saidBy(ended.message)}`)
  return ended.output
}

/** Both, waited for also where one fails: what runs still writes. */
export async function together<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** What git said, on one line: of several files that it could not write the first. */
export const saidBy = (message: string): string =>
  message.trim().split('\n').slice(0, 3).join('; ').slice(0, 300) || 'nothing'

/** The same, however git ends. */
export async function runStore(
  workspace: Pick<Workspace, 'root'>,
  { root, store }: TreePlaces,
  args: readonly string[],
  { files = root, index = 'index', objects, ...run }: StoreRun = {},
) {
  const lent = objects !== undefined && { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) }
  const env = {
    ...isolatedGitEnv,
    GIT_DIR: store,
    GIT_WORK_TREE: files,
    GIT_INDEX_FILE: join(store, index),
    ...author,
    ...lent,
  }
  const ended = await runGit(['-c', 'core.fsync=none', ...args], {
    folder: files,
    workspace: workspace.root,
    env,
    seconds,
    ...run,
  })
  if (typeof ended === 'string') throw noWorktree(ended)
  return ended
}
const author = {
  GIT_AUTHOR_NAME: 'vtcode',
  GIT_AUTHOR_EMAIL: 'vtcode@localhost',
  GIT_COMMITTER_NAME: 'vtcode',
  GIT_COMMITTER_EMAIL: 'vtcode@localhost',
}
