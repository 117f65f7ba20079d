import { copyFileSync, existsSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { readInode, WORKTREE_SEAL, WORKTREES_FOLDER } from '../../../core/trust/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { isolatedGitEnv, runGit, type GitRun } from '../git/index.js'

/** A copy of the files of a workspace for an agent that works on them separately. */
export interface Worktree {
  /** Name of its folder. */
  id: string
  /** Absolute path of the copy, which has its own complete repository. */
  root: string
  /** Absolute path of the repository of the original files, next to the copy and out of reach for the agent. */
  store: string
  /** Commit of the original files, in both repositories. */
  commit: string
}
export type TreePaths = Pick<Worktree, 'root' | 'store'>
export type GitOptions = Pick<GitRun, 'signal'>
/** Content of the sealed note of a worktree. */
interface Note {
  commit: string
  /** Inode of the folder, which identifies it. */
  ino: string
  /** Id of the session that owns the worktree. */
  session: string
}

export const noWorktree = (reason: string): VtError =>
  new VtError({
    code: 'VT_AGENT_NO_WORKTREE',
    message: `No worktree can be made here: ${reason}.`,
    hint: 'Name write_paths instead, or do the work yourself.',
    retryable: false,
  })

export const resolveTreePaths = (
  workspace: Pick<Workspace, 'root'>,
  id: string,
): { root: string; store: string; note: string } => {
  const root = join(workspace.root, WORKTREES_FOLDER, id)
  return { root, store: `${root}.git`, note: `${WORKTREES_FOLDER}/${id}.json` }
}

/** Writes the note of a complete worktree, which makes it findable. */
export async function writeNote(workspace: Workspace, { id, root, commit }: Worktree, session: string): Promise<void> {
  const note: Note = { commit, ino: readInode(root), session }
  await workspace.write(
    resolveTreePaths(workspace, id).note,
    Buffer.from(workspace.seal.write(WORKTREE_SEAL, id, note)),
    'anything',
    { mode: 0o600 },
  )
}

/** Finds the worktree of this name that a program of this user created. */
export async function findWorktree(workspace: Workspace, id: string): Promise<Worktree | undefined> {
  const { root, store } = resolveTreePaths(workspace, id)
  const note = await readNote(workspace, id)
  return note && existsSync(root) && existsSync(store) && note.ino === readInode(root)
    ? { id, root, store, commit: note.commit }
    : undefined
}

async function readNote(workspace: Workspace, id: string): Promise<Note | undefined> {
  const text = await workspace.readText(resolveTreePaths(workspace, id).note, { max_bytes: 65_536 }).catch(() => '')
  return workspace.seal.read(WORKTREE_SEAL, id, text) as Note | undefined
}

/** Removes a worktree, also an incomplete one. */
export async function dropWorktree(workspace: Workspace, id: string): Promise<void> {
  for (const name of [id, `${id}.git`, `${id}.json`]) {
    const path = `${WORKTREES_FOLDER}/${name}`
    if (await workspace.stat(path)) await workspace.remove(path, { recursive: true })
  }
}

/** Removes the worktrees of a session and of its agents. */
export async function dropSessionWorktrees(workspace: Workspace, session: string): Promise<void> {
  for (const { name } of await workspace.listNames(WORKTREES_FOLDER).catch(() => [])) {
    const id = /^(.+)\.json$/.exec(name)?.[1]
    if (id !== undefined && (id === session || (await readNote(workspace, id))?.session === session))
      await dropWorktree(workspace, id)
  }
}

/**
 * Copies the index of a repository with its time in whole seconds. By this time git detects files that may have
 * changed without a change of their stat, and compares their bytes.
 */
export function copyIndex(from: string, to: string): void {
  copyFileSync(from, to)
  const second = Math.floor(statSync(from).mtimeMs / 1000)
  utimesSync(to, second, second)
}

/** Options of a git run on the store of a worktree. */
interface StoreRun extends Pick<GitRun, 'input' | 'signal' | 'most'> {
  /** Folder of the files; default: the worktree. */
  files?: string
  /** Default: the index of the original files. */
  index?: string
  /** Absolute path of the objects of another repository, readable for this run. */
  objects?: string | undefined
}
const TIMEOUT_SECONDS = 600

/**
 * Runs git on the store of a worktree and returns its output. Only settings, attributes and hooks of the store apply:
 * no filter runs and no line end is converted. Throws VT_AGENT_NO_WORKTREE with the message of git, VT_CALL_ABORTED.
 */
export async function queryStore(
  workspace: Pick<Workspace, 'root'>,
  tree: TreePaths,
  args: readonly string[],
  { files = tree.root, index = 'index', ...run }: StoreRun = {},
): Promise<Buffer> {
  const ended = await runStore(workspace, tree, args, { files, index, ...run })
  if (ended.exit_code === 0) return ended.output
  throw noWorktree(`git says: ${formatGitMessage(ended.message)}`)
}

/** Lists files of a folder by `git ls-files -z`. No filter runs. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED. */
export async function listRepositoryFiles(folder: string, what: readonly string[], how: GitOptions): Promise<Buffer> {
  const ended = await runGit(['ls-files', '-z', ...what], { folder, workspace: folder, seconds: 120, ...how })
  if (typeof ended === 'string') throw noWorktree(ended)
  if (ended.exit_code !== 0) throw noWorktree(`git says: ${formatGitMessage(ended.message)}`)
  return ended.output
}

/** Waits for both promises even if one fails, because the other still writes. */
export async function settleBoth<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** Returns the first three lines of a message of git on one line. */
export const formatGitMessage = (message: string): string =>
  message.trim().split('\n').slice(0, 3).join('; ').slice(0, 300) || 'nothing'

/** Runs git on the store of a worktree, with any exit code. */
export async function runStore(
  workspace: Pick<Workspace, 'root'>,
  { root, store }: TreePaths,
  args: readonly string[],
  { files = root, index = 'index', objects, ...run }: StoreRun = {},
) {
  const alternates = objects !== undefined && { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) }
  const env = {
    ...isolatedGitEnv,
    GIT_DIR: store,
    GIT_WORK_TREE: files,
    GIT_INDEX_FILE: join(store, index),
    ...AUTHOR,
    ...alternates,
  }
  const ended = await runGit(['-c', 'core.fsync=none', ...args], {
    folder: files,
    workspace: workspace.root,
    env,
    seconds: TIMEOUT_SECONDS,
    ...run,
  })
  if (typeof ended === 'string') throw noWorktree(ended)
  return ended
}
const AUTHOR = {
  GIT_AUTHOR_NAME: 'vtcode',
  GIT_AUTHOR_EMAIL: 'vtcode@localhost',
  GIT_COMMITTER_NAME: 'vtcode',
  GIT_COMMITTER_EMAIL: 'vtcode@localhost',
}
