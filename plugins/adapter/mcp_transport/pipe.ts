import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { makeFolder, signalGroup, spawnProgram } from '../../../core/system/index.js'
import type { Launch } from '../../../core/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { createJsonLineReader, hasSettled, createTail } from '../../lib/process/index.js'
import { MAX_ANSWER, type Intake } from './intake.js'

const MAX_LOG_BYTES = 262_144
// A server ends within two seconds of its owner, including our own time. One without a finished greeting has nothing to
// finish.
const GRACE_MS = { close: 500, term: 1_000, greeting: 200, kill: 300 }

/**
 * A server on the pipes of a process: one JSON message a line. The process leads its own group, so its end ends all
 * that it started. Its environment is exactly the given one.
 */
export class Pipe implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  #begun: Promise<void> | undefined
  #child: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  /** Set when the last chunk ended in the middle of a line. */
  #hasPartialLine = false
  /** Settles when the server has read all waiting messages. */
  #read: Promise<void> | undefined
  readonly #stderr = createTail(MAX_LOG_BYTES)

  constructor(
    private readonly launch: Launch,
    private readonly data: string,
    private readonly intake: Intake,
  ) {}

  /** Returns the end of the server's standard error. */
  get log(): string {
    return this.#stderr.text().trim()
  }
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts the process, which comes up while the client's library is loaded. */
  start(): Promise<void> {
    return (this.#begun ??= this.#begin())
  }

  async #begin(): Promise<void> {
    makeFolder(this.data, 0o700)
    const child = spawnProgram(this.launch, ['pipe', 'pipe', 'pipe'])
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    void this.#closed.then(() => this.onclose?.())
    child.stdin!.on('error', () => {})
    child.stdout!.on('data', (chunk: Buffer) => {
      this.intake.add(chunk.length)
      this.#take(chunk)
      this.#hasPartialLine = chunk.at(-1) !== 10
      this.#pauseReading(this.intake.rest_ms)
    })
    child.stdout!.once('end', () => {
      if (this.#hasPartialLine) this.intake.fault ??= 'it closed its pipe in the middle of a message'
    })
    child.stderr!.on('data', this.#stderr.take)
    // A server never keeps the program alive.
    child.unref()
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => resolve())
      child.once('error', reject)
    })
  }

  readonly #take = createJsonLineReader(MAX_ANSWER, {
    value: (message) => this.onmessage?.(message as JSONRPCMessage),
    // Many servers print greetings; a line that is no message is ignored.
    other: (line) => this.#stderr.take(Buffer.from(`${line.slice(0, 400)}\n`)),
    tooLong: () => {
      this.onerror?.(this.intake.fail('a message of more than 32 MiB'))
      void this.close()
    },
  })

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (!stdin?.writable) throw new Error('The server has closed its input.')
    if (stdin.write(`${JSON.stringify(message)}\n`)) return
    await (this.#read ??= this.#waitUntilRead(stdin))
  }

  /** Pauses reading from a server that sends too much. */
  #pauseReading(ms: number): void {
    if (ms <= 0) return
    const { stdout } = this.#child!
    stdout?.pause()
    setTimeout(() => this.#read ?? stdout?.resume(), ms).unref()
  }

  /** Stops reading from a server that does not read: answers to it would fill the memory. */
  async #waitUntilRead(stdin: Writable): Promise<void> {
    const { stdout } = this.#child!
    stdout?.pause()
    await waitForDrain(stdin)
    this.#read = undefined
    stdout?.resume()
  }

  /** Closes the input of the server, then signals it to end, then kills its process group. */
  close(): Promise<void> {
    return this.#end(GRACE_MS.close, GRACE_MS.term)
  }
  /** Ends a server that has not finished its greeting. */
  abandon(): Promise<void> {
    return this.#end(0, GRACE_MS.greeting)
  }

  async #end(close_ms: number, term_ms: number): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    child.stdin?.end()
    child.stdout?.resume()
    if (!(await hasSettled(this.#closed, close_ms))) {
      signalGroup(child.pid, 'SIGTERM')
      await hasSettled(this.#closed, term_ms)
    }
    signalGroup(child.pid, 'SIGKILL')
    await hasSettled(this.#closed, GRACE_MS.kill)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
  }
}
