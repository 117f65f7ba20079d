// The screen of the chat: what a key, a frame, a start and a stream cost, with a terminal that takes everything at once.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pty from 'node-pty'
import { spawnSession } from 'vtcode/tui'
import { median } from './measure.mjs'

const bin = fileURLToPath(new URL('../../dist/core/bin.cjs', import.meta.url))
const messages = 10_000
const paragraph = 'A paragraph has a **few** words, some `code` and a [link](https://example.org).\n\n'
const fence = '```js\nconst a = 1 // comment\nfunction b() { return "text" }\n```\n\n'

export default async function bench() {
  const { frames, at, handle, type } = session()
  for (let one = 0; one < messages; one++)
    handle.send({ type: 'commit', block: { kind: one % 2 ? 'markdown' : 'user', text: one % 10 ? paragraph : fence } })
  await sleep(2000)
  const keys = []
  for (let one = 0; one < 300; one++) {
    const start = performance.now()
    const seen = at.frames
    type(one % 60 === 59 ? '\u0015' : 'x')
    while (at.frames === seen) await new Promise((resolve) => setImmediate(resolve))
    keys.push(performance.now() - start)
    await sleep(40)
  }
  const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1024
  frames.length = 0
  const share = await stream(handle, 5)
  const sizes = [...frames]
  handle.send({ type: 'shutdown' })
  const [bare, first] = await starts(15)
  return [
    {
      name: 'a key to its frame, p95',
      goal: 16,
      ratio: p95(keys),
      unit: 'ms',
      detail: `300 keys after ${messages} messages; median ${median(keys).toFixed(2)} ms`,
    },
    {
      name: 'bytes written in a frame of streaming, p95',
      goal: 1024,
      ratio: p95(sizes),
      unit: 'bytes',
      detail: `${sizes.length} frames of 200 tokens a second of Markdown with code; median ${median(sizes)} bytes`,
    },
    {
      name: 'memory',
      goal: 130,
      ratio: resident,
      unit: 'MB',
      detail: `resident, a process with the screen alone after ${messages} messages`,
    },
    {
      name: 'vtcode to its first frame, against bare node',
      goal: 3,
      ratio: first / bare,
      detail: `median of 15 in turn: ${first.toFixed(0)} ms, \`node -e 0\` ${bare.toFixed(0)} ms`,
    },
    {
      name: '200 tokens a second of Markdown with code, of a core',
      goal: 15,
      ratio: share,
      unit: '%',
      detail: 'processor time of 5 s',
    },
  ]
}

/** A session on streams in memory; of each frame its bytes. */
function session() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: () => stdin })
  const frames = []
  const at = { frames: 0 }
  const output = {
    isTTY: true,
    columns: 100,
    rows: 30,
    on: () => output,
    off: () => output,
    write: (text) => (at.frames++, frames.push(Buffer.byteLength(text)), true),
  }
  const { handle } = spawnSession({ stdin, output, env: {}, theme: 'dark' })
  return { frames, at, handle, type: (text) => stdin.write(text) }
}

/** The share of a core, in percent, that a stream takes. */
async function stream(handle, seconds) {
  const text = (paragraph.repeat(3) + fence).repeat(100)
  handle.send({ type: 'activity', state: 'Answering' })
  handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
  const before = process.cpuUsage()
  const start = performance.now()
  for (let token = 0; token < 200 * seconds; token++) {
    handle.send({ type: 'live', id: 'a', append: text.slice(token * 4, token * 4 + 4) })
    await sleep(Math.max(0, start + (token + 1) * 5 - performance.now()))
  }
  const { user, system } = process.cpuUsage(before)
  handle.send({ type: 'live', id: 'a', done: true })
  handle.send({ type: 'activity' })
  return (user + system) / 10 / (performance.now() - start)
}

/** Milliseconds: bare node to its end, and the chat to its first frame. */
async function starts(rounds) {
  const home = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  mkdirSync(join(home, 'work'))
  const one = (argv, mark) =>
    new Promise((resolve) => {
      const start = performance.now()
      const child = pty.spawn(process.execPath, argv, {
        cwd: join(home, 'work'),
        env: { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color' },
        cols: 80,
        rows: 24,
      })
      let [raw, found] = ['', undefined]
      child.onData((data) => {
        raw += data
        if (found !== undefined || mark === undefined || !raw.includes(mark)) return
        found = performance.now() - start
        child.kill('SIGTERM')
      })
      child.onExit(() => resolve(found ?? performance.now() - start))
    })
  const [bares, firsts] = [[], []]
  try {
    for (let round = 0; round < rounds; round++) {
      bares.push(await one(['-e', '0']))
      firsts.push(await one([bin], '\u001b[?2026h'))
    }
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  }
  return [median(bares), median(firsts)]
}

const p95 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)]
