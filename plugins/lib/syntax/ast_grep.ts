import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { createTempFolder } from '../base/index.js'
import { runProgram, createTail, type Consumer, type ProgramEnd } from '../process/index.js'
import { installAutomatically, resolveBinFolder, astGrepProgram as program } from './ast_grep_install.js'
import { pinned } from './ast_grep_pins.js'

/**
 * Finds ast-grep: VTCODE_AST_GREP_BIN, the npm package, `~/.vtcode/bin`, PATH outside the workspace. Never `sg`,
 * which is another program on Linux.
 */
export function findAstGrep({ root, home }: Pick<Workspace, 'root' | 'home'>): string | undefined {
  const chosen = process.env['VTCODE_AST_GREP_BIN']
  if (chosen) return chosen
  const own = [findPackaged(), join(resolveBinFolder(home), program)].find(
    (place) => place !== undefined && existsSync(place),
  )
  return own ?? findProgram(program, listSearchFolders(process.env['PATH'], root))
}

/** Finds ast-grep, or downloads it as the web settings permit. Throws InstallProblem. */
export async function ensureAstGrep({ workspace, signal, settings }: Context): Promise<string> {
  return findAstGrep(workspace) ?? installAutomatically(workspace.home, signal, settings.web)
}

/** Path in the npm package, resolved once: resolving takes longer than a cached outline. */
let packagedPath: string | undefined

function findPackaged(): string | undefined {
  if (packagedPath !== undefined) return packagedPath
  // npm installs the platform package that `@ast-grep/cli` depends on; `@ast-grep/cli` itself copies the program by
  // an install script.
  const wanted = pinned.packages[`${process.platform} ${process.arch}`]
  try {
    return wanted && (packagedPath = createRequire(import.meta.url).resolve(`${wanted.name}/${program}`))
  } catch {
    return undefined
  }
}

export interface AstGrepEnd extends ProgramEnd {
  stderr: string
}

/** Commands that print totals. */
const SEARCHES = ['run', 'scan']
/** Greater status codes are those of a panic, of the shell and of signals. */
const MAX_STATUS = 100

/**
 * Runs ast-grep, and downloads it if missing. Stops it over `resident` bytes of memory. Returns `undefined` when it
 * cannot be started. A search that did not print its totals has no `exit_code`, as after a signal. Throws
 * InstallProblem.
 */
export async function runAstGrep(
  context: Context,
  args: string[],
  how: { cwd: string; seconds: number; input?: Buffer; resident?: number },
  onStdout: Consumer,
): Promise<AstGrepEnd | undefined> {
  const file = await ensureAstGrep(context)
  const stderr = createTail()
  const isSearch = SEARCHES.includes(args[0]!) && args.includes('--json=stream') && !args.includes('--stdin')
  const started = {
    file,
    args: [args[0]!, ...toProjectFlags(args), ...(isSearch ? ['--inspect=summary'] : []), ...args.slice(1)],
    cwd: how.cwd,
    env: readTrustVariables(),
    ...(how.input && { input: how.input }),
    hot: true as const,
  }
  const usageLimit = how.resident === undefined ? {} : { maxUsage: { read: Infinity, resident: how.resident } }
  const ended = await runProgram(
    started,
    { signal: context.signal, seconds: how.seconds, ...usageLimit },
    onStdout,
    stderr.take,
  )
  if (!ended) return undefined
  const text = stderr.text()
  const isWhole = !isSearch || (ended.exit_code ?? 0) > 1 || /^sg: summary\|file: /m.test(text)
  const exit_code = isWhole && (ended.exit_code ?? 0) < MAX_STATUS ? ended.exit_code : undefined
  return { ...ended, exit_code, stderr: text.replace(/^sg: .*\n?/gm, '') }
}

/**
 * Returns `--config` with an empty project unless the arguments name one. Otherwise ast-grep reads the nearest
 * `sgconfig.yml` above its folder: any user of the machine may have put one above a temporary folder, and a pipe
 * would block it.
 */
function toProjectFlags(args: string[]): string[] {
  if (args.some((arg) => /^--config\b/.test(arg))) return []
  if (emptyProject === undefined || !existsSync(emptyProject))
    writeFileSync((emptyProject = join(createTempFolder('project'), 'sgconfig.yml')), 'ruleDirs: []\n')
  return [`--config=${emptyProject}`]
}
let emptyProject: string | undefined

/** Returns the variables that locate the user's list of trusted ast-grep projects. */
const readTrustVariables = (): Record<string, string> =>
  Object.fromEntries(
    ['AST_GREP_TRUST_DIR', 'XDG_CONFIG_HOME'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  )

/** Returns the error lines without stack traces, at most 20. */
export const parseReasons = (stderr: string): string[] =>
  stderr
    .split('\n')
    .map((line) => line.trimEnd().slice(0, 400))
    .filter((line) => line !== '' && !/^\s*(\d+:|at )\s/.test(line) && !/^(Stack backtrace|See also)/.test(line))
    .slice(0, 20)
