import { constants, copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { inject } from 'vitest'

// The program keeps what V8 made of it in the home of its user. Every test has a home of its own, so every process would compile the program
// again, which is half of the time that a start takes.

/** Environment of a process. */
type Environment = Record<string, string | undefined>

/** A file has to grow by this much to replace the one that the run has. */
const GROWTH = 1.05
let isCold = false
/** Lets the processes of this test file compile the program for themselves. */
export const startCold = (): void => void (isCold = true)

/** Copies what other processes of this run have compiled into the home of a process that is about to start. */
export function seedCompiled(argv: readonly string[], env: Environment): void {
  const folder = folderOf(argv, env)
  try {
    // A file is named after the verb and, of a call, the tool and the action; a verb whose module has another name than itself is `none`.
    const words = new Set(argv.length === 0 ? ['chat'] : argv.includes('mcp') ? ['none'] : argv)
    const names =
      folder === undefined
        ? []
        : readdirSync(storeOfRun()).filter((name) =>
            name
              .split('-')
              .slice(0, -1)
              .every((part) => words.has(part)),
          )
    if (names.length === 0) return
    mkdirSync(folder!, { recursive: true, mode: 0o700 })
    if (lstatSync(folder!).mode & 0o077) return
    for (const name of names)
      if (!existsSync(join(folder!, name)))
        copyFileSync(join(storeOfRun(), name), join(folder!, name), constants.COPYFILE_FICLONE)
  } catch {
    // The process compiles.
  }
}

/** Keeps for other processes what a process that has ended has compiled. */
export function keepCompiledOf(argv: readonly string[], env: Environment): void {
  const folder = folderOf(argv, env)
  try {
    for (const name of folder === undefined ? [] : readdirSync(folder)) {
      const [from, to] = [join(folder!, name), join(storeOfRun(), name)]
      const { size } = lstatSync(from)
      if (existsSync(to) && size < statSync(to).size * GROWTH) continue
      mkdirSync(storeOfRun(), { recursive: true })
      const part = join(storeOfRun(), `part-${process.pid}`)
      copyFileSync(from, part)
      renameSync(part, to)
    }
  } catch {
    // Another process keeps its own.
  }
}

const storeOfRun = (): string => join(inject('run'), 'compiled')

/** Returns the folder in which this process keeps what is compiled, if it has an ordinary home and the flags of V8 that others have. */
function folderOf(argv: readonly string[], env: Environment): string | undefined {
  const home = env['VTCODE_HOME'] ?? (env['HOME'] && join(env['HOME'], '.vtcode'))
  if (
    isCold ||
    !home ||
    !isAbsolute(home) ||
    !/^(?:--import=data:\S+)?$/.test(env['NODE_OPTIONS'] ?? '') ||
    env['NODE_V8_COVERAGE'] ||
    argv.some((word) => word.startsWith('--home'))
  )
    return undefined
  try {
    const stats = lstatSync(existsSync(home) ? home : dirname(home))
    return stats.isDirectory() && stats.uid === process.getuid?.() ? join(home, 'cache/compiled') : undefined
  } catch {
    return undefined
  }
}
