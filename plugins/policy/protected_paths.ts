import type { Policy, Workspace } from '../../core/index.js'
import { callPaths } from '../lib/rules/index.js'

/** What runs or steers other programs is not changed by a tool: denied outright, or asked for, and in full-auto denied. */
const protected_paths: Policy = async (call, context) => {
  const places = await callPaths(call, context)
  if (places.length === 0) return undefined
  const repository = await gitFolder(context.workspace)
  const names = places.flatMap(({ given, resolved }) => (given === resolved ? [given] : [given, resolved]))
  const sealed = names.find((name) => isSealed(name) || (repository !== undefined && isBelow(name, repository)))
  const guarded = names.find(isGuarded)
  const details = { not_applied: true, say: `Not applied. The path is protected, so nothing was changed; next action: ask the user to change ${sealed ?? guarded} by hand.` }
  if (sealed) return { deny: `'${sealed}' belongs to git or to this program and is not written by tools.`, hint: 'Ask the user to change it by hand.', details }
  if (!guarded) return undefined
  const reason = `'${guarded}' decides what other programs run.`
  return call.mode === 'full-auto' ? { deny: reason, hint: 'Ask the user to change it by hand.', details } : { ask: reason, hint: 'The user has to agree to this change.', details }
}
export default protected_paths

// Names are compared without case: a volume may fold it, and nobody needs a `.GIT` of another meaning.
const segmentsOf = (path: string): string[] => path.toLowerCase().split('/')

function isSealed(path: string): boolean {
  const segments = segmentsOf(path)
  if (segments.includes('.git')) return true
  return segments[0] === '.vtcode' && !(segments[1] === 'plans' && segments.length > 2)
}

const guardedFolders = ['.agents', '.claude', '.husky', '.githooks']
const guardedFiles = /^(vtcode\.config\.\w+|\.mcp\.json|\.gitmodules|\.(ba|z|k|c|tc)?sh(rc|env)|\.(bash_|z)?(profile|login|logout)|\.zprofile|\.bash_aliases|\.envrc)$/
function isGuarded(path: string): boolean {
  const segments = segmentsOf(path)
  return segments.some((segment) => guardedFolders.includes(segment)) || guardedFiles.test(segments.at(-1)!)
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** Where a `.git` that is a file says the repository lies, when that is inside the workspace. */
async function gitFolder(workspace: Workspace): Promise<string | undefined> {
  try {
    const stat = await workspace.stat('.git')
    if (stat?.kind !== 'file') return undefined
    const [, folder] = /^gitdir:\s*(.+?)\s*$/m.exec(await workspace.text('.git', { max_bytes: 4096 })) ?? []
    return folder === undefined ? undefined : workspace.normalize(folder)
  } catch {
    return undefined
  }
}
