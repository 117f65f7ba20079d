import type { ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { Duplex, Readable } from 'node:stream'
import { start } from '../../../core/system/index.js'
import type { Launch } from '../../../core/index.js'
import { drain, outputPipes, type OutputPipes } from '../../lib/process/index.js'
import type { Exit, OutputSink, Transport } from './transport.js'

export interface Pipes {
  /** Whether standard input is ours to write to; otherwise it is empty. */
  stdin: boolean
  /** Whether the program gets a private line on descriptor 3. */
  channel?: boolean
}

/** Starts a program with standard output and standard error apart. Rejects with the system's error when it cannot be started. */
export async function startPipe(
  launch: Launch,
  { stdin, channel = false }: Pipes,
  sink: OutputSink,
): Promise<Transport> {
  const pipes = await outputPipes.take()
  const source = stdin ? 'pipe' : 'ignore'
  const child = writingTo(pipes, ({ stdout, stderr }) =>
    start(launch, [source, stdout, stderr, ...(channel ? (['pipe'] as const) : [])]),
  )
  const { pid } = child
  if (pid === undefined) throw await new Promise<Error>((resolve) => child.once('error', resolve))
  child.on('error', () => {})
  const input = child.stdin
  // A program that ends before it has read its input is no error of ours.
  input?.on('error', () => {})
  const line = child.stdio[3] as Duplex | undefined
  const streams = [
    drain(pipes?.stdout.read ?? child.stdout!, (chunk) => sink('stdout', chunk)),
    drain(pipes?.stderr.read ?? child.stderr!, (chunk) => sink('stderr', chunk)),
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

/** The ends that are the program's are not ours any more, and nothing of them is where it did not start. */
function writingTo(
  pipes: OutputPipes | undefined,
  run: (ends: Record<'stdout' | 'stderr', number | 'pipe'>) => ChildProcess,
): ChildProcess {
  let child: ChildProcess | undefined
  try {
    return (child = run({ stdout: pipes?.stdout.write ?? 'pipe', stderr: pipes?.stderr.write ?? 'pipe' }))
  } finally {
    for (const { read, write } of pipes ? [pipes.stdout, pipes.stderr] : []) {
      closeSync(write)
      if (child?.pid === undefined) closeSync(read)
    }
  }
}

const closing = (stream: Readable): Promise<void> => new Promise((resolve) => stream.once('close', resolve))
