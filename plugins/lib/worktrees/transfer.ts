import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workspace } from '../../../core/workspace/index.js'
import { isolatedGitEnv, runGit } from '../git/index.js'
import { ATTRIBUTES } from './create.js'
import { formatGitMessage, noWorktree, queryStore, type Worktree } from './worktree.js'

type Place = Pick<Workspace, 'root'>
const TIMEOUT_SECONDS = 600
const MAX_BYTES = 512 * 1024 * 1024

/** Packs the original files of a worktree as a git bundle of one commit. Throws VT_AGENT_NO_WORKTREE. */
export async function createBundle(workspace: Place, tree: Worktree): Promise<Buffer> {
  const file = join(tree.store, 'files.bundle')
  try {
    await queryStore(workspace, tree, ['bundle', 'create', '-q', file, 'HEAD'])
    return readFileSync(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/**
 * Applies a patch of `createPatch` to the files of a worktree. git refuses paths outside, paths through links and the
 * repository itself. Throws VT_AGENT_NO_WORKTREE.
 */
export async function patchWorktree(workspace: Place, tree: Worktree, patch: Buffer): Promise<void> {
  await queryStore(workspace, tree, ['apply', '--binary', '--whitespace=nowarn', '-'], { input: patch })
}

/** A folder for a run on this machine, with a repository of its own. */
export interface RunFolder {
  /** Absolute path of the files. */
  root: string
  /** Absolute path of the repository of the original files, out of reach for the run. */
  store: string
  commit: string
}

/** Unpacks a bundle to the new folder `root`. Throws VT_AGENT_NO_WORKTREE for a bundle without the commit. */
export async function unpackBundle(root: string, bundle: Uint8Array, commit: string): Promise<RunFolder> {
  const folder = { root, store: `${root}.git`, commit }
  const file = `${root}.bundle`
  mkdirSync(root, { mode: 0o700 })
  writeFileSync(file, bundle, { mode: 0o600 })
  const format = commit.length === 64 ? ['--object-format=sha256'] : []
  await git(folder, ['init', '-q', '--template=', ...format])
  mkdirSync(join(folder.store, 'info'), { mode: 0o700 })
  writeFileSync(join(folder.store, 'info/attributes'), ATTRIBUTES)
  await git(folder, ['bundle', 'unbundle', file])
  await git(folder, ['update-ref', '--no-deref', 'HEAD', commit])
  await git(folder, ['read-tree', commit])
  await git(folder, ['checkout-index', '--all', '--quiet'])
  rmSync(file)
  // The run has a repository too. Its settings are never read for the patch.
  cpSync(folder.store, join(root, '.git'), { recursive: true })
  return folder
}

/** Applies a patch of `createPatch` to the files of a run. Throws VT_AGENT_NO_WORKTREE. */
export async function applyToRun(folder: RunFolder, patch: Uint8Array): Promise<void> {
  await git(folder, ['apply', '--binary', '--whitespace=nowarn', '-'], Buffer.from(patch))
}

/**
 * Returns the changes of a run as a binary patch, without ignored files and `.vtcode/`; `undefined` if there are none.
 * Throws VT_AGENT_NO_WORKTREE.
 */
export async function createPatch(folder: RunFolder): Promise<Buffer | undefined> {
  const rest = ['--', '.', ':(exclude).vtcode']
  await git(folder, ['read-tree', folder.commit])
  await git(folder, ['add', '--all', ...rest])
  const options = ['--cached', '--binary', '--full-index', '--no-renames', '--no-ext-diff', '--no-textconv']
  const patch = await git(folder, ['diff-index', '-p', ...options, folder.commit, ...rest])
  return patch.length === 0 ? undefined : patch
}

async function git({ root, store }: RunFolder, args: string[], input?: Buffer): Promise<Buffer> {
  const ended = await runGit(['-c', 'core.fsync=none', '-c', 'core.autocrlf=false', ...args], {
    folder: root,
    workspace: root,
    env: { ...isolatedGitEnv, GIT_DIR: store, GIT_WORK_TREE: root },
    seconds: TIMEOUT_SECONDS,
    most: MAX_BYTES,
    ...(input && { input }),
  })
  if (typeof ended === 'string') throw noWorktree(ended)
  if (ended.exit_code !== 0) throw noWorktree(`git says: ${formatGitMessage(ended.message)}`)
  return ended.output
}
