import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import {
  startDeadline,
  createChildEnvironment,
  makeFolder,
  createPluginVariables,
  signalGroup,
  spawnProgram,
} from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import {
  problem,
  programFile,
  VtError,
  type Context,
  type Contribution,
  type AdapterContext,
  type Session,
  type Settings,
} from '../../../core/index.js'
import { hasSettled, createTail } from '../../lib/process/index.js'
import { resolveValues } from '../../lib/values/index.js'
import { createSandboxedLaunch } from './sandboxed_launch.js'
import { PluginAnswers } from './answers.js'
import { openFramePipe, type Frame, type FramePipe } from './frames.js'
import { residentMb } from './memory.js'
import { toContextData, describeEnd, isContext, findErrorLine, toThrownError, type LoadedModule } from './protocol.js'
import { ContextBridge } from './context_bridge.js'

interface Pending {
  resolve: (frame: Frame) => void
  reject: (error: Error) => void
  visit?: ContextBridge
}

const child = programFile('plugins/adapter/isolated/child.js')
const MAX_LOG = 262_144
const START_MS = 30_000
const IDLE_MS = 300_000
/** Time for a handler to stop after an abort. */
const STOP_MS = 2_000
const END_MS = 5_000
const MEMORY_MS = 500
/** The memory of a Node process without a plugin. */
const BASE_MB = 96
const FAULTS_MS = 600_000

/** The process of one plugin. It starts on first use and ends when it is idle, harmful or unused. */
export class PluginProcess {
  #process: ChildProcess | undefined
  #send: FramePipe['send'] = () => {}
  #answers: PluginAnswers | undefined
  #starting: Promise<void> | undefined
  #ready = (): void => {}
  #pending = new Map<number, Pending>()
  #imported = new Map<string, Promise<LoadedModule>>()
  #stderr = createTail(MAX_LOG)
  #reason: string | undefined
  #faults: number[] = []
  #idle: NodeJS.Timeout | undefined
  #watching: NodeJS.Timeout | undefined
  #numbers = 0
  /** Set when the plugin is unused: a process that is still starting must not outlive it. */
  #isDisposed = false
  readonly #sessions = new Set<string>()
  readonly #limits: Settings['plugins']

  constructor(
    private readonly contribution: Contribution,
    private readonly adapterContext: AdapterContext,
  ) {
    this.#limits = adapterContext.settings.plugins
  }

  /** Imports a module in the process. Throws VT_PLUGIN_IMPORT, VT_PLUGIN_QUARANTINED. */
  async load(contribution: Contribution, file: string): Promise<LoadedModule> {
    this.#requireTrusted()
    await this.#ensureStarted()
    const known = this.#imported.get(file)
    if (known) return known
    const { import_timeout_secs: seconds } = this.#limits
    const importing = this.#ask({ t: 'load', file }).then(
      ({ complete }) => ({ file, complete: complete === true }),
      (error: Error) => {
        // The file may change before the next attempt.
        this.#imported.delete(file)
        throw problem('VT_PLUGIN_IMPORT', { id: contribution.id, module: file, problem: this.#reason ?? error.message })
      },
    )
    this.#imported.set(file, importing)
    const late = setTimeout(
      () => this.#kill(`does not finish its import within ${seconds} s; a loop or a top-level await hangs`),
      seconds * 1000,
    )
    return importing.finally(() => clearTimeout(late))
  }

  /**
   * Calls an export of a module; the last argument is the context. Throws VT_PLUGIN_CRASHED, VT_PLUGIN_QUARANTINED and
   * the errors of the module.
   */
  async call(contribution: Contribution, file: string, name: string, args: unknown[]): Promise<unknown> {
    this.#requireTrusted()
    const began = Date.now()
    // A new process has no modules yet.
    await this.load(contribution, file)
    const context = isContext(args.at(-1)) ? (args.at(-1) as Context) : undefined
    if (context) this.#followSession(context.session)
    const data = context ? args.slice(0, -1) : args
    const visit = context && new ContextBridge(contribution, context)
    const asked = this.#ask(
      {
        t: 'call',
        id: contribution.id,
        file,
        name,
        args: data,
        ...(context && { context: toContextData(context, contribution, this.adapterContext) }),
      },
      visit,
    )
    const stop = context && this.#forwardAbort(context.signal, asked.number)
    const late = context && this.#limitJudgement(contribution, file, context, began)
    try {
      const { value, none } = await asked
      return none ? undefined : value
    } finally {
      stop?.()
      clearTimeout(late)
      void visit?.end()
      this.#scheduleIdleEnd()
    }
  }

