import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { isProcessRunning, signalGroup } from '../../../core/system/index.js'
import { problem, type Context, type Notice } from '../../../core/index.js'
import { settles } from '../../lib/process/index.js'
import type { SandboxEnd } from '../../lib/sandbox/index.js'
import { StreamLog, type StreamPosition } from '../output/log.js'
import type { CommandCheckpoint } from './checkpoint.js'
import { Stillness } from './stillness.js'
import type { Exit, OutputSink, Size, Stream, Transport } from './transport.js'
import { carriersOf, groupRuns, signalTree } from './tree.js'

/** What is settled about a session before its program starts. */
export interface SessionFacts {
  id: string
  command: string | string[]
  /** Workspace-relative. */
  cwd: string
  sandbox: 'none' | 'bwrap'
  /** Whether the sandbox lets it reach the network. */
  network: boolean
  /** Says, once a program in the sandbox has ended, what its code outside does not. */
  endInside?: (exit_code: number | null) => SandboxEnd
  /** Puts aside what a program in the sandbox made and must not: what was done is told. */
  tidy?: (exit?: Exit) => Promise<Notice[]>
  /** What the program left behind when it ended may run on. */
  background: boolean
  /** The size of its terminal, if it has one. */
  tty: Size | undefined
  /** What was copied before it, where nobody was asked about it. */
  checkpoint?: CommandCheckpoint
  /** Carried by every process of it. */
  mark: string
  /** Seconds after which it is ended: since its start, or since the last call on it. */
  limit: { seconds: number; since: 'start' | 'call' }
}

const grace = { exit: 250, term: 200, kill: 100, flow: 2000 }
/** Output is taken to be complete for now after this much silence. */
const silence = 200

/** What the session does to its screen, whoever draws it. */
export interface DrawnScreen {
  resize(size: Size): void
  close(): void
}
/** One started command with what it wrote, from its start until it is forgotten. */
export class CommandSession {
  readonly started_at = Date.now()
  readonly stdout: StreamLog
  readonly stderr: StreamLog
  last_activity_at = this.started_at
  exit: Exit | undefined
  ended_at: number | undefined
  timed_out = false
  /** Something it started outlived it and was ended. */
  children_ended = false
  /** Processes of it that left its session and run on. */
  survivors: number[] = []
  /** What was put aside and not told yet. */
  private tidied: Notice[] = []
  /** Settles when the program has ended and its output is complete. */
  readonly ended: Promise<void>

  /** Of its terminal. */
  size: Size | undefined
  /** The picture of its terminal, drawn once somebody looks at it. */
  screen: Promise<DrawnScreen> | undefined

