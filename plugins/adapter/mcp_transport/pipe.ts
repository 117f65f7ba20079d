import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { makeFolder, signalGroup, start } from '../../../core/system/index.js'
import type { Launch } from '../../../core/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { jsonLines, settles, tail } from '../../lib/process/index.js'
import { MAX_ANSWER, type Intake } from './intake.js'

const MAX_LOG = 262_144
// With the time that this program takes itself, a server ends within two seconds of its owner; one that has not greeted us has nothing to finish.
const grace = { close: 500, term: 1_000, greeting: 200, kill: 300 }

/**
 * A server on the pipes of a process: one JSON message a line. The process leads a group of its own, so that the end of the server is
 * the end of all it started; its environment is exactly what was given.
 */
export class Pipe implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  #begun: Promise<void> | undefined
  #child: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  /** What came last was a part of a line. */
  #midway = false
  /** Settles when the server has read what waits for it. */
  #read: Promise<void> | undefined
  readonly #stderr = tail(MAX_LOG)

  constructor(
    private readonly launch: Launch,
    private readonly data: string,
    private readonly intake: Intake,
  ) {}

  /** The end of the server's standard error. */
  get log(): string {
    return this.#stderr.text().trim()
  }
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Begun ahead, its process comes up while the client's library is loaded. */
  start(): Promise<void> {
    return (this.#begun ??= this.#begin())
  }

  async #begin(): Promise<void> {
    makeFolder(this.data, 0o700)
    const child = start(this.launch, ['pipe', 'pipe', 'pipe'])
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    void this.#closed.then(() => this.onclose?.())
    child.stdin!.on('error', () => {})
    child.stdout!.on('data', (chunk: Buffer) => {
      this.intake.add(chunk.length)
      this.#take(chunk)
      this.#midway = chunk.at(-1) !== 10
      this.#restWhile(this.intake.rest_ms)
    })
    child.stdout!.once('end', () => {
      if (this.#midway) this.intake.fault ??= 'it closed its pipe in the middle of a message'
    })
    child.stderr!.on('data', this.#stderr.take)
    // A server never keeps the program alive.
    child.unref()
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => resolve())
      child.once('error', reject)
    })
  }

  readonly #take = jsonLines(MAX_ANSWER, {
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
    if (!stdin?.writable) throw new Error('The server does not listen any more.')
    if (stdin.write(`${JSON.stringify(message)}\n`)) return
    await (this.#read ??= this.#untilRead(stdin))
  }

  /** Nothing is read for a while of a server that says too much. */
  #restWhile(ms: number): void {
    if (ms <= 0) return
    const { stdout } = this.#child!
    stdout?.pause()
    setTimeout(() => this.#read ?? stdout?.resume(), ms).unref()
  }

  /** Nothing more is read of a server that does not read: what it asks for would be answered into memory. */
  async #untilRead(stdin: Writable): Promise<void> {
    const { stdout } = this.#child!
    stdout?.pause()
    await waitForDrain(stdin)
    this.#read = undefined
    stdout?.resume()
  }

  /** Closes the server's input, then signals it to end, then kills its process group. */
  close(): Promise<void> {
    return this.#end(grace.close, grace.term)
  }
  /** Ends a server that has not finished its greeting. */
  abandon(): Promise<void> {
    return this.#end(0, grace.greeting)
  }

  async #end(close_ms: number, term_ms: number): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    child.stdin?.end()
    child.stdout?.resume()
    if (!(await settles(this.#closed, close_ms))) {
      signalGroup(child.pid, 'SIGTERM')
      await settles(this.#closed, term_ms)
    }
    signalGroup(child.pid, 'SIGKILL')
    await settles(this.#closed, grace.kill)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
  }
}
