import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty } from 'node:tty'
import { firstLine, nearest, problem, redactText, version, visible, visibleLine, VtError, type Problem } from './base/index.js'
import { guarded, keepCompiled, leaveReport, levels, readCommandLine, CommandLineError } from './cli/index.js'
import { homeOf } from './config/index.js'
import { plainly } from './input/index.js'
import { createKernel, endBy, type Io, type Kernel, type KernelOptions, type LogLevel } from './kernel/index.js'

const interrupted = 130
/** Verbs that say by themselves what is wrong with plugins. */
const tells = new Set(['call', 'doctor', 'help', 'plugins', 'trust'])
const stop = new AbortController()
// Text of others goes to a person through these; what a program reads from a pipe is data.
const screen = guarded(process.stderr)
if (process.stdout.isTTY) guarded(process.stdout)
/** The time for programs, servers and sessions to end when the program ends abnormally. */
const closing_ms = 2000

// One key press may reach us twice, from the terminal and from the parent program; a second press soon after means to end at once.
const press = { once_ms: 200, again_ms: 1000 }
const settling_ms = 20
let pressed = -Infinity
let cancelling = false
let instead: (() => boolean) | undefined
process.on('SIGINT', () => {
  const since = performance.now() - pressed
  if (since < press.once_ms) return
  pressed = performance.now()
  if (stop.signal.aborted || (cancelling && since < press.again_ms)) process.exit(interrupted)
  cancelling = instead ? instead() : true
  if (!instead) stop.abort()
})
// A terminal in raw mode is given back to the shell while we are stopped, and taken again when we continue.
if (isTerminal()) process.on('SIGTSTP', suspend)
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
// A reader that closed the pipe ends the work; this is no error.
process.stdout.on('error', () => stop.abort())
process.stderr.on('error', () => {})

// An uncaught error ends the program as a failure of its verb would; Node itself restores the terminal as it exits.
let close = async (): Promise<void> => {}
/** What was said of the home. */
let told: Pick<KernelOptions, 'home' | 'env'> = {}
let early: Early | undefined
endBy((error) => {
  const over = (): never => process.exit(code)
  const code = report(error)
  setTimeout(over, closing_ms)
  close().then(over, over)
})
/** A front that has the terminal: until its verb is begun, it shows what there is to say, or gives the terminal back. */
interface Early {
  say(text: string): void
  end(): void
}
/** Runs the program, to whose verb a front of its own may have answered already, and ends the process. */
export async function startProgram(front: unknown): Promise<never> {
  if (front && typeof front === 'object' && 'say' in front) early = front as Early
  const code = await main(process.argv.slice(2), front).catch(report)
  await flushed()
  keepCompiled()
  return process.exit(stop.signal.aborted ? interrupted : code)
}

/** Whether a person types. To ask loads what takes longer than to see that it is a file, a pipe, or nothing. */
function isTerminal(): boolean {
  const input = fstatSync(0)
  return input.isCharacterDevice() && input.rdev !== statSync(devNull, { throwIfNoEntry: false })?.rdev && isatty(0)
}

function suspend(): void {
  const { isRaw } = process.stdin
  const listening = !process.stdin.isPaused()
  process.stdin.setRawMode(false)
  process.off('SIGTSTP', suspend)
  process.kill(process.pid, 'SIGTSTP')
  // The process stops here; the system does not stop a process that nobody could continue.
  setTimeout(() => {
    process.on('SIGTSTP', suspend)
    if (isRaw) process.stdin.setRawMode(true)
    if (listening) process.stdin.resume()
  }, settling_ms)
}

