import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { deadline, environment, makeFolder, pluginVariables, signalGroup, start } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import {
  problem,
  programFile,
  VtError,
  type Call,
  type Context,
  type Contribution,
  type AdapterContext,
  type Session,
  type Settings,
} from '../../../core/index.js'
import { settles, tail } from '../../lib/process/index.js'
import { resolveValues } from '../../lib/values/index.js'
import { sandboxedLaunch } from './sandboxed_launch.js'
import { PluginAnswers } from './answers.js'
import { frames, type Frame, type FramePipe } from './frames.js'
import { residentMb } from './memory.js'
import { described, endOf, isContext, lastLine, thrown, type LoadedModule } from './protocol.js'
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
/** The time for a handler to stop after an abort. */
const STOP_MS = 2_000
const END_MS = 5_000
const MEMORY_MS = 500
/** The memory of a Node process without a plugin. */
const BASE_MB = 96
const FAULTS_MS = 600_000

/** The process of one plugin: started on first use, ended when it is idle, harmful or no longer wanted. */
export class PluginProcess {
  #process: ChildProcess | undefined
  #send: FramePipe['send'] = () => {}
  #answers: PluginAnswers | undefined
  #starting: Promise<void> | undefined
  #ready = (): void => {}
  #pending = new Map<number, Pending>()
  #imported = new Map<string, Promise<LoadedModule>>()
  #stderr = tail(MAX_LOG)
  #reason: string | undefined
  #faults: number[] = []
  #idle: NodeJS.Timeout | undefined
  #watching: NodeJS.Timeout | undefined
  #numbers = 0
  /** Nobody uses the plugin any more; a process that is about to start would outlive the end. */
  #over = false
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
    await this.#started()
    const known = this.#imported.get(file)
    if (known) return known
    const { import_timeout_secs: seconds } = this.#limits
    const importing = this.#ask({ t: 'load', file }).then(
      ({ complete }) => ({ file, complete: complete === true }),
      (error: Error) => {
        // The file may be another one when somebody asks again.
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

  /** Calls an export of a module; the last argument is the context. Throws VT_PLUGIN_CRASHED, VT_PLUGIN_QUARANTINED and what the module throws. */
  async call(contribution: Contribution, file: string, name: string, args: unknown[]): Promise<unknown> {
    this.#requireTrusted()
    const began = Date.now()
    // A new process has no modules yet.
    await this.load(contribution, file)
    const context = isContext(args.at(-1)) ? (args.at(-1) as Context) : undefined
    if (context) this.#follow(context.session)
    const data = context ? args.slice(0, -1) : args
    const call = data.find((arg): arg is Call => typeof (arg as Call | undefined)?.slot === 'string')
    const visit = context && new ContextBridge(contribution, call, context)
    const asked = this.#ask(
      {
        t: 'call',
        id: contribution.id,
        file,
        name,
        args: data,
        ...(context && { context: described(context, contribution, this.adapterContext) }),
      },
      visit,
    )
    const stop = context && this.#stopping(context.signal, asked.number)
    const late = context && this.#judging(contribution, file, context, began)
    try {
      const { value, none } = await asked
      return none ? undefined : value
    } finally {
      stop?.()
      clearTimeout(late)
      void visit?.end()
      this.#rest()
    }
  }