  /** Notifies the process that a session has ended and waits for a limited time. */
  #followSession(session: Session): void {
    const { id } = session
    if (this.#sessions.has(id)) return
    this.#sessions.add(id)
    session.onClose(async () => {
      this.#sessions.delete(id)
      if (!this.#process) return
      await hasSettled(this.#ask({ t: 'close', session: id }), STOP_MS)
      this.#scheduleIdleEnd()
    })
  }

  /** Lets the modules dispose of their state, then kills the process group. */
  end(): Promise<void> {
    this.#isDisposed = true
    return this.#leave()
  }

  async #leave(): Promise<void> {
    const { pid } = this.#process ?? {}
    if (pid === undefined) return
    const ended = this.#waitForEnd()
    this.#send({ t: 'end' })
    if (!(await hasSettled(ended, this.#pending.size > 0 ? STOP_MS : END_MS))) signalGroup(pid, 'SIGKILL')
    await hasSettled(ended, STOP_MS)
  }

  #waitForEnd(): Promise<void> {
    const running = this.#process
    return new Promise((resolve) => (running ? running.once('close', () => resolve()) : resolve()))
  }

  /** Starts the process once for all concurrent calls. */
  #ensureStarted(): Promise<void> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const { contribution, adapterContext } = this
    const { max_memory_mb: memory, settings } = this.#limits
    const data = adapterContext.dataFolder(contribution)
    makeFolder(data, 0o700)
    const declared = { ...settings[contribution.plugin]?.env, ...settings[contribution.id]?.env }
    using limit = startDeadline(10_000)
    const own = await resolveValues(declared, {
      contribution: { ...contribution, layer: 'user' },
      adapterContext,
      field: 'plugins.settings.env',
      signal: limit.signal,
    })
    const env = {
      ...createChildEnvironment(adapterContext.env),
      VTCODE_WORKSPACE: adapterContext.workspace,
      ...own,
      ...createPluginVariables(contribution.root, data),
    }
    const args = [`--max-old-space-size=${memory}`, '--no-warnings', child]
    const launch = await createSandboxedLaunch(
      { file: process.execPath, args, cwd: data, env },
      contribution,
      adapterContext,
    )
    if (this.#isDisposed) throw problem('VT_PLUGIN_CRASHED', { id: contribution.id, reason: 'it is not used any more' })
    const running = spawnProgram(launch, ['ignore', 'pipe', 'pipe', 'pipe'])
    this.#process = running
    this.#reason = undefined
    this.#stderr = createTail(MAX_LOG)
    // The output only explains the end of the process.
    running.stdout!.resume()
    running.stderr!.on('data', this.#stderr.take)
    const pipe = running.stdio[3] as Duplex
    const { send, room } = openFramePipe(
      pipe,
      (frame) => this.#take(frame),
      (reason) => this.#kill(reason),
    )
    this.#send = send
    this.#answers = new PluginAnswers({
      send,
      room,
      kill: (reason) => this.#kill(reason),
      unread_ms: adapterContext.timeouts.unread,
    })
    running.once('error', (error) => (this.#reason ??= error.message))
    running.once('close', (code, signal) => this.#handleClose(running, code, signal))
    // A plugin never keeps the program alive.
    running.unref()
    for (const stream of [running.stdout, running.stderr, pipe]) (stream as unknown as { unref?: () => void }).unref?.()
    this.#watch(running, memory)
    // The start of Node on a busy machine does not count against the plugin.
    await hasSettled(new Promise<void>((resolve) => (this.#ready = resolve)), START_MS)
  }

  #ask(frame: Frame, visit?: ContextBridge): Promise<Frame> & { number: number } {
    const number = ++this.#numbers
    clearTimeout(this.#idle)
    const answer = new Promise<Frame>((resolve, reject) => {
      if (!this.#process)
        return reject(
          problem(
            'VT_PLUGIN_CRASHED',
            { id: this.contribution.id, reason: this.#reason ?? 'its process is gone' },
            { retryable: true },
          ),
        )
      this.#pending.set(number, { resolve, reject, ...(visit && { visit }) })
      ;(this.#process.stdio[3] as unknown as { ref?: () => void }).ref?.()
      this.#send({ ...frame, n: number })
    })
    return Object.assign(answer, { number })
  }

  #take(frame: Frame): void {
    if (frame.t === 'ready') return this.#ready()
    const pending = this.#pending.get(Number(frame['n']))
    if (!pending) return
    if (frame.t === 'done') {
      if (frame['error']) pending.reject(toThrownError(frame['error']))
      else pending.resolve(frame)
      this.#pending.delete(Number(frame['n']))
    } else if (frame.t === 'log') pending.visit?.log(toText(frame['level']), toText(frame['message']))
    else if (frame.t === 'progress') pending.visit?.progress(frame['update'] as object)
    else if (frame.t === 'changed') pending.visit?.reportChange(toText(frame['uri']))
    else if (frame.t === 'ask' && pending.visit) this.#answers?.take(frame, pending.visit)
  }

  /** Forwards an abort. A handler that does not stop is killed with its process. */
  #forwardAbort(signal: AbortSignal, number: number): () => void {
    let late: NodeJS.Timeout | undefined
    const abort = (): void => {
      this.#send({ t: 'abort', n: number })
      late = setTimeout(() => this.#kill('did not stop after an abort'), STOP_MS)
      late.unref()
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    return () => {
      signal.removeEventListener('abort', abort)
      clearTimeout(late)
    }
  }

  /**
   * Ends the process of a policy or compactor that does not answer in time, because it blocks every later call. The
   * process has refused its call already, so it is not quarantined. The new process starts at once: the next judgement
   * would pay for a slow start.
   */
  #limitJudgement(
    contribution: Contribution,
    file: string,
    { host: { timeouts } }: Context,
    began: number,
  ): NodeJS.Timeout | undefined {
    const { kind, manifest } = contribution
    if (kind !== 'policy' && kind !== 'compactor') return undefined
    // The process must be gone before the caller reports the refusal.
    const ms = (manifest.timeout_secs ? manifest.timeout_secs * 1000 : timeouts[kind]) * 0.9
    const running = this.#process!
    return setTimeout(
      () => {
        if (this.#process === running) this.#kill(`it does not answer within ${ms / 1000} s`)
        this.#handleClose(running, null, 'SIGKILL', false)
        this.load(contribution, file).then(
          () => this.#scheduleIdleEnd(),
          () => {},
        )
      },
      Math.max(0, began + ms - Date.now()),
    )
  }

  #kill(reason: string): void {
    this.#reason ??= reason
    if (this.#process?.pid !== undefined) signalGroup(this.#process.pid, 'SIGKILL')
  }

  #handleClose(process: ChildProcess, code: number | null, signal: NodeJS.Signals | null, isFault = true): void {
    if (this.#process !== process) return
    this.#process = undefined
    this.#starting = undefined
    this.#ready()
    clearInterval(this.#watching)
    this.#imported.clear()
    const left = [...this.#pending.values()]
    this.#pending.clear()
    const planned = code === 0 && left.length === 0 && this.#reason === undefined
    if (planned) return
    // No child of the process outlives it.
    if (process.pid !== undefined) signalGroup(process.pid, 'SIGKILL')
    const reason = this.#reason ?? `${describeEnd(code, signal)}${findErrorLine(this.#stderr.text())}`
    this.#reason = reason
    const crash = problem('VT_PLUGIN_CRASHED', { id: this.contribution.id, reason }, { retryable: true })
    this.#recordFault(crash, isFault)
    for (const { reject } of left) reject(crash)
  }

  #recordFault(error: VtError, counts: boolean): void {
    const now = Date.now()
    this.#faults = [...this.#faults.filter((at) => now - at < FAULTS_MS), ...(counts ? [now] : [])]
    this.adapterContext.report(this.contribution, error)
    if (this.#faults.length >= (this.#limits.quarantine_after ?? 3))
      this.adapterContext.quarantine(this.contribution, error.message)
  }

  #requireTrusted(): void {
    if (this.#faults.length < (this.#limits.quarantine_after ?? 3)) return
    throw new VtError({
      code: 'VT_PLUGIN_QUARANTINED',
      message:
        `The plugin ${this.contribution.id} failed ${this.#faults.length} times and is not started again: ` +
        (this.#reason ?? 'see the log'),
      hint: 'Fix the plugin, then reload. `vtcode doctor` shows its errors.',
      retryable: false,
    })
  }

  /** Node limits only its heap, so the memory that the system counts is checked too. */
  #watch({ pid }: ChildProcess, memory: number): void {
    this.#watching = setInterval(() => {
      void residentMb(pid).then((mb) => {
        if (mb > memory + BASE_MB) this.#kill(`took more than ${memory} MB of memory`)
      })
    }, MEMORY_MS)
    this.#watching.unref()
  }

  #scheduleIdleEnd(): void {
    if (this.#pending.size > 0 || !this.#process) return
    ;(this.#process.stdio[3] as unknown as { unref?: () => void }).unref?.()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#leave(), IDLE_MS)
    this.#idle.unref()
  }
}
