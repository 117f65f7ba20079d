import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { findProgram, searchPath } from '../../../core/system/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { createTempFolder } from '../base/index.js'
import { runProgram, tail, type Consumer, type Ended } from '../process/index.js'
import { installAutomatically, resolveBinFolder, astGrepProgram as program } from './ast_grep_install.js'
import { pinned } from './ast_grep_pins.js'

/** VTCODE_AST_GREP_BIN, the npm package of this machine, `~/.vtcode/bin`, PATH outside the workspace; never `sg`, which is another program on Linux. */
export function findAstGrep({ root, home }: Pick<Workspace, 'root' | 'home'>): string | undefined {
  const chosen = process.env['VTCODE_AST_GREP_BIN']
  if (chosen) return chosen
  const own = [findPackaged(), join(resolveBinFolder(home), program)].find(
    (place) => place !== undefined && existsSync(place),
  )
  return own ?? findProgram(program, searchPath(process.env['PATH'], root))
}

/** The same; where there is none it is fetched, by what the settings say of the web. Throws InstallProblem. */
export async function ensureAstGrep({ workspace, signal, settings }: Context): Promise<string> {
  return findAstGrep(workspace) ?? installAutomatically(workspace.home, signal, settings.web)
}

/** Where it was found, which is looked up once: to resolve a package takes longer than a cached outline. */
let packagedPath: string | undefined

function findPackaged(): string | undefined {
  if (packagedPath !== undefined) return packagedPath
  // Of the packages that `@ast-grep/cli` chooses from, npm installs the one that fits; the package itself would copy the program by a script.
  const wanted = pinned.packages[`${process.platform} ${process.arch}`]
  try {
    return wanted && (packagedPath = createRequire(import.meta.url).resolve(`${wanted.name}/${program}`))
  } catch {
    return undefined
  }
}

export interface AstGrepEnd extends Ended {
  stderr: string
}

/** Asks ast-grep, which is fetched if it is missing. Over `resident` bytes of memory it is ended. `undefined` when it cannot be started. Throws InstallProblem. */
export async function runAstGrep(
  context: Context,
  args: string[],
  how: { cwd: string; seconds: number; input?: Buffer; resident?: number },
  onStdout: Consumer,
): Promise<AstGrepEnd | undefined> {
  const file = await ensureAstGrep(context)
  const stderr = tail()
  const started = {
    file,
    args: [args[0]!, ...toProjectFlags(args), ...args.slice(1)],
    cwd: how.cwd,
    env: readTrustVariables(),
    ...(how.input && { input: how.input }),
  }
  const burden = how.resident === undefined ? {} : { burden: { read: Infinity, resident: how.resident } }
  const ended = await runProgram(
    started,
    { signal: context.signal, seconds: how.seconds, ...burden },
    onStdout,
    stderr.take,
  )
  return ended && { ...ended, stderr: stderr.text() }
}

/**
 * Without one that is named, the program takes the nearest `sgconfig.yml` above its folder, and waits for it where it is a pipe: the one of
 * a workspace was read by us, and above a temporary folder anybody on the machine may have put one.
 */
function toProjectFlags(args: string[]): string[] {
  if (args.some((arg) => /^--config\b/.test(arg))) return []
  if (emptyProject === undefined || !existsSync(emptyProject))
    writeFileSync((emptyProject = join(createTempFolder('project'), 'sgconfig.yml')), 'ruleDirs: []\n')
  return [`--config=${emptyProject}`]
}
let emptyProject: string | undefined

/** Where the user's ast-grep notes the projects whose native languages it may load. Elsewhere it would find none of them trusted. */
const readTrustVariables = (): Record<string, string> =>
  Object.fromEntries(
    ['AST_GREP_TRUST_DIR', 'XDG_CONFIG_HOME'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  )

/** What went wrong, without back-traces, at most 20 lines. */
export const parseReasons = (stderr: string): string[] =>
  stderr
    .split('\n')
    .map((line) => line.trimEnd().slice(0, 400))
    .filter((line) => line !== '' && !/^\s*(\d+:|at )\s/.test(line) && !/^(Stack backtrace|See also)/.test(line))
    .slice(0, 20)
