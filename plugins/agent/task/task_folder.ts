import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { isSessionLocked } from '../session/index.js'

export const taskFolder = '.vtcode/tasks'
/** The files that show people the artifacts of a task. */
export const artifactFiles = {
  spec: 'current_spec.md',
  contract: 'current_contract.md',
  feature_list: 'current_feature_list.md',
  evaluation: 'current_evaluation.md',
} as const

/**
 * Returns the path of a session's file: `.vtcode/tasks/<name>`, or a folder of its own while another live session has
 * that path. With `claim`, the file of a finished session moves to the archive. `undefined` if a link or another kind
 * of entry is in the way.
 */
export async function findTaskFile(
  workspace: Workspace,
  session: string,
  name: string,
  { claim }: { claim: boolean },
): Promise<string | undefined> {
  const shared = `${taskFolder}/${name}`
  const own = `${taskFolder}/${session}/${name}`
  if (!(await isOurs(workspace, shared)) || !(await isOurs(workspace, own))) return undefined
  if (await workspace.stat(own)) return own
  const holder = await readOwner(workspace, shared)
  if (holder === session || holder === undefined) return shared
  if (!claim) return undefined
  if (holder !== 'nobody' && (await isSessionLocked(workspace, `${CALLS_FOLDER}/${holder}`))) return own
  return (await archiveFile(workspace, shared, holder)) ? shared : undefined
}

/** Moves a file to the archive of a session, unless a link is in the way. */
export async function archiveFile(workspace: Workspace, path: string, session: string): Promise<boolean> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const to = await findFreePath(workspace, `${taskFolder}/archive/${session}/${name}`)
  if (!(await isOurs(workspace, to))) return false
  await workspace.rename(path, to)
  return true
}

/** Returns whether the path is a regular file or free, with no link on the way. */
async function isOurs(workspace: Workspace, path: string): Promise<boolean> {
  try {
    if (workspace.resolve(path, { follow: false }) !== path) return false
    const stat = await workspace.stat(path)
    return stat === undefined || stat.kind === 'file'
  } catch {
    return false
  }
}

/** Reads the owner of a file: no owner if its first lines name no session, `undefined` if there is no file. */
async function readOwner(workspace: Workspace, path: string): Promise<string | undefined> {
  if (!(await workspace.stat(path))) return undefined
  const head = (await workspace.read(path, { offset: 0, length: 400 }).catch(() => Buffer.alloc(0))).toString()
  return (
    /^<!-- vtcode session=(ses_[A-Za-z0-9_-]{1,60}) /.exec(head)?.[1] ??
    /^---\nsession_id: (ses_[A-Za-z0-9_-]{1,60})\n/.exec(head)?.[1] ??
    'nobody'
  )
}

async function findFreePath(workspace: Workspace, path: string): Promise<string> {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? path : path.replace(/(\.\w+)$/, `-${number}$1`)
    if (!(await workspace.stat(tried))) return tried
  }
}
