import { hardenGitEnv } from './hardened_env.js'
import { runGit } from './run_git.js'

/**
 * Returns the output of hardened git in a folder, with `set` as extra settings, or the reason of a failure. The program
 * is searched for outside `workspace`.
 */
export async function askGit(
  args: readonly string[],
  folder: string,
  workspace: string,
  set: Readonly<Record<string, string>> = {},
): Promise<{ output: string } | { refused: string }> {
  const ended = await runGit(args, { folder, workspace, env: hardenGitEnv(set) }).catch(
    () => 'git cannot be started in this folder',
  )
  if (typeof ended === 'string') return { refused: ended }
  if (ended.exit_code === 0) return { output: ended.output.toString() }
  return { refused: ended.message.split('\n')[0]!.slice(0, 200) || 'git printed no message' }
}
