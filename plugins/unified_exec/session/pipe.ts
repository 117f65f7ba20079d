import type { Duplex, Readable } from 'node:stream'
import { start } from '../../../core/base/index.js'
import type { Launch } from '../../../core/index.js'
import { drain } from '../../lib/process/index.js'
import type { Exit, OutputSink, Transport } from './transport.js'

export interface Pipes {
  /** Whether standard input is ours to write to; otherwise it is empty. */
  stdin: boolean
  /** Whether the program gets a private line on descriptor 3. */
  channel?: boolean
}

/** Starts a program with standard output and standard error apart. Rejects with the system's error when it cannot be started. */
export async function startPipe(launch: Launch, { stdin, channel = false }: Pipes, sink: OutputSink): Promise<Transport> {
  const child = start(launch, [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(channel ? (['pipe'] as const) : [])])
  const { pid } = child
  if (pid === undefined) throw await new Promise<Error>((resolve) => child.once('error', resolve))
  child.on('error', () => {})
  const input = child.stdin
  // A program that ends before it has read its input is no error of ours.
  input?.on('error', () => {})
  const line = child.stdio[3] as Duplex | undefined
  const streams = [
    drain(child.stdout!, (chunk) => sink('stdout', chunk)),
    drain(child.stderr!, (chunk) => sink('stderr', chunk)),
    ...(line ? [line] : []),
  ]
  return {
    backend: 'pipe',
    pid,
    exited: new Promise<Exit>((resolve) => child.once('exit', (exit_code, signal) => resolve({ exit_code, signal }))),
    drained: Promise.all(streams.map(closing)).then(() => {}),
    writable: () => input?.writable === true && !input.destroyed,
    write: (data) => void input?.write(data),
    end: () => void input?.end(),
    release: () => {
      for (const stream of [input, ...streams]) stream?.destroy()
    },
    ...(line && { channel: line }),
  }
}

const closing = (stream: Readable): Promise<void> => new Promise((resolve) => stream.once('close', resolve))