  private last_output_at = 0
  private readonly watchers = new Set<(stream: Stream, chunk: Buffer) => void>()
  private readonly marks = new Map<number, Record<Stream, StreamPosition>>([[0, { stdout: start, stderr: start }]])
  private delivered: Record<Stream, StreamPosition> = { stdout: start, stderr: start }
  private ending: Promise<void> | undefined
  private sent: NodeJS.Signals | undefined
  private readonly timer: NodeJS.Timeout

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
      session?.notice(stream, chunk)
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
    this.timer = setTimeout(() => {
      this.timed_out = true
      void this.end('SIGTERM', grace.term)
    }, facts.limit.seconds * 1000)
    living.add(this)
    this.ended = this.follow()
  }

  get running(): boolean {
    return this.ended_at === undefined
  }
  /** It has ended, and what it started in the background has not. */
  get leftRunning(): boolean {
    return !this.running && living.has(this) && groupRuns(this.transport.pid)
  }
  get plain(): boolean {
    return this.transport.backend === 'pipe'
  }
  get unread_bytes(): number {
    return this.stdout.total + this.stderr.total - this.position
  }
  get duration_ms(): number {
    return (this.ended_at ?? Date.now()) - this.started_at
  }

  /** A call is made on it: it is not idle. */
  touch(): void {
    this.last_activity_at = Date.now()
    if (this.facts.limit.since === 'call') this.timer.refresh()
  }

  /** Tells every chunk of output as it comes, for the moment of the call; the return value stops it. */
  watch(run: (stream: Stream, chunk: Buffer) => void): () => void {
    this.watchers.add(run)
    return () => void this.watchers.delete(run)
  }

  /** Waits for the end, or for `ms` milliseconds if given; `forOutput` also for silence after output. Throws VT_CALL_ABORTED. */
  async wait(ms: number | undefined, signal: AbortSignal, { forOutput = false } = {}): Promise<void> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    const still = new Stillness(silence)
    if (forOutput && this.hasOutputAfter(this.position)) still.begin(Date.now() - this.last_output_at)
    const unwatch = forOutput ? this.watch(() => still.begin()) : () => {}
    try {
      if (!signal.aborted) await settles(Promise.race([this.ended, aborted, still.reached]), ms)
    } finally {
      unwatch()
      still.stop()
    }
    if (signal.aborted) throw problem('VT_CALL_ABORTED')
  }

  /** Changes the size of its terminal; a session on pipes has none. */
  resize(size: Partial<Size>): void {
    if (!this.size) return
    this.size = { ...this.size, ...size }
    if (this.running) this.transport.resize?.(this.size)
    void this.screen?.then((screen) => screen.resize(this.size!))
  }

  /** The output to deliver now: from the last delivery or from a position told earlier, to where it can be shown. */
  take(cursor?: number): { from: Record<Stream, StreamPosition>; to: Record<Stream, StreamPosition>; cursor: number } {
    const from = cursor === undefined ? this.delivered : this.placesAt(cursor)
    const to = { stdout: this.endOf(this.stdout), stderr: this.endOf(this.stderr) }
    this.delivered = to
    const position = to.stdout.at + to.stderr.at
    this.marks.set(position, to)
    if (this.marks.size > mostMarks) this.marks.delete([...this.marks.keys()][1]!)
    return { from, to, cursor: position }
  }

  /** What is there, without taking it. */
  endOf(log: StreamLog): StreamPosition {
    return this.running ? log.shown(this.plain) : { at: log.total, newlines: log.newlines }
  }

  /** Whether there is more to deliver than what a position told earlier stands for. */
  hasOutputAfter(cursor: number): boolean {
    return cursor < this.endOf(this.stdout).at + this.endOf(this.stderr).at
  }

  private get position(): number {
    return this.delivered.stdout.at + this.delivered.stderr.at
  }

  private placesAt(cursor: number): Record<Stream, StreamPosition> {
    const known = this.marks.get(cursor)
    if (known) return known
    const before = Math.max(...[...this.marks.keys()].filter((mark) => mark <= cursor))
    return this.marks.get(before)!
  }

  private notice(stream: Stream, chunk: Buffer): void {
    this.last_output_at = Date.now()
    for (const watcher of this.watchers) watcher(stream, chunk)
  }

  /** Ends the program with everything it started: `signal`, then SIGKILL after `ms`. Settles when nothing of its session is left. */
  end(signal: NodeJS.Signals, ms: number): Promise<void> {
    return (this.ending ??= this.terminate(signal, ms))
  }

  /** Ends what is left of it and waits for that. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = grace.term): Promise<void> {
    if (living.has(this)) await this.end(signal, ms)
    await this.ended
  }

  /** Ends it and lets go of its files. */
  async close(): Promise<void> {
    await this.stop()
    await Promise.all([this.stdout.close(), this.stderr.close()])
    await this.screen?.then((screen) => screen.close())
  }

  /** For the last moment of our own process, when nothing can be waited for. */
  kill(): void {
    signalTree(this.transport.pid, 'SIGKILL')
  }

  private async terminate(signal: NodeJS.Signals, ms: number): Promise<void> {
    this.sent = signal
    signalTree(this.transport.pid, signal)
    if (!(await this.isGone(ms))) {
      signalTree(this.transport.pid, 'SIGKILL')
      await this.isGone(grace.kill)
    }
    await settles(this.transport.drained, grace.kill)
    this.survivors = carriersOf(this.facts.mark)
    this.release()
  }

  private async follow(): Promise<void> {
    this.exit = this.seen(await this.transport.exited)
    await (this.ending ?? this.settle())
    clearTimeout(this.timer)
    this.tidied.push(...((await this.facts.tidy?.(this.exit)) ?? []))
    this.ended_at = Date.now()
  }

  /** What of its making was put aside since somebody was told. */
  async putAside(): Promise<Notice[]> {
    return [...this.tidied.splice(0), ...((this.running && (await this.facts.tidy?.())) || [])]
  }

  /** How the program ended: in a sandbox and in a shell a signal is a code of 128 and its number. */
  private seen(exit: Exit): Exit {
    const inside = this.facts.endInside?.(exit.exit_code)
    this.children_ended = inside?.children === true && this.ending === undefined
    if (inside?.signal !== undefined) return { exit_code: null, signal: inside.signal }
    return this.sent && exit.exit_code === 128 + (numbers[this.sent] ?? -128)
      ? { exit_code: null, signal: this.sent }
      : exit
  }

  /** After the program has ended: its last output, and what it left behind. */
  private async settle(): Promise<void> {
    const { transport, facts } = this
    // A sandbox ends with its command; what is left of it only has to be waited for.
    if (facts.sandbox === 'bwrap') signalGroup(transport.pid, 'SIGKILL')
    const deadline = Date.now() + grace.exit
    const drained = await settles(transport.drained, grace.exit)
    if (drained && (await this.isGone(deadline - Date.now()))) return this.release()
    if (facts.background) return
    if (groupRuns(transport.pid)) {
      this.children_ended = true
      return await this.end('SIGTERM', grace.term)
    }
    // Either we are slow to read, or a process that left the group holds the other end and may do so for ever.
    const latest = Date.now() + grace.flow
    while (Date.now() - this.last_output_at < silence && Date.now() < latest)
      if (await settles(transport.drained, 50)) break
    if (!(await settles(transport.drained, 0))) this.survivors = carriersOf(facts.mark)
    this.release()
  }

  private async isGone(ms: number): Promise<boolean> {
    const { pid } = this.transport
    const deadline = Date.now() + ms
    // A group that ends is gone in a moment; only one that stays is looked at process by process.
    for (let step = 1; isProcessRunning(-pid); step = Math.min(2 * step, 10)) {
      const isLate = Date.now() >= deadline
      if ((isLate || step >= 4) && !groupRuns(pid)) return true
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

const start: StreamPosition = { at: 0, newlines: 0 }
const numbers: Partial<Record<string, number>> = constants.signals
const mostMarks = 1000

// What runs when our own process ends, by whatever way it ends.
const living = new Set<CommandSession>()
process.on('exit', () => {
  for (const session of living) session.kill()
})
