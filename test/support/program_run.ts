import { spawn, type ChildProcess } from 'node:child_process'
import { createReadStream, openSync, writeFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { devNull, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { keepCompiledOf, seedCompiled } from './compiled.js'

const require = createRequire(import.meta.url)
const dist = join(dirname(require.resolve('vtcode/package.json')), 'dist/core')
/** The built program, as users start it. */
export const bin = join(dist, 'bin.cjs')

export interface ProgramRun {
  code: number | null
  stdout: string
  stderr: string
}
export interface RunOptions {
  cwd: string
  /** The whole environment. */
  env: Record<string, string>
  /** Text on stdin, which then ends; without it stdin is /dev/null. */
  input?: string
  /** Collects both streams in `stdout`, in the order of the writes. */
  merged?: boolean
  /** Lets the streams be those of one terminal, which shows both outputs; a program in a process of its own has none. */
  terminal?: boolean
}
export interface ProcessOptions extends RunOptions {
  /** Options of Node. */
  node?: string[]
  /** Keeps stdin open until stdout has this many lines. */
  lines?: number
  started?: (child: ChildProcess) => void
}

/** Runs the program as a process of its own: for tests whose subject is the process, its signals, streams, start or exit. */
export function runProcess(
  argv: readonly string[],
  { cwd, env, input, merged = false, node = [], lines = 0, started }: ProcessOptions,
): Promise<ProgramRun> {
  if (node.length === 0) seedCompiled(argv, env)
  const child = spawn(process.execPath, [...node, bin, ...argv], {
    cwd,
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  started?.(child)
  const run: ProgramRun = { code: null, stdout: '', stderr: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (run.stdout += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (run[merged ? 'stdout' : 'stderr'] += text))
  const { stdin } = child
  if (stdin) {
    stdin.on('error', () => {})
    stdin.write(input)
    const endInput = (): void => void (run.stdout.split('\n').length > lines && stdin.end())
    child.stdout!.on('data', endInput)
    endInput()
  }
  return new Promise((resolve) =>
    child.on('close', (code) => {
      if (node.length === 0) keepCompiledOf(argv, env)
      resolve({ ...run, code })
    }),
  )
}

/** Verbs that live until stdin ends or a signal comes: they read the streams of the process. */
const SERVERS = new Set(['acp', 'mcp', 'inspect', 'serve'])
/** Words after `mcp` with which it changes or lists settings and serves nobody. */
const MCP_SETTINGS = new Set(['add', 'list', 'remove', 'test'])
const isServer = (argv: readonly string[]): boolean =>
  argv.some((word, at) => SERVERS.has(word) && !(word === 'mcp' && MCP_SETTINGS.has(argv[at + 1] ?? '')))
/** The working directory and the environment belong to the whole process, so one run has them at a time. */
let running = false

/**
 * Runs one command line to its end. Where nothing needs a process of its own, the program is called in the process of the test, which
 * saves the start of Node and of the program; while another run lasts, and for servers, a process is started.
 */
export async function runProgram(argv: readonly string[], options: RunOptions): Promise<ProgramRun> {
  if (running || isServer(argv) || needsProcess(options.env)) {
    if (options.terminal) throw new Error('A process has no terminal: see typing() of terminal.ts.')
    return runProcess(argv, options)
  }
  running = true
  try {
    return await runInside(argv, options)
  } finally {
    running = false
  }
}

/** Options that change Node itself, or choose programs once per process, need a process; `--no-warnings` changes no answer. */
const needsProcess = ({ NODE_OPTIONS = '--no-warnings', ...env }: Record<string, string>): boolean =>
  NODE_OPTIONS !== '--no-warnings' || 'NODE_EXTRA_CA_CERTS' in env || 'NODE_V8_COVERAGE' in env

interface Program {
  run(argv: readonly string[]): Promise<number>
}
let RunClass: (new (host: object) => Program) | undefined

/** The streams of one run, and the signal that ends it. */
interface RunHost {
  stdin: object
  stdout: object
  stderr: object
  signal: AbortSignal
}

async function runInside(
  argv: readonly string[],
  { cwd, env, input, merged = false, terminal = false }: RunOptions,
): Promise<ProgramRun> {
  const stdout = new Collector()
  const one = merged || terminal
  const stderr = one ? stdout : new Collector()
  const stdin = inputStream(input)
  if (terminal) for (const stream of [stdin, stdout, stderr]) Object.assign(stream, { isTTY: true })
  try {
    const code = await runWith(argv, { cwd, env }, { stdin, stdout, stderr, signal: new AbortController().signal })
    return { code, stdout: stdout.text(), stderr: one ? '' : stderr.text() }
  } finally {
    stdin.destroy()
  }
}

/** Runs one command line in this process on streams of the caller, to its end. */
export async function runOnStreams(
  argv: readonly string[],
  place: Pick<RunOptions, 'cwd' | 'env'>,
  host: RunHost,
): Promise<number> {
  if (running) throw new Error('Another command runs in this process.')
  running = true
  try {
    return await runWith(argv, place, host)
  } finally {
    running = false
  }
}

async function runWith(
  argv: readonly string[],
  { cwd, env }: Pick<RunOptions, 'cwd' | 'env'>,
  host: RunHost,
): Promise<number> {
  const { load } = require(join(dist, 'loader.cjs')) as { load(file: string): unknown }
  RunClass ??= (load(join(dist, 'program_run.cjs')) as { ProgramRun: new (host: object) => Program }).ProgramRun
  const restore = enter(cwd, env)
  try {
    return await new RunClass({ ...host, env: { ...env }, onInterrupt: () => {}, front: undefined }).run(argv)
  } finally {
    restore()
  }
}

/** Changes the working directory and the environment of this process; returns what restores them. */
function enter(cwd: string, env: Record<string, string>): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env } }
  process.chdir(cwd)
  replaceEnvironment(env)
  return () => {
    replaceEnvironment(before.env)
    process.chdir(before.cwd)
  }
}

function replaceEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

/** A file as standard input: the program distinguishes files, pipes and terminals by their descriptor. */
function inputStream(input: string | undefined) {
  if (input === undefined) return createReadStream('', { fd: openSync(devNull, 'r') })
  const file = join(tmpdir(), `stdin-${process.pid}-${performance.now()}`)
  writeFileSync(file, input)
  const fd = openSync(file, 'r')
  rmSync(file)
  return createReadStream('', { fd })
}

/** Keeps what is written to it. */
class Collector extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}
