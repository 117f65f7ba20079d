import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problem, VtError } from '../../../core/shapes/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { createSlotError, createTempFolder } from '../base/index.js'
import { hasPositiveGlob, type FileSelection } from '../globs/index.js'
import {
  activityOf,
  lines,
  runProgram,
  watchable,
  type Consumer,
  type Ended,
  type ProcessLimits,
} from '../process/index.js'
import { ignoreMissing } from './entries.js'

/** Which entries of a directory count; the same for every search action. */
export interface WalkOptions extends FileSelection {
  include_hidden?: boolean
  include_ignored?: boolean
  /** Walk through links that stay inside the workspace. */
  follow?: boolean
  max_depth?: number
}
export interface RipgrepEnd extends Ended {
  /** The complaints of ripgrep, without entries that vanished during the walk. */
  complaints: string[]
}

/** No search opens a larger file unless it is named. */
export const MAX_SEARCHED_BYTES = 256 * 1024 * 1024
/** The largest file that is parsed unless named: a parser takes hundreds of times its size. */
export const MAX_PARSED_BYTES = 8 * 1024 * 1024
/** What the parser of one large file may take: it was named, but the machine is not its own. */
export const PARSER_MEMORY_BYTES = 1024 ** 3
/** A parser needs many times the memory of what it reads. */
export const tooLargeToParse = (path: string, bytes: number): VtError =>
  createSlotError('VT_INPUT_TOO_LARGE', `'${path}' has ${bytes} bytes; at most ${MAX_SEARCHED_BYTES} are parsed.`, {
    hint: 'Search it with {slot:unified_search/grep}. Read it in pages with {slot:unified_file/read}.',
  })
/** A file whose parser does not come to an end. */
export const tooHardToParse = (path: string): VtError =>
  createSlotError('VT_INPUT_TOO_LARGE', `'${path}' takes too long, or too much memory, to parse.`, {
    hint: 'Search it with {slot:unified_search/grep}. Read a part of it with {slot:unified_file/read}.',
  })
/** Where a walk stops. */
export const WALK_LIMITS = { entries: 200_000, depth: 64, seconds: 10 }
/** Left out of every walk that does not start at or below them, unless a glob names them. */
const EXCLUDED_NAMES = ['.git', 'node_modules', '.vtcode']

/** The program; `undefined` without a package for this platform. VTCODE_RIPGREP_BIN names another. */
export async function findRipgrep(): Promise<string | undefined> {
  const chosen = process.env['VTCODE_RIPGREP_BIN']
  if (chosen) return chosen
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch {
    return undefined
  }
}

/** Bytes that a walk may take: files are read in pieces or up to a size, several at a time. */
const MAX_WALK_BYTES = 256 * 1024 ** 2

/** An idle walk of that length waits for a pipe in the place of an ignore file. */
const STALL_MS = 2000

