// Which way of connecting a program loses least of what it prints when it ends badly: `node test/bench/output_ways.mjs [rounds [part of a program’s name]]`.
// Each cell is the fewest and the most bytes that arrived, of those that were written. What was chosen and why stands in docs/tools.md.
import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  unlinkSync,
} from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const [rounds = '6', only = ''] = process.argv.slice(2)
const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
const node = (code) => [process.execPath, '-e', code]
const echoes = (to) => ['bash', '-c', `for i in {1..2000}; do echo "line $i" > ${to}; done`]
const lines = 18_893
const write = (stream, bytes, pieces) =>
  node(
    `for (let i = 0; i < ${pieces}; i++) process.${stream}.write('x'.repeat(${bytes / pieces - 1}) + '\\n'); process.exit(0)`,
  )

/** A program, and how much it writes to each of its two streams. */
const programs = {
  'node, 3,600 small writes, exit': [write('stdout', 288_000, 3600), 288_000, 0],
  'node, one write, exit': [write('stdout', 288_000, 1), 288_000, 0],
  'node, one write of 5 MB, exit': [write('stdout', 5_000_000, 1), 5_000_000, 0],
  'node, 62,500 writes of 80, exit': [write('stdout', 5_000_000, 62_500), 5_000_000, 0],
  'node, 3,600 small writes to stderr, exit': [write('stderr', 288_000, 3600), 0, 288_000],
  'node, one write to stderr, exit': [write('stderr', 288_000, 1), 0, 288_000],
  'python, flushed, _exit': [
    ['python3', '-c', `import os, sys\nfor i in range(3600): print('x' * 79)\nsys.stdout.flush(); os._exit(1)`],
    288_000,
    0,
  ],
  'bash, 2,000 × > /dev/stdout': [echoes('/dev/stdout'), lines, 0],
  'bash, 2,000 × > /dev/stderr': [echoes('/dev/stderr'), 0, lines],
  'bash, 500 × tee /dev/stdout': [
    ['bash', '-c', 'for i in {1001..1500}; do echo "line $i" | tee /dev/stdout; done'],
    10_000,
    0,
  ],
  'bash, 500 × tee /dev/stderr': [
    ['bash', '-c', 'for i in {1001..1500}; do echo "line $i" | tee /dev/stderr; done'],
    5000,
    5000,
  ],
  'node, 500 × writeFileSync(/dev/stdout)': [
    node(`for (let i = 1001; i <= 1500; i++) require('fs').writeFileSync('/dev/stdout', 'line ' + i + '\\n')`),
    5000,
    0,
  ],
  'a daemon keeps stdout': [['bash', '-c', `setsid bash -c 'sleep 0.2; echo late; sleep 3' & echo early`], 11, 0],
  'yes, cut off at 300 MB': [['bash', '-c', 'yes | head -c 300000000'], 300_000_000, 0],
}

const launch = (argv, out, err) => spawn(argv[0], argv.slice(1), { stdio: ['ignore', out, err], detached: true })
const exited = (child) => new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
const closed = (stream) => new Promise((resolve) => stream.once('close', resolve))
const counted = (stream) => {
  const sum = { bytes: 0, done: closed(stream) }
  stream.on('data', (chunk) => (sum.bytes += chunk.length)).on('error', () => {})
  return sum
}
const grace = 600

/** The ways: a program is run, and how much arrived of each stream is answered. */
const ways = {
  async socket(argv) {
    const child = launch(argv, 'pipe', 'pipe')
    return await both(child, counted(child.stdout), counted(child.stderr))
  },
  'a shell’s pipe': async (argv) => {
    const [out, err] = ['out', 'err'].map((name) => join(root, name))
    const child = spawn('bash', ['-c', `{ "$@" 2>&1 >&3 | cat >"${err}"; } 3>&1 | cat >"${out}"`, 'bash', ...argv], {
      stdio: 'ignore',
    })
    await exited(child)
    return [out, err].map((file) => readFileSync(file).length)
  },
  'FIFO, event loop': (argv) => fifo(argv, 0, looped),
  'FIFO, thread': (argv) => fifo(argv, 0, threaded),
  'FIFO of 1 MiB, event loop': (argv) => fifo(argv, 1_048_576, looped),
  'file, followed': (argv) => file(argv),
}

async function both(child, ...sums) {
  await exited(child)
  await Promise.race([Promise.all(sums.map(({ done }) => done)), pause(grace)])
  child.stdout?.destroy()
  child.stderr?.destroy()
  return sums.map(({ bytes }) => bytes)
}

