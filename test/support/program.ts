import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { TempWorkspace } from 'vtcode/test'

/** The built program, as users start it. */
export const bin = join(dirname(createRequire(import.meta.url).resolve('vtcode/package.json')), 'dist/core/bin.cjs')

/** What tells our programs that they run on another system: they take the ways that they take there. */
export const as = (platform: string): Record<string, string> => ({ NODE_OPTIONS: `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})` })

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** The surroundings of a user who has set nothing. */
export const surroundings = ({ home }: TempWorkspace, env: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH!,
  HOME: home,
  ...env,
})

/** Runs `vtcode …` in a workspace to its end; the input of a server stays open until it has said so many `lines`, however slow the machine is. */
export function vtcode(workspace: TempWorkspace, argv: string[], how: { stdin?: string; lines?: number; env?: Record<string, string>; cwd?: string } = {}): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...argv], { cwd: how.cwd ?? workspace.root, env: surroundings(workspace, how.env) })
  const ran: Ran = { code: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text))
  child.stdin.on('error', () => {})
  child.stdin.write(how.stdin ?? '')
  const close = (): void => void (ran.stdout.split('\n').length > (how.lines ?? 0) && child.stdin.end())
  child.stdout.on('data', close)
  close()
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ran, code })))
}

/** Agrees to a plugin that a test has put into the user's folder, as that user would. */
export async function install(home: string, folder: string): Promise<void> {
  const { code, stderr } = await vtcode({ root: folder, home } as TempWorkspace, ['plugins', 'add', '--in-place', folder, '--yes'])
  if (code !== 0) throw new Error(stderr)
}
