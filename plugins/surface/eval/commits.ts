import { redactText, visible, type Workspace } from '../../../core/index.js'
import { findRepository, runGit } from '../../lib/git/index.js'
import { EvalError } from './error.js'

/** A commit with its parent. */
export interface Commit {
  sha: string
  parent: string
  subject: string
  body: string
}
/** A file of a commit. */
export interface BlobEntry {
  path: string
  id: string
  executable: boolean
  bytes: number
}
/** The files that a commit changed: their paths, and whether they exist after it. */
export interface CommitChange {
  path: string
  deleted: boolean
}

const SECONDS = 60
const MAX_BYTES = 256 * 1024 * 1024

/** Reads commits and their files with hardened git, which runs no filter, hook or other program of the repository. */
export class CommitReader {
  private constructor(private readonly workspace: Workspace) {}

  /** Throws EvalError for a workspace that is not the top folder of a repository. */
  static async open(workspace: Workspace): Promise<CommitReader> {
    const { root } = workspace
    const found = await findRepository(root, root)
    if (!found || 'refused' in found || found.repository.top !== root)
      throw new EvalError(
        found && 'refused' in found
          ? `The repository cannot be read: ${found.refused}`
          : `'${root}' is not the top folder of a git repository.`,
        'Run `vtcode eval init` in the top folder of a repository.',
      )
    return new CommitReader(workspace)
  }

  async #ask(args: readonly string[], input?: Buffer): Promise<Buffer> {
    const { root } = this.workspace
    const how = { folder: root, workspace: root, seconds: SECONDS, most: MAX_BYTES, ...(input && { input }) }
    const ended = await runGit(args, how)
    if (typeof ended === 'string') throw new EvalError(`The history cannot be read: ${ended}.`, 'Install git.')
    if (ended.exit_code !== 0)
      throw new EvalError(
        `The history cannot be read: ${redactText(ended.message.split('\n')[0]!.slice(0, 200))}`,
        'Check the repository with `git fsck`.',
      )
    return ended.output
  }

  /** Lists the latest commits with one parent, the newest first. */
  async listCommits(count: number): Promise<Commit[]> {
    const args = ['log', `-${count}`, '--no-merges', '--no-show-signature', '--no-notes', '--no-color']
    const text = (await this.#ask([...args, '--format=%H%x00%P%x00%s%x00%b%x00'])).toString()
    const fields = text.split('\0')
    const commits: Commit[] = []
    for (let at = 0; at + 3 < fields.length; at += 4) {
      const [sha = '', parent = '', subject = '', body = ''] = fields.slice(at, at + 4)
      commits.push({ sha: sha.trim(), parent: parent.trim(), subject: visible(subject), body: visible(body) })
    }
    return commits
  }

  async listChanges({ sha }: Commit): Promise<CommitChange[]> {
    const args = ['diff-tree', '-r', '-z', '--root', '--no-commit-id', '--no-renames', '--name-status', sha]
    const fields = (await this.#ask(args)).toString().split('\0').filter(Boolean)
    const changes: CommitChange[] = []
    for (let at = 0; at + 1 < fields.length; at += 2)
      changes.push({ path: fields[at + 1]!, deleted: fields[at] === 'D' })
    return changes
  }

  /** Lists the regular files of a commit. Links, submodules and files that are hidden from tools are left out. */
  async listBlobs(sha: string): Promise<BlobEntry[]> {
    const lines = (await this.#ask(['ls-tree', '-r', '-l', '-z', '--full-tree', sha])).toString().split('\0')
    return lines.flatMap((line) => {
      const [, mode, id, bytes, path] = /^(100644|100755) blob ([0-9a-f]+) +(\d+)\t([^]+)$/.exec(line) ?? []
      if (mode === undefined || path === undefined || !isPlainPath(path) || !this.workspace.isVisible(path)) return []
      return [{ path, id: id!, executable: mode === '100755', bytes: Number(bytes) }]
    })
  }

  /** Reads the bytes of files, by their ids. */
  async readBlobs(blobs: readonly BlobEntry[]): Promise<Map<string, Buffer>> {
    const ids = [...new Set(blobs.map(({ id }) => id))]
    const output = await this.#ask(['cat-file', '--batch'], Buffer.from(ids.map((id) => `${id}\n`).join('')))
    const found = new Map<string, Buffer>()
    for (let at = 0; at < output.length;) {
      const end = output.indexOf(10, at)
      const [id = '', , bytes] = output.subarray(at, end).toString().split(' ')
      const size = Number(bytes)
      if (!Number.isSafeInteger(size))
        throw new EvalError(`The file ${id} of the history is missing.`, 'Fetch it first.')
      found.set(id, output.subarray(end + 1, end + 1 + size))
      at = end + size + 2
    }
    return found
  }
}

/** A tree of git may name anything; such a path must lead below the folder that it is written to. */
const isPlainPath = (path: string): boolean =>
  !path.startsWith('/') && path.split('/').every((name) => !['', '.', '..', '.git'].includes(name.toLowerCase()))
