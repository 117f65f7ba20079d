import { spawn } from 'node:child_process'
import { runProgram } from './program_run.js'

/** A word of a command line that a shell would pass on unchanged: plain, in single quotes, or in double quotes without an expansion. */
const WORD = /(?:[^\s'"\\$`|;&<>(){}[\]*?~#!]|'[^']*'|"[^"$`\\]*")+/
/** `vtcode …`, alone or followed by a pipe or by another command. */
const PROGRAM_FIRST = new RegExp(`^vtcode((?: ${WORD.source})*)(?: *(?:([|;])\\s*([^|][^]*)))?$`)

/** Runs a command line of a page and returns what a terminal would show. The program runs in this process where it is the first command. */
export async function runShellLine(command: string, cwd: string, env: Record<string, string>): Promise<string> {
  const [matched, words = '', separator, rest = ''] = PROGRAM_FIRST.exec(command) ?? []
  if (matched === undefined) return inShell(command, cwd, env)
  const argv = [...words.matchAll(new RegExp(WORD, 'g'))].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double!),
  )
  if (separator === '|') {
    const { stdout, stderr } = await runProgram(argv, { cwd, env })
    return stderr + (await inShell(rest, cwd, env, stdout))
  }
  const { code, stdout } = await runProgram(argv, { cwd, env, merged: true })
  return separator === ';' ? stdout + (await inShell(`(exit ${code})\n${rest}`, cwd, env)) : stdout
}

async function inShell(command: string, cwd: string, env: Record<string, string>, input?: string): Promise<string> {
  const child = spawn('sh', ['-c', `exec 2>&1\n${command}`], {
    cwd,
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'ignore'],
  })
  child.stdin?.on('error', () => {}).end(input)
  let printed = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
  await new Promise((resolve) => child.on('close', resolve))
  return printed
}
