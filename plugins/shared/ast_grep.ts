/** ast-grep's native program: where it is and how it is asked. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { run, tail, type Consumer, type Ended, type Limits } from './process.js'

const program = process.platform === 'win32' ? 'ast-grep.exe' : 'ast-grep'

/** VTCODE_AST_GREP_BIN, the npm package, `~/.vtcode/bin`, PATH; never `sg`, which is another program on Linux. */
export function astGrepPath(): string | undefined {
  const chosen = process.env['VTCODE_AST_GREP_BIN']
  if (chosen) return chosen
  const places = [packaged(), join(homedir(), '.vtcode', 'bin', program), ...onPath()]
  return places.find((place) => place !== undefined && existsSync(place))
}

function packaged(): string | undefined {
  try {
    // The package's own starter is a script that costs 0.4 s a call; this is the program behind it.
    const { resolveBinaryPath } = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js') as { resolveBinaryPath(): string }
    return resolveBinaryPath()
  } catch {
    return undefined
  }
}

const onPath = (): string[] => (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute).map((folder) => join(folder, program))

export interface Answered extends Ended {
  stderr: string
}

/** Asks ast-grep. `undefined` when it is missing or cannot be started. */
export async function astGrep(
  args: string[],
  how: Limits & { cwd: string; input?: Buffer },
  onStdout: Consumer,
): Promise<Answered | undefined> {
  const file = astGrepPath()
  if (!file) return undefined
  const stderr = tail()
  const ended = await run({ file, args, cwd: how.cwd, ...(how.input && { input: how.input }) }, how, onStdout, stderr.take)
  return ended && { ...ended, stderr: stderr.text() }
}

/** What went wrong, without back-traces, at most 20 lines. */
export const reasons = (stderr: string): string[] =>
  stderr
    .split('\n')
    .map((line) => line.trimEnd().slice(0, 400))
    .filter((line) => line !== '' && !/^\s*(\d+:|at )\s/.test(line) && !/^(Stack backtrace|See also)/.test(line))
    .slice(0, 20)
