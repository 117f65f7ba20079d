import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { isProcessRunning, signalGroup } from '../../../core/system/index.js'
import { problem, type Context, type Notice } from '../../../core/index.js'
import { hasSettled } from '../../lib/process/index.js'
import type { SandboxEnd } from '../../lib/sandbox/index.js'
import { StreamLog, type StreamPosition } from '../output/log.js'
import { DeliveredPositions } from '../output/positions.js'
import { InputState } from '../processes/input_state.js'
import {
  findMarkedProcesses,
  isGroupRunning,
  signalTree,
  type MarkedCommand,
  type MarkedProcess,
} from '../processes/process_tree.js'
import type { SessionCheckpoint } from '../checkpoint/session_checkpoint.js'
import { SilenceTimer } from './silence_timer.js'
import { LimitTimer, type TimeLimit } from './time_limit.js'
import type { Exit, OutputSink, Size, Stream, Transport } from './transport.js'

/** The facts of a session that are known before its program starts. */
export interface SessionFacts {
  id: string
  command: string | string[]
  /** Workspace-relative. */
  cwd: string
  sandbox: 'none' | 'bwrap'
  /** True if the sandbox allows the network. */
  network: boolean
  /** Returns, after the end of a program in the sandbox, the facts that its exit code hides. */
  endInside?: (exit_code: number | null) => SandboxEnd
  /** Moves away auto-executed config that a program in the sandbox created, and reports that. */
  tidy?: ((exit?: Exit) => Promise<Notice[]>) | undefined
  /** True if background processes may outlive the program. */
  background: boolean
  /** The size of its terminal, if any. */
  tty: Size | undefined
  /** The files kept before the command. */
  checkpoint: SessionCheckpoint | undefined
  /** The mark in the environment of all its processes. */
  mark: string
  limit: TimeLimit
}

const GRACE_MS = { exit: 250, term: 200, kill: 100, flow: 2000 }
/** Silence after which output counts as complete for now. */
const SILENCE_MS = 200

/** The screen, as the session uses it. */
export interface ScreenView {
  resize(size: Size): void
  close(): void
}
/** One started command with its output, from its start until it is forgotten. */
export class CommandSession {
  readonly started_at = Date.now()
  readonly stdout: StreamLog
  readonly stderr: StreamLog
  last_activity_at = this.started_at
  exit: Exit | undefined
  ended_at: number | undefined
  timed_out = false
  /** Set when a process that it started outlived it and was ended. */
  children_ended = false
  readonly input = new InputState(this)
  readonly time: LimitTimer
  private left: MarkedProcess[] = []
  /** Notices about moved files that were not reported yet. */
  private tidied: Notice[] = []
  /** Settles when the program has ended and all output has come. */
  readonly ended: Promise<void>

  /** The size of its terminal. */
  size: Size | undefined
  /** The screen of its terminal, drawn on first use. */
  screen: Promise<ScreenView> | undefined

  private last_output_at = 0
  private readonly watchers = new Set<(stream: Stream, chunk: Buffer) => void>()
  private readonly delivered = new DeliveredPositions()
  private ending: Promise<void> | undefined
  private sent: NodeJS.Signals | undefined

  /** Starts the program. Rejects with the system's error when that fails. */
  static async start(
    facts: SessionFacts,
    context: Context,
    connect: (sink: OutputSink) => Transport | Promise<Transport>,
  ): Promise<CommandSession> {
    const logs = {
      stdout: new StreamLog(context, `${facts.id}_stdout`),
      stderr: new StreamLog(context, `${facts.id}_stderr`),
    }
    let session: CommandSession | undefined
    const transport = await connect((stream, chunk) => {
      session?.noteOutput(stream, chunk)
      return logs[stream].append(chunk)
    })
    return (session = new CommandSession(facts, logs, transport))
  }

