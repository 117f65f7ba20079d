import { omitUndefined, firstLine, problem, VtError, type Problem } from './shapes/index.js'
import { version } from './system/index.js'
import { findNearest, redactText, visible, visibleLine } from './text/index.js'
import {
  CommandLineError,
  explainFlagHabit,
  explainVerbHabit,
  guardStream,
  writeCrashReport,
  LOG_LEVELS,
  readCommandLine,
  requireReachingFlags,
  type CommandLine,
} from './cli/index.js'
import { resolveHome } from './config/index.js'
import { renderPlainText } from './input/index.js'
import type { Io, Kernel, KernelOptions, LogLevel } from './contract/index.js'
import { createKernel } from './kernel/index.js'

/** Exit code of a run that a signal ended. */
export const INTERRUPTED = 130
const VERSION_FLAGS = new Set(['--version', '-v', '-V'])
const findFlagHabit = (words: readonly string[]): string | undefined =>
  words.map(explainFlagHabit).find((text) => text !== undefined)
/** Verbs that report faults of plugins themselves. */
const REPORTING_VERBS = new Set(['call', 'doctor', 'help', 'plugins', 'trust'])

/** The streams, environment and signal of one run. Relative paths start at the working directory of the process. */
export type ProgramHost = Pick<Io, 'env' | 'signal' | 'onInterrupt' | 'front'> &
  Record<'stdout' | 'stderr', NodeJS.WriteStream> & { readonly stdin: NodeJS.ReadStream }

/** A front that uses the terminal: it shows messages until its verb starts, or gives the terminal back. */
interface EarlyFront {
  say(text: string): void
  end(): void
}

/** One run of the command line program. It touches no stream, signal handler or exit code of the process. */
export class ProgramRun {
  readonly #host: ProgramHost
  /** Stderr for text that moves the cursor; all other text goes through the guard. */
  readonly #screen: NodeJS.WriteStream
  #kernel: Kernel | undefined
  #early: EarlyFront | undefined
  #location: Pick<KernelOptions, 'home' | 'env'> = {}
  /** A program reads the output. */
  #printsJson = false

  constructor(host: ProgramHost) {
    this.#host = host
    this.#screen = guardStream(host.stderr)
    // Data that a program reads from a pipe stays unchanged.
    if (host.stdout.isTTY) guardStream(host.stdout)
    if (isEarlyFront(host.front)) this.#early = host.front
  }

  /** Runs one command line to its end and returns the exit code; a program gets errors as JSON too. */
  run(argv: readonly string[]): Promise<number> {
    return this.#run(argv).catch((error: unknown) => this.report(error))
  }

