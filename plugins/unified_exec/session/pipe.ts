import type { ChildProcess } from 'node:child_process'
import { closeSync, statSync } from 'node:fs'
import type { Duplex, Readable } from 'node:stream'
import { spawnProgram } from '../../../core/system/index.js'
import type { Launch } from '../../../core/index.js'
import { drain, outputPipes, type OutputPipes } from '../../lib/process/index.js'
import type { Exit, OutputSink, Transport } from './transport.js'

export interface Pipes {
  /** True if we write standard input; otherwise it is empty. */
  stdin: boolean
  /** True if the program gets a private pipe on descriptor 3. */
  channel?: boolean
}

/** Starts a program with separate standard output and standard error. Rejects with the system's error. */
export async function startPipe(
  launch: Launch,
  { stdin, channel = false }: Pipes,
  sink: OutputSink,
): Promise<Transport> {
  const pipes = await outputPipes.take()
  const source = stdin ? 'pipe' : 'ignore'
  const child = startWithPipes(pipes, ({ stdout, stderr }) =>
    spawnProgram(launch, [source, stdout, stderr, ...(channel ? (['pipe'] as const) : [])]),
  )
  const { pid } = child
  if (pid === undefined) throw await new Promise<Error>((resolve) => child.once('error', resolve))
  child.on('error', () => {})
  const input = child.stdin
  // A program may end before it has read its input.
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
    drained: Promise.all(streams.map(waitForClose)).then(() => {}),
    ...(input && { input: statSync(`/proc/${pid}/fd/0`, { throwIfNoEntry: false }) }),
    writable: () => input?.writable === true && !input.destroyed,
    write: (data) => void input?.write(data),
    end: () => void input?.end(),
    release: () => {
      for (const stream of [input, ...streams]) stream?.destroy()
    },
    ...(line && { channel: line }),
  }
}

/** Closes the ends of the program here, and all ends if it did not start. */
function startWithPipes(
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

const waitForClose = (stream: Readable): Promise<void> => new Promise((resolve) => stream.once('close', resolve))
