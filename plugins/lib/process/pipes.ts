import type { ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, start } from '../../../core/system/index.js'
import { createTempFolder } from '../base/index.js'
import { settles } from './run.js'

/** Both ends of a pipe that has no name; who takes them closes them. */
export interface PipeEnds {
  read: number
  write: number
}
export interface OutputPipes {
  stdout: PipeEnds
  stderr: PipeEnds
}

const systemFolders = ['/usr/bin', '/bin', '/run/current-system/sw/bin']
/** Pairs that are made at once: as many as are waited for, and more from time to time while there is demand. */
const batch = { least: 4, ahead: 16, most: 32 }
const idleMs = 2000
const patienceMs = 2000

/**
 * Pipes for the output of programs, as a shell makes them. Node itself connects a program by sockets: a name like /dev/stdout cannot be
 * opened on one, and a Node program that ends by process.exit() loses what did not fit in, which is 22 KB of short lines. Node makes no
 * pipe, so a small program makes some at a time. On other systems than Linux a pipe gives no more than a socket.
 */
export class PipeMaker {
  private ready: OutputPipes[] = []
  private making: Promise<boolean> | undefined
  private size = batch.least
  private waiting = 0
  private idle: NodeJS.Timeout | undefined

  constructor(private readonly folders: readonly string[] = systemFolders) {}

  /** A fresh pair; nothing where none can be made. */
  async take(): Promise<OutputPipes | undefined> {
    if (process.platform !== 'linux') return undefined
    for (;;) {
      const pair = this.ready.pop()
      clearTimeout(this.idle)
      this.idle = setTimeout(() => this.close(), idleMs).unref()
      if (pair) return pair
      this.waiting += 1
      // All who ask in this turn are counted before it begins.
      this.making ??= Promise.resolve()
        .then(() => this.make())
        .finally(() => (this.making = undefined))
      const made = await this.making.finally(() => (this.waiting -= 1))
      if (!made) return undefined
    }
  }

  /** Nobody has asked for a while: what is ready counts against what the system gives a user. */
  private close(): void {
    for (const pair of this.ready.splice(0)) closePipes(pair)
    this.size = batch.least
  }

  private async make(): Promise<boolean> {
    const size = Math.min(Math.max(this.size, this.waiting), batch.most)
    this.size = Math.min(2 * this.size, batch.ahead)
    const ends = (await wide(size, this.folders)) ?? (await named(size, this.folders)) ?? []
    for (let at = 0; at + 1 < ends.length; at += 2) this.ready.push({ stdout: ends[at]!, stderr: ends[at + 1]! })
    return ends.length > 1
  }
}

/** Those of this process. */
export const outputPipes = new PipeMaker()

const closePipes = ({ stdout, stderr }: OutputPipes): void =>
  [stdout, stderr].forEach(({ read, write }) => [read, write].forEach((fd) => closeSync(fd)))

/** Pipes that hold 1 MiB and 512 KiB in turn, where the user may have as much (64 MiB in all), else the usual 64 KiB. */
const script = `for (1 .. $ARGV[0]) {
  pipe(my $read, my $write) or last;
  fcntl($write, 1031, $_ % 2 ? 1048576 : 524288);
  push @kept, $read, $write;
  push @names, fileno($read);
}
$| = 1;
print "@names\\n";
<STDIN>`

/** Made by perl, which keeps them until they are opened here. */
async function wide(pairs: number, folders: readonly string[]): Promise<PipeEnds[] | undefined> {
  const file = findProgram('perl', folders)
  if (file === undefined) return undefined
  const child = start(
    { file, args: ['-e', script, String(2 * pairs)], cwd: '/', env: {} },
    ['pipe', 'pipe', 'ignore'],
    'brief',
  )
  const text = await firstWords(child)
  try {
    return opened([...text.matchAll(/\d+/g)].map(([number]) => `/proc/${child.pid}/fd/${number}`))
  } finally {
    child.stdin!.destroy()
  }
}

/** Where there is no perl: in a private folder that is removed at once. */
async function named(pairs: number, folders: readonly string[]): Promise<PipeEnds[] | undefined> {
  const file = findProgram('mkfifo', folders)
  if (file === undefined) return undefined
  let folder: string | undefined
  try {
    folder = createTempFolder('pipes')
    const paths = Array.from({ length: 2 * pairs }, (_, index) => join(folder!, String(index)))
    await firstWords(
      start({ file, args: ['-m', '600', ...paths], cwd: '/', env: {} }, ['pipe', 'pipe', 'ignore'], 'brief'),
    )
    return opened(paths)
  } catch {
    return undefined
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** What a program says first, or nothing when it has ended. One that does neither in time is left to end with its input. */
async function firstWords(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdin!.on('error', () => {})
  const said = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('close', () => resolve())
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.endsWith('\n')) resolve()
    })
  })
  if (!(await settles(said, patienceMs))) child.kill('SIGKILL')
  return text
}

/** The reading end first, which waits for nobody; then the other finds it open. Nothing where one of them cannot be opened. */
function opened(paths: readonly string[]): PipeEnds[] | undefined {
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