/**
 * Asks ripgrep in a directory, or about files that are named, and hands its output to the consumer. `undefined` when it cannot be started,
 * dies or hangs. `onLog` gets its debug lines, which are the only place where it says what it left out and why.
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
  const stderr = lines(createStderrReader(complaints, onLog))
  const common = ['--no-config', '--color=never', ...(onLog ? ['--debug'] : [])]
  const isWalk = where !== 'named files'
  const cwd = isWalk ? where.ref : '/'
  const program = { file, args: [...common, ...args], cwd, late_stderr: onLog !== undefined }
  // An ignore file of a repository may be a link to a device.
  const isUnlimited = isWalk && limits.burden === undefined
  const own = isUnlimited ? { burden: { read: Infinity, resident: MAX_WALK_BYTES } } : {}
  using stall = watchStall(isWalk && watchable, { ...limits, ...own }, onStdout)
  const ended = await runProgram(program, stall.limits, stall.take, stderr.take).catch((error: unknown) => {
    if (!stall.found()) throw error
  })
  // A program that died reported a part at best, which is no answer.
  const isSilentWalk = isWalk && limits.burden?.read === Infinity && stall.silent()
  const heavy = ended?.overburdened && (isUnlimited || isSilentWalk)
  if (!ended || heavy || hasDied(ended)) return undefined
  stderr.end()
  return { ...ended, complaints }
}

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

const hasDied = (ended: Ended): boolean => hasEndedByItself(ended) && ![0, 1, 2].includes(ended.exit_code ?? -1)

/** Ends a program that does nothing any more; where the system does not show what it does, never. */
function watchStall(isWatched: boolean, limits: ProcessLimits, onStdout: Consumer) {
  const stop = new AbortController()
  let [pid, written, before] = [0, 0, -1]
  const checkActivity = (): void => {
    const now = written + activityOf(pid)
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

/** Whether a program ended by itself, and not because we had enough. */
const hasEndedByItself = ({ timed_out, stopped, overburdened }: Ended): boolean =>
  !timed_out && !stopped && !overburdened

/** Throws VT_INPUT_INVALID where ripgrep complains about a glob. */
export function requireValidGlobs(complaints: string[]): void {
  const [, glob] = /error parsing glob (.*)/s.exec(complaints.join('\n')) ?? []
  if (glob) throw problem('VT_INPUT_INVALID', { problem: `'globs': ${glob}.` })
}

/** The flags of one walk. The function given gets them; files made for them are gone afterwards. */
export async function withWalk<T>(
  workspace: Workspace,
  directory: Handle,
  discovery: WalkOptions,
  use: (flags: string[]) => Promise<T>,
): Promise<T> {
  const flags = ['--no-require-git', '--no-ignore-global', '--no-ignore-messages']
  if (discovery.include_hidden) flags.push('--hidden')
  if (discovery.include_ignored) flags.push('--no-ignore')
  if (discovery.max_depth !== undefined) flags.push('--max-depth', String(discovery.max_depth))
  // Also those that begin with a dot: a rule of an ignore file would bring them back, as `!.*` does.
  const { globs = [] } = discovery
  for (const name of listExcludedNames(directory.path, globs)) flags.push('-g', `!**/${name}`)
  // A glob that selects becomes an ignore rule, because it would bring ignored files back. Here only its faults count.
  for (const glob of globs) flags.push(hasPositiveGlob(globs) ? '--pre-glob' : '-g', glob)
  const own = discovery.include_ignored ? undefined : await readOwnRules(workspace, directory.resolved)
  const rules = [...toNarrowingRules(discovery), ...(own === undefined ? [] : [own])]
  if (rules.length === 0) return use(flags)
  const folder = createTempFolder('walk')
  try {
    await writeFile(join(folder, 'ignore'), rules.join('\n'))
    return await use([...flags, '--ignore-file', join(folder, 'ignore')])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Ignore rules that keep what globs or extensions select; all others go before them. */
function toNarrowingRules({ globs = [], file_extensions = [], include_hidden }: WalkOptions): string[] {
  const chosen = hasPositiveGlob(globs)
    ? globs.map((glob) => (glob.startsWith('!') ? glob.slice(1) : `!${glob}`))
    : file_extensions.map((extension) => `!*.${escapeGlob(extension.replace(/^\./, ''))}`)
  // What a rule keeps is kept though its name begins with a dot.
  return chosen.length === 0 ? [] : ['*', '!*/', ...chosen, ...(include_hidden ? [] : ['.*'])]
}

/** The names that a walk from `path` leaves out wherever it meets them. */
export function listExcludedNames(path: string, globs: string[] = []): string[] {
  const above = path.split('/')
  return EXCLUDED_NAMES.filter(
    (name) => !above.includes(name) && !globs.some((glob) => !glob.startsWith('!') && glob.split('/').includes(name)),
  )
}

const escapeGlob = (text: string): string => text.replace(/[\\*?[\]{},!]/g, '\\$&')

/** The rules of `.vtcodegitignore` relative to `path`, as ripgrep takes them. */
async function readOwnRules(workspace: Workspace, path: string): Promise<string | undefined> {
  const text = await workspace.readText('.vtcodegitignore', { max_bytes: 1_048_576 }).catch(ignoreMissing)
  if (text === undefined || path === '.') return text
  return text
    .split(/\r?\n/)
    .flatMap((line) => rebase(line, path) ?? [])
    .join('\n')
}

/** A rule of the root as a rule of `path`; `undefined` if it concerns nothing below. */
function rebase(line: string, path: string): string | undefined {
  const [, not, rule] = /^(!?)(.*)$/.exec(line)!
  const anchored = /\/(?=.)/.test(rule!.trimEnd())
  if (!anchored || rule!.startsWith('**/')) return line
  const plain = rule!.replace(/^\//, '')
  return plain.startsWith(`${path}/`) ? `${not}/${plain.slice(path.length + 1)}` : undefined
}