  /** Prints an error and returns its exit code: 2 for a wrong command line, 3 for wrong settings, 1 for all others. */
  report(error: unknown): number {
    this.#early?.end()
    const isUsage = error instanceof CommandLineError
    const { code, message, hint } = isUsage
      ? { code: '', message: error.message, hint: 'See `vtcode help`.' }
      : error instanceof VtError
        ? error.problem
        : this.#internal(error)
    if (!isUsage) this.#printJson({ code, message, hint: renderPlainText(hint) })
    // A fault of a settings file names its line instead.
    const prefix = code.startsWith('VT_CONFIG_') && code !== 'VT_CONFIG_INVALID' ? `${code}: ` : ''
    this.#host.stderr.write(
      visible(redactText(`vtcode: error: ${prefix}${message}\n${isUsage ? '' : '  '}${renderPlainText(hint)}\n`)),
    )
    return isUsage ? 2 : code.startsWith('VT_CONFIG_') ? 3 : 1
  }

  #printJson(error: Pick<Problem, 'code' | 'message' | 'hint'>): void {
    if (this.#printsJson) this.#host.stdout.write(`${redactText(JSON.stringify({ ok: false, error }))}\n`)
  }

  async close(): Promise<void> {
    await this.#kernel?.close()
  }

  async #run(argv: readonly string[]): Promise<number> {
    const { stdout, stderr, signal, onInterrupt, front } = this.#host
    const commandLine = readCommandLine(argv)
    requireReachingFlags(commandLine)
    const { options, env: extraEnv, log, quiet, ...line } = commandLine
    const { verb, rest } = this.#readTask(line)
    if (verb === undefined && rest.some((word) => VERSION_FLAGS.has(word))) {
      stdout.write(`${version}\n`)
      return 0
    }
    const intended = verb ?? this.#usualVerb(rest)
    this.#printsJson = promisesJson({ verb, rest })
    const env = { ...this.#host.env, ...extraEnv }
    this.#location = { ...options, env }
    const stdin = () => this.#host.stdin
    const io: Io = {
      get stdin() {
        return stdin()
      },
      stdout,
      stderr,
      screen: this.#screen,
      env,
      signal,
      quiet,
      ...omitUndefined({ onInterrupt }),
      front,
    }
    const kernel = await createKernel({
      ...options,
      env,
      ...omitUndefined({ verb: intended }),
      surface: intended ?? 'help',
      signal,
      ...(log && { log: this.#logFrom(log) }),
    })
    this.#kernel = kernel
    try {
      if (signal.aborted) return INTERRUPTED
      const isSilent = intended !== undefined && !REPORTING_VERBS.has(intended)
      // A plugin that changed since consent is left out, also a guard; a person must see that.
      if (isSilent) this.#warn(kernel, 'VT_PLUGIN_LOCK')
      const surface = intended === undefined ? undefined : await kernel.inspection.loadSurface(intended)
      if (!surface) this.#early?.end()
      this.#early = undefined
      const code = surface ? await surface(kernel, rest, io) : this.#usage(kernel, rest, verb)
      if (isSilent) this.#warn(kernel, 'VT_STATE_FOREIGN')
      if (intended !== verb && code === 3) stderr.write('See `vtcode help` for other verbs.\n')
      return code
    } finally {
      await kernel.close()
    }
  }

  /** Takes words with spaces in place of a verb as a task: for the chat of a person, for `exec` of a program. */
  #readTask({ verb, rest }: Pick<CommandLine, 'verb' | 'rest'>): Pick<CommandLine, 'verb' | 'rest'> {
    if (verb === undefined || !/\s/.test(verb.trim())) return { verb, rest }
    return { verb: this.#host.stdin.isTTY && this.#host.stdout.isTTY ? 'chat' : 'exec', rest: [...rest, '--', verb] }
  }

  /** Returns the chat for a person who gives no verb, nothing for a program. */
  #usualVerb(words: readonly string[]): string | undefined {
    const habit = findFlagHabit(words)
    if (habit !== undefined) throw new CommandLineError(habit)
    if (words.includes('--help') || words.includes('-h')) return 'help'
    return this.#host.stdin.isTTY ? 'chat' : undefined
  }

  /** Prints the diagnostics with this code, each text once. */
  #warn(kernel: Kernel, wanted: string): void {
    const texts = kernel
      .diagnostics()
      .flatMap(({ code, message, hint }) => (code === wanted ? [renderPlainText(`${message} ${hint}`)] : []))
    for (const text of new Set(texts)) {
      const line = `vtcode: warning: ${text.replace(/\p{Cc}+/gu, ' ')}\n`
      if (this.#early) this.#early.say(line)
      else this.#host.stderr.write(line)
    }
  }

  #usage(kernel: Kernel, words: readonly string[], verb = ''): number {
    const verbs = kernel.inspection
      .contributions()
      .flatMap((known) => (known.kind === 'surface' && known.verb ? [known.verb] : []))
    const like = findNearest(verb, verbs)
    const habit = explainVerbHabit(verb) ?? findFlagHabit(words)
    if (habit !== undefined)
      throw new CommandLineError(`${verb ? `Unknown verb '${verb}'.` : 'No verb given.'} ${habit}`)
    const wrong = verb ? `Unknown verb '${verb}'${like ? ` (did you mean ${like}?)` : ''}` : 'No verb given'
    this.#host.stderr.write(`vtcode: error: ${wrong}; known verbs: ${verbs.sort().join(', ')}.\nSee \`vtcode help\`.\n`)
    return 2
  }

  /** Returns a log that prints messages of plugins from this level on. */
  #logFrom(least: LogLevel): NonNullable<KernelOptions['log']> {
    return (level, message) => {
      if (LOG_LEVELS.indexOf(level as LogLevel) >= LOG_LEVELS.indexOf(least))
        this.#host.stderr.write(`vtcode: ${level}: ${visibleLine(message.replace(/\p{Cc}+/gu, ' '))}\n`)
    }
  }

  #internal(error: unknown): Problem {
    const known = problem('VT_INTERNAL', {
      reason: firstLine(error),
      report: writeCrashReport(error, resolveHome(this.#location)),
    }).problem
    return { ...known, message: `${known.code}: ${known.message}` }
  }
}

/** Verbs whose `--json` prints events only. */
const EVENT_VERBS = new Set(['exec', 'resume'])
const promisesJson = ({ verb = '', rest }: Pick<CommandLine, 'verb' | 'rest'>): boolean =>
  verb === 'call' || (rest.includes('--json') && !EVENT_VERBS.has(verb))

const isEarlyFront = (front: unknown): front is EarlyFront =>
  typeof front === 'object' && front !== null && 'say' in front