  /** Tells the process that a session has ended, and waits for a limited time. */
  #follow(session: Session): void {
    const { id } = session
    if (this.#sessions.has(id)) return
    this.#sessions.add(id)
    session.onClose(async () => {
      this.#sessions.delete(id)
      if (!this.#process) return
      await settles(this.#ask({ t: 'close', session: id }), STOP_MS)
      this.#rest()
    })
  }

  /** Lets the modules dispose of their state, then kills the process group. */
  end(): Promise<void> {
    this.#over = true
    return this.#leave()
  }

  async #leave(): Promise<void> {
    const { pid } = this.#process ?? {}
    if (pid === undefined) return
    const ended = this.#ended()
    this.#send({ t: 'end' })
    if (!(await settles(ended, this.#pending.size > 0 ? STOP_MS : END_MS))) signalGroup(pid, 'SIGKILL')
    await settles(ended, STOP_MS)
  }

  #ended(): Promise<void> {
    const running = this.#process
    return new Promise((resolve) => (running ? running.once('close', () => resolve()) : resolve()))
  }

  /** One process for all concurrent calls. */
  #started(): Promise<void> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const { contribution, adapterContext } = this
    const { max_memory_mb: memory, settings } = this.#limits
    const data = adapterContext.dataOf(contribution)
    makeFolder(data, 0o700)
    const declared = { ...settings[contribution.plugin]?.env, ...settings[contribution.id]?.env }
    using limit = deadline(10_000)
    const own = await resolveValues(declared, {
      contribution: { ...contribution, layer: 'user' },
      adapterContext,
      field: 'plugins.settings.env',
      signal: limit.signal,
    })
    const env = {
      ...environment(),
      VTCODE_WORKSPACE: adapterContext.workspace,
      ...own,
      ...pluginVariables(contribution.root, data),
    }
    const args = [`--max-old-space-size=${memory}`, '--no-warnings', child]
    const launch = await sandboxedLaunch({ file: process.execPath, args, cwd: data, env }, contribution, adapterContext)
    if (this.#over) throw problem('VT_PLUGIN_CRASHED', { id: contribution.id, reason: 'it is not used any more' })
    const running = start(launch, ['ignore', 'pipe', 'pipe', 'pipe'])
    this.#process = running
    this.#reason = undefined
    this.#stderr = tail(MAX_LOG)
    // The output is kept to explain the end of the process; nothing else reads it.
    running.stdout!.resume()
    running.stderr!.on('data', this.#stderr.take)
    const pipe = running.stdio[3] as Duplex
    const { send, room } = frames(
      pipe,
      (frame) => this.#take(frame),
      (reason) => this.#kill(reason),
    )
    this.#send = send
    this.#answers = new PluginAnswers({
      send,
      room,
      kill: (reason) => this.#kill(reason),
      unread_ms: adapterContext.waits.unread,
    })
    running.once('error', (error) => (this.#reason ??= error.message))
    running.once('close', (code, signal) => this.#closed(running, code, signal))
    // A plugin never keeps the program alive.
    running.unref()
    for (const stream of [running.stdout, running.stderr, pipe]) (stream as unknown as { unref?: () => void }).unref?.()
    this.#watch(running, memory)
    // The time that a busy machine needs to start Node does not count as the plugin's.
    await settles(new Promise<void>((resolve) => (this.#ready = resolve)), START_MS)
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
      if (frame['error']) pending.reject(thrown(frame['error']))
      else pending.resolve(frame)
      this.#pending.delete(Number(frame['n']))
    } else if (frame.t === 'log') pending.visit?.log(toText(frame['level']), toText(frame['message']))
    else if (frame.t === 'progress') pending.visit?.progress(frame['update'] as object)
    else if (frame.t === 'changed') pending.visit?.changed(toText(frame['uri']))
    else if (frame.t === 'ask' && pending.visit) this.#answers?.take(frame, pending.visit)
  }

  /** Passes an abort on; a handler that does not stop is killed with its process. */
  #stopping(signal: AbortSignal, number: number): () => void {
    let late: NodeJS.Timeout | undefined
    const abort = (): void => {
      this.#send({ t: 'abort', n: number })
      late = setTimeout(() => this.#kill('did not stop when it was told to'), STOP_MS)
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
   * A policy or compactor that does not answer in its time is in the way of every later call: its process is ended, and the next call gets
   * a new one. It has refused the call that it was asked about; that is no reason to leave it alone for good. The new process starts at
   * once: the time that a busy machine needs for that would be taken from the next judgement.
   */
  #judging(
    contribution: Contribution,
    file: string,
    { host: { waits } }: Context,
    began: number,
  ): NodeJS.Timeout | undefined {
    const { kind, manifest } = contribution
    if (kind !== 'policy' && kind !== 'compactor') return undefined
    // Somewhat before the caller gives up, so that the process is gone when the refusal is told.
    const ms = (manifest.timeout_secs ? manifest.timeout_secs * 1000 : waits[kind]) * 0.9
    const running = this.#process!
    return setTimeout(
      () => {
        if (this.#process === running) this.#kill(`it does not answer within ${ms / 1000} s`)
        this.#closed(running, null, 'SIGKILL', false)
        this.load(contribution, file).then(
          () => this.#rest(),
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

  #closed(process: ChildProcess, code: number | null, signal: NodeJS.Signals | null, isFault = true): void {
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
    const reason = this.#reason ?? `${endOf(code, signal)}${lastLine(this.#stderr.text())}`
    this.#reason = reason
    const crash = problem('VT_PLUGIN_CRASHED', { id: this.contribution.id, reason }, { retryable: true })
    this.#fault(crash, isFault)
    for (const { reject } of left) reject(crash)
  }

  #fault(error: VtError, counts: boolean): void {
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
      message: `The plugin ${this.contribution.id} failed ${this.#faults.length} times and is not started again: ${this.#reason ?? 'see the log'}`,
      hint: 'Fix it, then reload; `vtcode doctor` shows what it did.',
      retryable: false,
    })
  }

  /** Buffers lie outside the heap that Node limits, so the memory that the system counts is checked too. */
  #watch({ pid }: ChildProcess, memory: number): void {
    this.#watching = setInterval(() => {
      void residentMb(pid).then((mb) => {
        if (mb > memory + BASE_MB) this.#kill(`took more than ${memory} MB of memory`)
      })
    }, MEMORY_MS)
    this.#watching.unref()
  }

  #rest(): void {
    if (this.#pending.size > 0 || !this.#process) return
    ;(this.#process.stdio[3] as unknown as { unref?: () => void }).unref?.()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#leave(), IDLE_MS)
    this.#idle.unref()
  }
}
