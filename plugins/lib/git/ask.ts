import { hardenGitEnv } from './hardened.js'
import { runGit } from './run.js'

/** What git prints about a folder, hardened, with `set` of its settings; else its own words why not. The program is looked for outside of `workspace`. */
export async function askGit(
  args: readonly string[],
  folder: string,
  workspace: string,
  set: Readonly<Record<string, string>> = {},
): Promise<{ output: string } | { refused: string }> {
  const ended = await runGit(args, { folder, workspace, env: hardenGitEnv(set) }).catch(
    () => 'git cannot be started there',
  )
  if (typeof ended === 'string') return { refused: ended }
  if (ended.exit_code === 0) return { output: ended.output.toString() }
  return { refused: ended.message.split('\n')[0]!.slice(0, 200) || 'git gives no answer' }
}
