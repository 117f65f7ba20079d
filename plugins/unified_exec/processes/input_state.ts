import { readdirSync, statSync, type Stats } from 'node:fs'
import { readSystemFile } from '../../lib/base/index.js'
import type { StreamLog } from '../output/log.js'
import { toPlainText } from '../output/text.js'
import type { Transport } from '../session/transport.js'
import { listBlockedReads } from './blocked_reads.js'

/** The state of a program with all processes below it. */
interface InputSample {
  /** A process waits for the input of the program; `undefined`: the system does not report it. */
  waits: boolean | undefined
  /** The processor time of all of them, in ticks of the system. */
  ticks: number
}

const MAX_THREADS = 512
/** The device number of `/dev/tty`, which is the terminal of the process that opens it. */
const OWN_TERMINAL = 0x500

/** Returns whether the processes of a program wait for its input; `undefined` without /proc. */
function sampleInput({ pid: leader, input }: Pick<Transport, 'pid' | 'input'>): InputSample | undefined {
  const pids = input && listTree(leader)
  if (!pids) return undefined
  const threads = pids.flatMap((pid) => listNumbers(`/proc/${pid}/task`).map((tid) => ({ pid, tid })))
  if (threads.length > MAX_THREADS) return undefined
  const reads = threads.map(({ pid, tid }) => listBlockedReads(pid, tid)?.some((fd) => isInput(pid, fd, input)))
  return {
    waits: reads.includes(true) || (reads.includes(undefined) ? undefined : false),
    ticks: pids.reduce((sum, pid) => sum + readTicks(pid), 0),
  }
}

/** Returns whether a descriptor is the input of the program, or its terminal by another name. */
function isInput(pid: number, fd: number, input: Stats): boolean {
  const opened = statFile(`/proc/${pid}/fd/${fd}`)
  if (!opened) return false
  if (input.isCharacterDevice()) return opened.rdev === input.rdev || opened.rdev === OWN_TERMINAL
  return opened.dev === input.dev && opened.ino === input.ino
}

/** Returns a process and all below it; `undefined` where the system does not list children. */
function listTree(leader: number): number[] | undefined {
  const found = [leader]
  for (const pid of found) {
    for (const tid of listNumbers(`/proc/${pid}/task`))
      found.push(...(readSystemFile(`/proc/${pid}/task/${tid}/children`).match(/\d+/g) ?? []).map(Number))
    if (found.length > MAX_THREADS) return undefined
  }
  return found
}

/** Returns the processor time of a process and of its ended children. */
function readTicks(pid: number): number {
  const stat = readSystemFile(`/proc/${pid}/stat`)
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
  return times.reduce((sum, time) => sum + Number(time), 0)
}

function listNumbers(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number)
  } catch {
    return []
  }
}

function statFile(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** The silence after which a program is examined, and the time between two samples, in milliseconds. */
const QUIET_MS = 3000
const SAMPLE_MS = 500
/** The processor time between two samples of a program that computes, in ticks of 10 ms. */
const BUSY_TICKS = 5

/** The end of a text that asks: a question, a password, or the prompt of a shell, without a newline after it. */
const PROMPT = /[?:>\]$#%)] ?$/
const PROMPT_BYTES = 256

/** The program of a session, as far as its input matters. */
interface InputReader {
  readonly transport: Pick<Transport, 'pid' | 'input' | 'writable'>
  readonly stdout: Pick<StreamLog, 'readEnd'>
}

/** The state of a program's input. */
export class InputState {
  /** Set once the program was found to wait, until its next output or input. */
  awaited = false
  private last_exchange_at = Date.now()

  constructor(private readonly program: InputReader) {}

  /** Notes output of the program, or input that it was sent. */
  noteExchange(): void {
    this.last_exchange_at = Date.now()
    this.awaited = false
  }

  /** Examines the program now, before it is ended. */
  check(): void {
    const { transport } = this.program
    const sample = transport.writable() ? sampleInput(transport) : undefined
    this.awaited = sample !== undefined && this.isWaiting(sample)
  }

  /**
   * Resolves `reached` when the silent program waits for input: in two samples one of its processes waits to read, and
   * none of them computes. Never resolves otherwise.
   */
  watch(): { reached: Promise<void>; stop(): void } {
    let timer: NodeJS.Timeout | undefined
    let last: (InputSample & { at: number }) | undefined
    const reached = new Promise<void>((resolve) => {
      const examine = (): void => {
        const now = Date.now()
        const quiet_ms = now - this.last_exchange_at
        const sample = quiet_ms < QUIET_MS ? undefined : sampleInput(this.program.transport)
        const isConfirmed = last !== undefined && sample !== undefined && last.at >= this.last_exchange_at
        if (isConfirmed && sample.ticks - last!.ticks <= BUSY_TICKS && [last!, sample].every(this.isWaiting)) {
          this.awaited = true
          return resolve()
        }
        last = sample && { ...sample, at: now }
        timer = setTimeout(examine, Math.max(SAMPLE_MS, QUIET_MS - quiet_ms))
      }
      if (this.program.transport.writable()) examine()
    })
    return { reached, stop: () => clearTimeout(timer) }
  }

  /** A program of another user hides what it waits for; then a prompt at the end of its output decides. */
  private readonly isWaiting = ({ waits }: InputSample): boolean =>
    waits ?? PROMPT.test(toPlainText(this.program.stdout.readEnd(PROMPT_BYTES)))
}
