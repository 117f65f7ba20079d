import type { ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, spawnProgram } from '../../../core/system/index.js'
import { createTempFolder } from '../base/index.js'
import { hasSettled } from './run.js'

/** Both ends of an anonymous pipe. The receiver closes them. */
export interface PipeEnds {
  read: number
  write: number
}
export interface OutputPipes {
  stdout: PipeEnds
  stderr: PipeEnds
}

const systemFolders = ['/usr/bin', '/bin', '/run/current-system/sw/bin']
/** Numbers of pairs made together: at least the number of waiting calls, and more under continued demand. */
const BATCH = { least: 4, ahead: 16, most: 32 }
const IDLE_MS = 2000
const START_TIMEOUT_MS = 2000

/**
 * Creates pipes for the output of programs, as a shell does. Node connects programs by sockets instead: /dev/stdout
 * cannot be opened on a socket, and a Node program that calls process.exit() loses data that did not fit in, which is
 * 22 KB of short lines. Node cannot create pipes, so a small program creates several at a time. Outside Linux a pipe
 * has no advantage over a socket.
 */
export class PipeMaker {
  private ready: OutputPipes[] = []
  private making: Promise<boolean> | undefined
  private size = BATCH.least
  private waiting = 0
  private idle: NodeJS.Timeout | undefined

  constructor(private readonly folders: readonly string[] = systemFolders) {}

  /** Returns a new pair; `undefined` if none can be made. */
  async take(): Promise<OutputPipes | undefined> {
    if (process.platform !== 'linux') return undefined
    for (;;) {
      const pair = this.ready.pop()
      clearTimeout(this.idle)
      this.idle = setTimeout(() => this.close(), IDLE_MS).unref()
      if (pair) return pair
      this.waiting += 1
      // Calls of this turn are counted before making starts.
      this.making ??= Promise.resolve()
        .then(() => this.make())
        .finally(() => (this.making = undefined))
      const made = await this.making.finally(() => (this.waiting -= 1))
      if (!made) return undefined
    }
  }

  /** Closes idle pairs: open pipes count against a limit of the user. */
  private close(): void {
    for (const pair of this.ready.splice(0)) closePipes(pair)
    this.size = BATCH.least
  }

  private async make(): Promise<boolean> {
    const size = Math.min(Math.max(this.size, this.waiting), BATCH.most)
    this.size = Math.min(2 * this.size, BATCH.ahead)
    const ends = (await openPerlPipes(size, this.folders)) ?? (await openFifos(size, this.folders)) ?? []
    for (let at = 0; at + 1 < ends.length; at += 2) this.ready.push({ stdout: ends[at]!, stderr: ends[at + 1]! })
    return ends.length > 1
  }
}

/** Pipe maker of this process. */
export const outputPipes = new PipeMaker()

const closePipes = ({ stdout, stderr }: OutputPipes): void =>
  [stdout, stderr].forEach(({ read, write }) => [read, write].forEach((fd) => closeSync(fd)))

/** Creates pipes of 1 MiB and 512 KiB in turn if the user limit (64 MiB in total) permits, else of the usual 64 KiB. */
const script = `for (1 .. $ARGV[0]) {
  pipe(my $read, my $write) or last;
  fcntl($write, 1031, $_ % 2 ? 1048576 : 524288);
  push @kept, $read, $write;
  push @names, fileno($read);
}
$| = 1;
print "@names\\n";
<STDIN>`

/** Creates pipes with perl, which keeps them until they are opened here. */
async function openPerlPipes(pairs: number, folders: readonly string[]): Promise<PipeEnds[] | undefined> {
  const file = findProgram('perl', folders)
  if (file === undefined) return undefined
  const child = spawnProgram(
    { file, args: ['-e', script, String(2 * pairs)], cwd: '/', env: {} },
    ['pipe', 'pipe', 'ignore'],
    'brief',
  )
  const text = await readFirstLine(child)
  try {
    return openEnds([...text.matchAll(/\d+/g)].map(([number]) => `/proc/${child.pid}/fd/${number}`))
  } finally {
    child.stdin!.destroy()
  }
}

/** Creates named pipes in a private folder, which is removed immediately. Fallback without perl. */
async function openFifos(pairs: number, folders: readonly string[]): Promise<PipeEnds[] | undefined> {
  const file = findProgram('mkfifo', folders)
  if (file === undefined) return undefined
  let folder: string | undefined
  try {
    folder = createTempFolder('pipes')
    const paths = Array.from({ length: 2 * pairs }, (_, index) => join(folder!, String(index)))
    await readFirstLine(
      spawnProgram({ file, args: ['-m', '600', ...paths], cwd: '/', env: {} }, ['pipe', 'pipe', 'ignore'], 'brief'),
    )
    return openEnds(paths)
  } catch {
    return undefined
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the first line of a program, or '' when it ends. A program that does neither in time is killed. */
async function readFirstLine(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdin!.on('error', () => {})
  const firstLine = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('close', () => resolve())
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.endsWith('\n')) resolve()
    })
  })
  if (!(await hasSettled(firstLine, START_TIMEOUT_MS))) child.kill('SIGKILL')
  return text
}

/**
 * Opens the reading end first, without blocking, so that the writing end finds a reader. Returns `undefined` if an end
 * cannot be opened.
 */
function openEnds(paths: readonly string[]): PipeEnds[] | undefined {
  const fds: number[] = []
  try {
    for (const path of paths) {
      fds.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK))
      fds.push(openSync(path, constants.O_WRONLY))
    }
  } catch {
    for (const fd of fds) closeSync(fd)
    return undefined
  }
  return paths.length === 0
    ? undefined
    : paths.map((_, index) => ({ read: fds[2 * index]!, write: fds[2 * index + 1]! }))
}
