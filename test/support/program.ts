import type { TempWorkspace } from 'vtcode/test'
import { seedCompiled } from './compiled.js'
import { runProcess, runProgram, type ProgramRun as Ran } from './program_run.js'

export { bin } from './program_run.js'

/** The variable that makes our programs act as on another system. */
export const as = (platform: string): Record<string, string> =>
  platform === process.platform
    ? {}
    : { NODE_OPTIONS: `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})` }

export type { Ran }

const environmentOf = ({ home }: TempWorkspace, env: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH!,
  HOME: home,
  ...env,
})

/** The surroundings of a user who has set nothing, for a process that is about to start: a server, if nothing else is named. */
export function surroundings(
  place: TempWorkspace,
  env: Record<string, string> = {},
  words: readonly string[] = ['mcp'],
): Record<string, string> {
  const environment = environmentOf(place, env)
  seedCompiled(words, environment)
  return environment
}

/** Runs `vtcode …` in a workspace to its end; `lines` keeps the input of a server open until it has answered so many. */
export function vtcode(
  workspace: TempWorkspace,
  argv: string[],
  how: { stdin?: string; lines?: number; env?: Record<string, string>; cwd?: string; process?: boolean } = {},
): Promise<Ran> {
  const options = { cwd: how.cwd ?? workspace.root, env: environmentOf(workspace, how.env), input: how.stdin ?? '' }
  return how.process || how.lines !== undefined
    ? runProcess(argv, { ...options, lines: how.lines ?? 0 })
    : runProgram(argv, options)
}

/** Agrees to a plugin that a test has put into the user's folder, as that user would. */
export async function install(home: string, folder: string): Promise<void> {
  const { code, stderr } = await vtcode({ root: folder, home } as TempWorkspace, [
    'plugins',
    'add',
    '--in-place',
    folder,
    '--yes',
  ])
  if (code !== 0) throw new Error(stderr)
}