async function main(argv: string[], front: unknown): Promise<number> {
  const { options, env: extraEnv, log, quiet, verb, rest } = readCommandLine(argv)
  if (verb === undefined && rest.includes('--version')) {
    process.stdout.write(`${version}\n`)
    return 0
  }
  // A person without a verb gets the chat; a program without a verb gets an error.
  const intended = verb ?? (rest.includes('--help') || rest.includes('-h') ? 'help' : process.stdin.isTTY ? 'chat' : undefined)
  const env = { ...process.env, ...extraEnv }
  told = { ...options, env }
  const io: Io = { get stdin() { return process.stdin }, stdout: process.stdout, stderr: process.stderr, screen, env, signal: stop.signal, quiet, interrupts: (handler) => void (instead = handler), front }
  const kernel = await createKernel({ ...options, env, ...(intended !== undefined && { verb: intended }), surface: intended ?? 'help', signal: stop.signal, ...(log && { log: logFrom(log) }) })
  close = kernel.close
  try {
    if (stop.signal.aborted) return interrupted
    const isSilent = intended !== undefined && !tells.has(intended)
    // A plugin that is no longer what was agreed to is left out, its guards with it: whoever starts something here is told.
    if (isSilent) say(kernel, 'VT_PLUGIN_LOCK')
    const surface = intended === undefined ? undefined : await kernel.surface(intended)
    if (!surface) early?.end()
    early = undefined
    const code = surface ? await surface(kernel, rest, io) : usage(kernel, verb)
    if (isSilent) say(kernel, 'VT_STATE_FOREIGN')
    if (intended !== verb && code === 3) process.stderr.write('See `vtcode help` for what else there is.\n')
    return code
  } finally {
    await kernel.close()
  }
}

const tell = (text: string): unknown => (early ? early.say(text) : process.stderr.write(text))

/** What the kernel has found of one kind, for a person who started something else. */
function say(kernel: Kernel, wanted: string): void {
  const texts = kernel.diagnostics().flatMap(({ code, message, hint }) => (code === wanted ? [plainly(`${message} ${hint}`)] : []))
  for (const text of new Set(texts)) tell(`vtcode: warning: ${text.replace(/\p{Cc}+/gu, ' ')}\n`)
}

function usage(kernel: Kernel, verb = ''): number {
  const verbs = kernel.contributions().flatMap((known) => (known.kind === 'surface' && known.verb ? [known.verb] : []))
  const like = nearest(verb, verbs)
  const wrong = verb ? `Unknown verb '${verb}'${like ? ` (did you mean ${like}?)` : ''}` : 'Say what to do'
  process.stderr.write(`vtcode: error: ${wrong}; known verbs: ${verbs.sort().join(', ')}.\nSee \`vtcode help\`.\n`)
  return 2
}

/** The logs of plugins, from this level on. */
function logFrom(least: LogLevel): NonNullable<KernelOptions['log']> {
  return (level, message) => {
    if (levels.indexOf(level as LogLevel) >= levels.indexOf(least)) process.stderr.write(`vtcode: ${level}: ${visibleLine(message.replace(/\p{Cc}+/gu, ' '))}\n`)
  }
}

/** A wrong command line is exit 2, wrong settings are exit 3; any other error is a fault of ours or of a surface. */
function report(error: unknown): number {
  early?.end()
  const wrong = error instanceof CommandLineError
  const { code, message, hint } = wrong ? { code: '', message: error.message, hint: 'See `vtcode help`.' } : error instanceof VtError ? error.problem : internal(error)
  process.stderr.write(visible(redactText(`vtcode: error: ${message}\n${wrong ? '' : '  '}${plainly(hint)}\n`)))
  return wrong ? 2 : code.startsWith('VT_CONFIG_') ? 3 : 1
}

function internal(error: unknown): Problem {
  const known = problem('VT_INTERNAL', { reason: firstLine(error), report: leaveReport(error, homeOf(told)) }).problem
  return { ...known, message: `${known.code}: ${known.message}` }
}

/** Resolves when everything written to stdout has been flushed. */
function flushed(): Promise<void> {
  return new Promise((resolve) => (process.stdout.writableLength === 0 || stop.signal.aborted ? resolve() : process.stdout.write('', () => resolve())))
}
