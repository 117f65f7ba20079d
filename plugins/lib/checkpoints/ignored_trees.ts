import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { runGit } from '../git/index.js'

/** Folders that tools fill: where git does not say what is ignored, these count as ignored. */
const GENERATED_NAMES = new Set(['node_modules', '.venv', 'venv', 'target', 'dist', 'build', '.cache', '__pycache__'])
/** Returns whether a path lies in such a folder. */
export const isGenerated = (path: string): boolean => GENERATED_PATH.test(path)
const GENERATED_PATH = /(^|\/)(node_modules|\.?venv|target|dist|build|\.cache|__pycache__)\//

/** Returns a function that finds the ignored tree that a path lies in; `undefined` for a path outside of all. */
export async function findIgnoredTrees(workspace: OpenWorkspace): Promise<(path: string) => string | undefined> {
  const ignored = await listIgnoredByGit(workspace)
  return (path) => {
    if (!ignored && !isGenerated(path)) return undefined
    const names = path.split('/')
    for (let end = 1; end < names.length; end++) {
      const folder = names.slice(0, end).join('/')
      if (ignored ? ignored.has(folder) : GENERATED_NAMES.has(names[end - 1]!)) return folder
    }
    return undefined
  }
}

/** Lists the folders that git ignores, without those inside them; `undefined` outside of a repository. */
async function listIgnoredByGit({ root }: OpenWorkspace): Promise<Set<string> | undefined> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const ended = await runGit(args, { folder: root, workspace: root, seconds: 10 }).catch(() => 'failed')
  if (typeof ended === 'string' || ended.exit_code !== 0) return undefined
  const names = ended.output.toString().split('\0')
  return new Set(names.flatMap((name) => (name.endsWith('/') ? [name.slice(0, -1)] : [])))
}
