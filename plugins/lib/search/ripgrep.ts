import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problem, VtError } from '../../../core/shapes/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { createSlotError, createTempFolder } from '../base/index.js'
import { findNamedPaths, hasPositiveGlob, isInRepository, readLinkedExclude } from '../globs/index.js'
import {
  measureActivity,
  createLineReader,
  runProgram,
  canWatchUsage,
  type Consumer,
  type ProgramEnd,
  type ProcessLimits,
} from '../process/index.js'
import { ignoreMissing, listExcludedNames, type WalkOptions } from '../walk/index.js'

export interface RipgrepEnd extends ProgramEnd {
  /** The complaints of ripgrep, without entries that vanished during the walk. */
  complaints: string[]
  /** Set if a walk exceeded the memory of every walk. */
  heavy?: boolean
}

/** The engine printed something else than it does. */
export class EngineFault extends Error {}

/** A larger file is searched only if the call names it. */
export const MAX_SEARCHED_BYTES = 256 * 1024 * 1024
/** A larger file is parsed only if the call names it: a parser needs hundreds of times its size. */
export const MAX_PARSED_BYTES = 8 * 1024 * 1024
/** Memory limit of a parser for one large named file. */
export const PARSER_MEMORY_BYTES = 1024 ** 3
/** Creates the refusal of a file over the limit of searches. */
export const tooLargeToParse = (path: string, bytes: number): VtError =>
  createSlotError('VT_INPUT_TOO_LARGE', `'${path}' has ${bytes} bytes; at most ${MAX_SEARCHED_BYTES} are parsed.`, {
    hint: 'Search it with {slot:unified_search/grep}. Read it in pages with {slot:unified_file/read}.',
  })
/** Creates the refusal of a file whose parser does not finish. */
export const tooHardToParse = (path: string): VtError =>
  createSlotError('VT_INPUT_TOO_LARGE', `'${path}' takes too long, or too much memory, to parse.`, {
    hint: 'Search it with {slot:unified_search/grep}. Read a part of it with {slot:unified_file/read}.',
  })
/**
 * Returns the path of ripgrep: VTCODE_RIPGREP_BIN, else the npm package. `undefined` without a package for this
 * platform.
 */
export async function findRipgrep(): Promise<string | undefined> {
  const chosen = process.env['VTCODE_RIPGREP_BIN']
  if (chosen) return chosen
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch {
    return undefined
  }
}

/** Memory limit of a walk, in bytes. */
const MAX_WALK_BYTES = 256 * 1024 ** 2

/** A walk that is idle for this long is ended: another engine takes its place. */
const STALL_MS = 2000

/**
 * Runs ripgrep in a directory or on named files and passes its output to the consumer. Returns `undefined` when
 * ripgrep cannot be started, dies, hangs or prints garbage. `onLog` gets the debug lines, which alone name the files
 * that were left out.
 */
export async function runRipgrep(
  where: Handle | 'named files',
  args: string[],
  limits: ProcessLimits,
  onStdout: Consumer,
  onLog?: (line: string) => void,
): Promise<RipgrepEnd | undefined> {
  const file = await findRipgrep()
  if (!file) return undefined
  const complaints: string[] = []
  const stderr = createLineReader(createStderrReader(complaints, onLog))
  const isWalk = where !== 'named files'
  const cwd = isWalk ? where.ref : '/'
  const program = {
    file,
    args: [...toCommonFlags(onLog), ...args],
    cwd,
    late_stderr: onLog !== undefined,
    hot: true as const,
  }
  // Walks are limited in memory, because the files of a repository decide what they read.
  const isUnlimited = isWalk && limits.maxUsage === undefined
  const own = isUnlimited ? { maxUsage: { read: Infinity, resident: MAX_WALK_BYTES } } : {}
  const isAccepted = (error: unknown): boolean => stall.found() || error instanceof EngineFault
  using stall = watchStall(isWalk && canWatchUsage, { ...limits, ...own }, onStdout)
  const ended = await runProgram(program, stall.limits, stall.take, stderr.take).catch((error: unknown) => {
    if (!isAccepted(error)) throw error
  })
  // A program that died reported at most a part of the answer.
  const isHeavy = () => isUnlimited || (isWalk && limits.maxUsage?.read === Infinity && stall.silent())
  if (!ended || hasDied(ended)) return undefined
  stderr.end()
  return { ...ended, complaints, ...(ended.overLimit && isHeavy() && { heavy: true }) }
}

const toCommonFlags = (onLog: unknown): string[] => ['--no-config', '--color=never', ...(onLog ? ['--debug'] : [])]

function createStderrReader(complaints: string[], onLog?: (line: string) => void): (line: Buffer) => void {
  // A debug message may have several lines, of which the first is marked.
  let log = false
  return (line) => {
    const text = line.toString()
    if (text.startsWith('rg: ')) log = text.startsWith('rg: DEBUG|')
    if (log) onLog?.(text)
    else if (complaints.length < 100 && !NO_FILE.test(text)) complaints.push(text.replace(/^rg: /, ''))
  }
}
const NO_FILE = /No such file or directory \(os error 2\)$/

const hasDied = (ended: ProgramEnd): boolean => hasEndedByItself(ended) && ![0, 1, 2].includes(ended.exit_code ?? -1)