let made = 0
/** Both ends of a FIFO that has no name any more. */
function pipe(size) {
  const path = join(root, `fifo${made++}`)
  spawnSync('mkfifo', ['-m', '600', path])
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const write = openSync(path, constants.O_WRONLY)
  if (size > 0) spawnSync('perl', ['-e', 'open(F, "+<", $ARGV[0]); fcntl(F, 1031, 0 + $ARGV[1])', path, String(size)])
  unlinkSync(path)
  return { read, write }
}

async function fifo(argv, size, reader) {
  const pipes = [pipe(size), pipe(size)]
  const readers = await Promise.all(pipes.map(({ read }) => reader(read)))
  const child = launch(argv, pipes[0].write, pipes[1].write)
  for (const { write } of pipes) closeSync(write)
  await exited(child)
  await Promise.race([Promise.all(readers.map(({ done }) => done)), pause(grace)])
  const sums = readers.map(({ bytes }) => bytes())
  for (const { end } of readers) await end()
  return sums
}

async function looped(fd) {
  const socket = new Socket({ fd, readable: true, writable: false })
  const sum = counted(socket)
  return { done: sum.done, bytes: () => sum.bytes, end: () => socket.destroy() }
}

async function threaded(fd) {
  const shared = new BigInt64Array(new SharedArrayBuffer(16))
  const code = `const { workerData: { fd, shared } } = require('worker_threads')
    const socket = new (require('net').Socket)({ fd, readable: true, writable: false })
    socket.on('data', (chunk) => Atomics.add(shared, 0, BigInt(chunk.length))).on('error', () => {})
    require('worker_threads').parentPort.postMessage(0)`
  const worker = new Worker(code, { eval: true, workerData: { fd, shared } })
  await new Promise((resolve) => worker.once('message', resolve))
  return {
    done: new Promise((resolve) => worker.once('exit', resolve)),
    bytes: () => Number(shared[0]),
    end: () => worker.terminate(),
  }
}

const most = 64 * 1024 * 1024

/** Standard output goes to a file without a name; what was read is cut off, the group stopped meanwhile, so that it never fills a disk. */
async function file(argv) {
  const path = join(root, `file${made++}`)
  const fd = openSync(path, 'ax+', 0o600)
  unlinkSync(path)
  const errors = pipe(0)
  const reader = await looped(errors.read)
  const child = launch(argv, fd, errors.write)
  closeSync(errors.write)
  const chunk = Buffer.allocUnsafe(1024 * 1024)
  let [at, bytes] = [0, 0]
  const follow = () => {
    const { size } = fstatSync(fd)
    if (size < at) at = 0
    for (let got = 1; got > 0; at += got) bytes += got = readSync(fd, chunk, 0, chunk.length, at)
    if (size <= most) return
    process.kill(-child.pid, 'SIGSTOP')
    for (let got = 1; got > 0; at += got) bytes += got = readSync(fd, chunk, 0, chunk.length, at)
    ftruncateSync(fd, (at = 0))
    process.kill(-child.pid, 'SIGCONT')
  }
  const timer = setInterval(follow, 5)
  await exited(child)
  await Promise.race([reader.done, pause(grace)])
  clearInterval(timer)
  follow()
  const sums = [bytes, reader.bytes()]
  reader.end()
  closeSync(fd)
  return sums
}

const share = (parts, whole) => {
  const [least, largest] = [Math.min(...parts), Math.max(...parts)]
  if (least === whole && largest === whole) return 'all'
  // A name that cannot be opened is complained about, on the same stream.
  if (largest > whole) return 'errors instead'
  const text = (bytes) => (bytes < 20_000 ? String(bytes) : `${Math.round(bytes / 1000)} K`)
  return least === largest ? text(least) : `${text(least)} – ${text(largest)}`
}

const rows = []
for (const [name, [argv, out, err]] of Object.entries(programs).filter(([name]) => name.includes(only))) {
  const cells = []
  for (const way of Object.values(ways)) {
    const came = []
    for (let round = 0; round < Number(rounds); round++) {
      const [first, second] = await way(argv)
      came.push((out > 0 ? first : 0) + (err > 0 ? second : 0))
    }
    cells.push(share(came, out + err))
  }
  rows.push(`| ${name} | ${(out + err).toLocaleString('en')} | ${cells.join(' | ')} |`)
  process.stderr.write(`${rows.at(-1)}\n`)
}
const head = ['program', 'written', ...Object.keys(ways)]
console.log([`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...rows].join('\n'))
rmSync(root, { recursive: true, force: true })