  private constructor(
    readonly facts: SessionFacts,
    logs: Record<Stream, StreamLog>,
    readonly transport: Transport,
  ) {
    this.stdout = logs.stdout
    this.stderr = logs.stderr
    this.size = facts.tty
    this.time = new LimitTimer(facts.limit, () => {
      this.timed_out = true
      this.input.check()
      void this.end('SIGTERM', GRACE_MS.term)
    })
    living.add(this)
    this.ended = this.follow()
  }

  get running(): boolean {
    return this.ended_at === undefined
  }
  /** True when it has ended but its background processes run. */
  get leftRunning(): boolean {
    return !this.running && living.has(this) && isGroupRunning(this.pid)
  }
  get pid(): number {
    return this.transport.pid
  }
  get marked(): MarkedCommand {
    return { mark: this.facts.mark, leader: this.pid }
  }
  /** Its processes that run after its end. */
  get survivors(): MarkedProcess[] {
    return this.left.filter(({ pid }) => isProcessRunning(pid))
  }
  get plain(): boolean {
    return this.transport.backend === 'pipe'
  }
  get unread_bytes(): number {
    return this.stdout.total + this.stderr.total - this.delivered.cursor
  }
  get duration_ms(): number {
    return (this.ended_at ?? Date.now()) - this.started_at
  }

  /** Notes a call on the session, which is then not idle. */
  touch(): void {
    this.last_activity_at = Date.now()
    this.time.touch()
  }

  /** Passes every chunk of output on, valid only during the call. The returned function stops it. */
  watch(run: (stream: Stream, chunk: Buffer) => void): () => void {
    this.watchers.add(run)
    return () => void this.watchers.delete(run)
  }