/** Stops a program that is idle. Does nothing where the system does not report the activity of a process. */
function watchStall(isWatched: boolean, limits: ProcessLimits, onStdout: Consumer) {
  const stop = new AbortController()
  let [pid, written, before] = [0, 0, -1]
  const checkActivity = (): void => {
    const now = written + measureActivity(pid)
    if (now === before) stop.abort()
    before = now
  }
  const timer = isWatched ? setInterval(checkActivity, STALL_MS) : undefined
  const onStart = (started: number): void => {
    pid = started
    limits.onStart?.(started)
  }
  const take: Consumer = (chunk) => {
    written += chunk.length
    return onStdout(chunk)
  }
  return {
    limits: { ...limits, onStart, signal: AbortSignal.any([limits.signal, stop.signal]) },
    take,
    silent: () => written === 0,
    found: () => stop.signal.aborted && !limits.signal.aborted,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** Returns whether a program ended by itself and was not stopped. */
export const hasEndedByItself = ({ timed_out, stopped, overLimit }: ProgramEnd): boolean =>
  !timed_out && !stopped && !overLimit

/** Throws VT_INPUT_INVALID if ripgrep complains about a glob. */
export function requireValidGlobs(complaints: string[]): void {
  const [, glob] = /error parsing glob (.*)/s.exec(complaints.join('\n')) ?? []
  if (glob) throw problem('VT_INPUT_INVALID', { problem: `'globs': ${glob}.` })
}

/** Calls `use` with the flags of one walk, then removes the files made for them. */
export async function withWalk<T>(
  workspace: Workspace,
  directory: Handle,
  discovery: WalkOptions,
  use: (flags: string[]) => Promise<T>,
): Promise<T> {
  const flags = ['--no-ignore-global', '--no-ignore-messages']
  // With this flag ripgrep knows no repositories, so rules of an outer one would count in an inner one.
  if (!isInRepository(join(workspace.root, directory.resolved))) flags.push('--no-require-git')
  const { globs = [] } = discovery
  // The caller leaves out hidden files that no glob names.
  const include_hidden = discovery.include_hidden === true || findNamedPaths(globs).hasDots
  if (include_hidden) flags.push('--hidden')
  if (discovery.include_ignored) flags.push('--no-ignore')
  if (discovery.max_depth !== undefined) flags.push('--max-depth', String(discovery.max_depth))
  // Names that begin with a dot are excluded too: a rule such as `!.*` would include them again.
  for (const name of listExcludedNames(directory.path, globs)) flags.push('-g', `!**/${name}`)
  // A selecting glob becomes an ignore rule, because it would include ignored files again. Here ripgrep only
  // validates it.
  for (const glob of globs) flags.push(hasPositiveGlob(globs) ? '--pre-glob' : '-g', glob)
  const own = discovery.include_ignored ? [] : await readOwnRules(workspace, directory.resolved)
  const rules = [...toNarrowingRules({ ...discovery, include_hidden }), ...own]
  if (rules.length === 0) return use(flags)
  const folder = createTempFolder('walk')
  try {
    await writeFile(join(folder, 'ignore'), rules.join('\n'))
    return await use([...flags, '--ignore-file', join(folder, 'ignore')])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns ignore rules that keep only files selected by globs or extensions. Other rules take precedence. */
function toNarrowingRules({ globs = [], file_extensions = [], include_hidden }: WalkOptions): string[] {
  const chosen = hasPositiveGlob(globs)
    ? globs.map((glob) => (glob.startsWith('!') ? glob.slice(1) : `!${glob}`))
    : file_extensions.map((extension) => `!*.${escapeGlob(extension.replace(/^\*?\./, ''))}`)
  // A rule that keeps a file also keeps one whose name begins with a dot.
  return chosen.length === 0 ? [] : ['*', '!*/', ...chosen, ...(include_hidden ? [] : ['.*'])]
}

const escapeGlob = (text: string): string => text.replace(/[\\*?[\]{},!]/g, '\\$&')

/** Reads the rules that ripgrep does not find itself, relative to `path`. The last ones take precedence. */
async function readOwnRules(workspace: Workspace, path: string): Promise<string[]> {
  const text = await workspace.readText('.vtcodegitignore', { max_bytes: 1_048_576 }).catch(ignoreMissing)
  const linked = readLinkedExclude(join(workspace.root, path))
  return [
    ...(text === undefined ? [] : rebaseAll(text, path)),
    ...(linked === undefined ? [] : rebaseAll(linked.text, linked.below)),
  ]
}

const rebaseAll = (text: string, path: string): string[] => {
  const lines = text.split(/\r?\n/)
  return path === '.' || path === '' ? lines : lines.flatMap((line) => rebase(line, path) ?? [])
}

/** Converts a rule of the root to a rule of `path`; `undefined` if the rule matches nothing below. */
function rebase(line: string, path: string): string | undefined {
  const [, not, rule] = /^(!?)(.*)$/.exec(line)!
  const anchored = /\/(?=.)/.test(rule!.trimEnd())
  if (!anchored || rule!.startsWith('**/')) return line
  const plain = rule!.replace(/^\//, '')
  return plain.startsWith(`${path}/`) ? `${not}/${plain.slice(path.length + 1)}` : undefined
}
