import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { signalGroup, start } from '../../../core/base/index.js'
import type { Launch } from '../../../core/index.js'
import { jsonLines, settles, tail } from '../../lib/process/index.js'

const MAX_FRAME = 32 * 1_048_576
const MAX_LOG = 262_144
const grace = { close: 500, term: 2_000, kill: 500 }

/**
 * A server on the pipes of a process: one JSON message a line. The process leads a group of its own, so that the end of the server is
 * the end of all it started; its environment is exactly what was given.
 */
export class Pipe implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  #child: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  readonly #stderr = tail(MAX_LOG)

  constructor(
    private readonly launch: Launch,
    private readonly data: string,
  ) {}

  /** The end of the server's standard error. */
  get log(): string {
    return this.#stderr.text().trim()
  }
  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    mkdirSync(this.data, { recursive: true, mode: 0o700 })
    const child = start(this.launch, ['pipe', 'pipe', 'pipe'])
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    void this.#closed.then(() => this.onclose?.())
    child.stdin!.on('error', () => {})
    child.stdout!.on('data', this.#take)
    child.stderr!.on('data', this.#stderr.take)
    // A server never keeps the program alive.
    child.unref()
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => resolve())
      child.once('error', reject)
    })
  }

  readonly #take = jsonLines(MAX_FRAME, {
    value: (message) => this.onmessage?.(message as JSONRPCMessage),
    // Many servers print greetings; a line that is no message is ignored.
    other: (line) => this.#stderr.take(Buffer.from(`${line.slice(0, 400)}\n`)),
    tooLong: () => {
      this.onerror?.(new Error('The server sent a message of more than 32 MiB.'))
      void this.close()
    },
  })

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (!stdin?.writable) throw new Error('The server does not listen any more.')
    if (!stdin.write(`${JSON.stringify(message)}\n`)) await Promise.race([new Promise((resolve) => stdin.once('drain', resolve)), this.#closed])
  }

  /** Closes the server's input, then signals it to end, then kills its process group. */
  async close(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    child.stdin?.end()
    if (!(await settles(this.#closed, grace.close))) {
      signalGroup(child.pid, 'SIGTERM')
      await settles(this.#closed, grace.term)
    }
    signalGroup(child.pid, 'SIGKILL')
    await settles(this.#closed, grace.kill)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
  }
}
