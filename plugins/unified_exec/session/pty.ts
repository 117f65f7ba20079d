import { randomBytes } from 'node:crypto'
import { closeSync, constants as files, fstatSync, openSync, writeSync, type Stats } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { ReadStream } from 'node:tty'
import { noteLeaderExit, watchGroup } from '../../../core/system/index.js'
import type { Launch } from '../../../core/index.js'
import type { Exit, OutputSink, Size, Transport } from './transport.js'

/**
 * The native part of node-pty. Its JavaScript part loses the last lines of up to every third program, blocks when a
 * full terminal is written to, and sets PWD.
 */
interface Native {
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

let loaded: Native | undefined

/** Loads the native part; throws where this machine has none. */
function loadNative(): Native {
  const { requireBinary } = createRequire(import.meta.url)('node-pty/requireBinary.js') as {
    requireBinary(name: string): Native
  }
  return (loaded ??= requireBinary('pty.node'))
}

const findSpawnProgram = (): string =>
  process.platform === 'darwin'
    ? createRequire(import.meta.url).resolve(`@lydell/node-pty-darwin-${process.arch}/spawn-helper`)
    : ''

/** Milliseconds without output after which a program counts as ended although its mark is missing. */
const END_MARK_WAIT_MS = 200

/** Starts a program in a terminal of its own. Throws where this machine has none. */
export function startTerminal(launch: Launch, size: Size, sink: OutputSink): Transport {
  const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`)
  let terminal: Terminal | undefined
  const { fd, pid, pty } = loadNative().fork(
    launch.file,
    launch.args,
    env,
    launch.cwd,
    size.cols,
    size.rows,
    -1,
    -1,
    true,
    findSpawnProgram(),
    (code, signal) => {
      noteLeaderExit(pid)
      terminal?.exit({ exit_code: signal ? null : code, signal: signal ? toSignalName(signal) : null })
    },
  )
  watchGroup(pid)
  terminal = new Terminal(fd, pid, openSlave(pty), sink)
  return terminal
}

class Terminal implements Transport {
  readonly backend = 'pty'
  readonly exited: Promise<Exit>
  readonly drained: Promise<void>
  readonly input?: Stats | undefined
  private readonly ended = createDeferred<Exit>()
  private readonly drain = createDeferred<void>()
  private readonly master: ReadStream
  private readonly mark = new EndMark()
  private readonly keyboard: Keyboard
  private open = true
  private idle: NodeJS.Timeout | undefined

  constructor(
    private readonly fd: number,
    readonly pid: number,
    // A terminal drops unread output when its last holder leaves, so we hold it too.
    private readonly slave: number | undefined,
    private readonly sink: OutputSink,
  ) {
    this.exited = this.ended.promise
    this.drained = this.drain.promise
    if (slave !== undefined) this.input = fstatSync(slave)
    this.keyboard = new Keyboard(fd, () => this.release())
    this.master = new ReadStream(fd)
    this.master.on('data', (chunk: Buffer) => {
      this.idle?.refresh()
      this.forward(this.mark.take(chunk))
      if (this.mark.seen) this.finish()
    })
    this.master.on('error', () => this.release())
  }

  exit(exit: Exit): void {
    this.ended.resolve(exit)
    if (!this.open) return
    this.idle = setTimeout(() => this.finish(), END_MARK_WAIT_MS)
    const attempt = (): void => {
      if (this.open && this.slave !== undefined && !this.mark.write(this.slave)) setTimeout(attempt, 5)
    }
    attempt()
  }

  writable = (): boolean => this.open
  write = (data: Buffer): void => this.keyboard.write(data)
  end = (): void => this.write(Buffer.from('\x04'))
  resize = ({ cols, rows }: Size): void => {
    if (this.open) loadNative().resize(this.fd, cols, rows)
  }

  release = (): void => {
    if (!this.open) return
    this.open = false
    this.keyboard.close()
    if (this.slave !== undefined) closeSync(this.slave)
    this.master.destroy()
    this.finish()
  }

  private forward(chunk: Buffer): void {
    const busy = chunk.length > 0 ? this.sink('stdout', chunk) : undefined
    if (!busy) return
    this.master.pause()
    void busy.then(() => this.open && this.master.resume())
  }

  private finish(): void {
    clearTimeout(this.idle)
    this.forward(this.mark.rest())
    this.drain.resolve()
  }
}

/**
 * Writes typed text as fast as the terminal takes it. A stream would not do: libuv spins on a terminal whose program
 * does not read.
 */
class Keyboard {
  private readonly queue: Buffer[] = []
  private waiting = false
  private open = true

  constructor(
    private readonly fd: number,
    private readonly gone: () => void,
  ) {}

  write(data: Buffer): void {
    this.queue.push(data)
    if (!this.waiting) this.flush()
  }

  close(): void {
    this.open = false
  }

  private flush(): void {
    this.waiting = false
    while (this.open && this.queue.length > 0) {
      const written = attemptWrite(this.fd, this.queue[0]!)
      if (written === undefined) return this.gone()
      this.queue[0] = this.queue[0]!.subarray(written)
      if (this.queue[0].length === 0) this.queue.shift()
      else {
        this.waiting = true
        setTimeout(() => this.flush(), 10).unref()
        return
      }
    }
  }
}

function openSlave(pty: string): number | undefined {
  try {
    return openSync(pty, files.O_RDWR | files.O_NOCTTY | files.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/**
 * A mark that we write after the last output of an ended program. The terminal keeps the order, so all output has come
 * when the mark comes.
 */
class EndMark {
  seen = false
  private readonly bytes = Buffer.from(`\x1b]6973;${randomBytes(8).toString('hex')}\x07`)
  private written = 0
  private held: Buffer = Buffer.alloc(0)

  /** Writes the mark; returns false while the terminal is full. */
  write(slave: number): boolean {
    this.written += attemptWrite(slave, this.bytes.subarray(this.written)) ?? this.bytes.length
    return this.written >= this.bytes.length
  }

  /** Returns the output in a chunk; holds back a possible start of the mark. */
  take(chunk: Buffer): Buffer {
    if (this.written === 0 || this.seen) return chunk
    const data = Buffer.concat([this.held, chunk])
    const at = data.indexOf(this.bytes)
    this.seen = at >= 0
    if (this.seen) {
      this.held = Buffer.alloc(0)
      return Buffer.concat([data.subarray(0, at), data.subarray(at + this.bytes.length)])
    }
    const start = data.lastIndexOf(0x1b)
    const possible = start >= 0 && this.bytes.subarray(0, data.length - start).equals(data.subarray(start))
    this.held = possible ? data.subarray(start) : Buffer.alloc(0)
    return possible ? data.subarray(0, start) : data
  }

  /** Returns the bytes that were held back for a missing mark. */
  rest(): Buffer {
    const rest = this.held
    this.held = Buffer.alloc(0)
    return rest
  }
}

/** Writes and returns the number of bytes taken: 0 when the terminal is full, `undefined` when it is closed. */
function attemptWrite(fd: number, data: Buffer): number | undefined {
  try {
    return writeSync(fd, data)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : undefined
  }
}

const toSignalName = (signal: number): string =>
  Object.entries(constants.signals).find(([, value]) => value === signal)?.[0] ?? `SIG${signal}`

function createDeferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}
