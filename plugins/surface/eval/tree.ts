import { VtError, type Workspace } from '../../../core/index.js'
import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { EvalError } from './error.js'

/** A file below a folder: its path relative to the folder, and whether it can be executed. */
export interface TreeFile {
  path: string
  executable: boolean
}
const MAX_FILES = 20_000
const EXECUTABLE = 0o111

/** Lists the regular files below a folder. Throws EvalError for a link, a pipe or a device, and for too many files. */
export async function listTaskFiles(workspace: Workspace, folder: string): Promise<TreeFile[]> {
  const found: TreeFile[] = []
  const pending = ['']
  for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
    for (const { name, kind } of await workspace.listNames(`${folder}/${part}`)) {
      const path = part === '' ? name : `${part}/${name}`
      if (kind === 'directory') pending.push(path)
      else if (kind !== 'file')
        throw new EvalError(`'${folder}/${path}' is a ${kind}.`, 'A task holds regular files and folders only.')
      else {
        const stat = await workspace.stat(`${folder}/${path}`)
        found.push({ path, executable: ((stat?.mode ?? 0) & EXECUTABLE) !== 0 })
      }
      if (found.length > MAX_FILES)
        throw new EvalError(
          `'${folder}' has more than ${MAX_FILES} files.`,
          'Remove files that the task does not need.',
        )
    }
  }
  return found
}

/** Copies the files below a folder to a folder of another workspace. `change` may replace their bytes. */
export async function copyFiles(
  [from, folder]: readonly [Workspace, string],
  [to, target]: readonly [OpenWorkspace, string],
  change: (path: string, bytes: Buffer) => Buffer = (_, bytes) => bytes,
): Promise<void> {
  for (const { path, executable } of await listTaskFiles(from, folder))
    await writeTaskFile(to, `${target}/${path}`, change(path, await from.read(`${folder}/${path}`)), executable)
}

/** Writes a file, whatever was there. Throws EvalError where a link is a part of the path. */
export async function writeTaskFile(
  workspace: OpenWorkspace,
  path: string,
  content: Uint8Array | string,
  executable = false,
): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  try {
    await workspace.createLinkFreeView([path]).write(path, bytes, 'anything', executable ? { mode: 0o755 } : {})
  } catch (error) {
    if (!(error instanceof VtError && error.code === 'VT_FILE_STALE')) throw error
    throw new EvalError(`'${path}' is a link, or lies below one.`, 'Remove the link, or choose another folder.')
  }
}