  /**
   * Waits for the end, until the program waits for input, or at most `ms` milliseconds; with `forOutput` also ends at
   * silence after output. Throws VT_CALL_ABORTED.
   */
  async wait(ms: number | undefined, signal: AbortSignal, { forOutput = false } = {}): Promise<void> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    const still = new SilenceTimer(SILENCE_MS)
    if (forOutput && this.hasNewerOutput(this.delivered.cursor)) still.begin(Date.now() - this.last_output_at)
    const unwatch = forOutput ? this.watch(() => still.begin()) : () => {}
    const asked = this.input.watch()
    try {
      if (!signal.aborted) await hasSettled(Promise.race([this.ended, aborted, still.reached, asked.reached]), ms)
    } finally {
      unwatch()
      still.stop()
      asked.stop()
    }
    if (signal.aborted) throw problem('VT_CALL_ABORTED')
  }

  /** Changes the size of its terminal; does nothing on pipes. */
  resize(size: Partial<Size>): void {
    if (!this.size) return
    this.size = { ...this.size, ...size }
    if (this.running) this.transport.resize?.(this.size)
    void this.screen?.then((screen) => screen.resize(this.size!))
  }

  /** Takes the output to deliver: from the last delivery or from `cursor`, up to the position that can be shown. */
  take(cursor?: number): ReturnType<DeliveredPositions['take']> {
    return this.delivered.take({ stdout: this.findEnd(this.stdout), stderr: this.findEnd(this.stderr) }, cursor)
  }

  /** Returns the end of the showable output without taking it. */
  findEnd(log: StreamLog): StreamPosition {
    return this.running ? log.findSafeEnd(this.plain) : { at: log.total, newlines: log.newlines }
  }

  /** Returns whether there is output after a position returned earlier. */
  hasNewerOutput(cursor: number): boolean {
    return cursor < this.findEnd(this.stdout).at + this.findEnd(this.stderr).at
  }

  private noteOutput(stream: Stream, chunk: Buffer): void {
    this.last_output_at = Date.now()
    this.input.noteExchange()
    for (const watcher of this.watchers) watcher(stream, chunk)
  }

  /**
   * Ends the program with everything it started: `signal`, then SIGKILL after `ms`. Settles when the session is empty.
   */
  end(signal: NodeJS.Signals, ms: number): Promise<void> {
    return (this.ending ??= this.terminate(signal, ms))
  }

  /** Ends all that still runs and waits for that. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = GRACE_MS.term): Promise<void> {
    if (living.has(this)) await this.end(signal, ms)
    await this.ended
  }

  /** Ends the session and closes its files. */
  async close(): Promise<void> {
    await this.stop()
    await Promise.all([this.stdout.close(), this.stderr.close()])
    await this.screen?.then((screen) => screen.close())
  }

  /** Kills everything without waiting, when our own process ends. */
  kill(): void {
    signalTree(this.pid, 'SIGKILL')
  }

  private async terminate(signal: NodeJS.Signals, ms: number): Promise<void> {
    this.sent = signal
    signalTree(this.pid, signal)
    if (!(await this.isGone(ms))) {
      signalTree(this.pid, 'SIGKILL')
      await this.isGone(GRACE_MS.kill)
    }
    await hasSettled(this.transport.drained, GRACE_MS.kill)
    this.left = findMarkedProcesses(this.marked)
    this.release()
  }

  private async follow(): Promise<void> {
    this.exit = this.resolveExit(await this.transport.exited)
    await (this.ending ?? this.settle())
    this.time.stop()
    this.left = findMarkedProcesses(this.marked)
    this.tidied.push(...((await this.facts.tidy?.(this.exit)) ?? []))
    this.ended_at = Date.now()
  }

  /** Returns the notices about files that were moved since the last report. */
  async takeTidyNotices(): Promise<Notice[]> {
    return [...this.tidied.splice(0), ...((this.running && (await this.facts.tidy?.())) || [])]
  }

  /** Returns how the program ended. A sandbox and a shell report a signal as code 128 plus its number. */
  private resolveExit(exit: Exit): Exit {
    const inside = this.facts.endInside?.(exit.exit_code)
    this.children_ended = inside?.children === true && this.ending === undefined
    if (inside?.signal !== undefined) return { exit_code: null, signal: inside.signal }
    return this.sent && exit.exit_code === 128 + (numbers[this.sent] ?? -128)
      ? { exit_code: null, signal: this.sent }
      : exit
  }

  /** Waits, after the end of the program, for its last output and its background processes. */
  private async settle(): Promise<void> {
    const { transport, facts } = this
    // A sandbox ends with its command; the rest only needs to be waited for.
    if (facts.sandbox === 'bwrap') signalGroup(transport.pid, 'SIGKILL')
    const deadline = Date.now() + GRACE_MS.exit
    const drained = await hasSettled(transport.drained, GRACE_MS.exit)
    if (drained && (await this.isGone(deadline - Date.now()))) return this.release()
    if (facts.background) return
    if (isGroupRunning(transport.pid)) {
      this.children_ended = true
      return await this.end('SIGTERM', GRACE_MS.term)
    }
    // Either we read slowly, or a process outside the group holds the pipe, perhaps forever.
    const latest = Date.now() + GRACE_MS.flow
    while (Date.now() - this.last_output_at < SILENCE_MS && Date.now() < latest)
      if (await hasSettled(transport.drained, 50)) break
    this.release()
  }

  private async isGone(ms: number): Promise<boolean> {
    const { pid } = this
    const deadline = Date.now() + ms
    // An ending group is gone in a moment; only one that stays is checked process by process.
    for (let step = 1; isProcessRunning(-pid); step = Math.min(2 * step, 10)) {
      const isLate = Date.now() >= deadline
      if ((isLate || step >= 4) && !isGroupRunning(pid)) return true
      if (isLate) return false
      await pause(step)
    }
    return true
  }

  private release(): void {
    this.transport.release()
    living.delete(this)
  }
}

const numbers: Partial<Record<string, number>> = constants.signals

// The sessions to kill when our own process ends in any way.
const living = new Set<CommandSession>()
process.on('exit', () => {
  for (const session of living) session.kill()
})
