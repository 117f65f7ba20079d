import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'

/** Commands against a bare spawn: the shortest, much output, a terminal; and a poll that finds nothing. */
export default async () => {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const big = join(root, 'big.txt')
  writeFileSync(big, `${'x'.repeat(77)}\n`.repeat(500_000))
  const automation = { full_auto: { enabled: true, allowed_tools: ['unified_exec'] } }
  const config = { automation, sandbox: { mode: 'off' } }
  const kernel = await createKernel({ workspace: root, home: join(root, 'home'), env: {}, mode: 'full-auto', config })
  const call = async (input) => {
    const result = await kernel.call('unified_exec', input)
    if (!result.ok) throw new Error(result.error.message)
    return result.output
  }
  // Closing waits until the spool file is clean, which happens behind the answer: it is no part of it and must not weigh on the next.
  const keeping = async (input) => {
    const { session_id } = await call(input)
    return () => call({ action: 'close', session_id })
  }
  try {
    const [bare, ours] = await alternately(
      200,
      () => drained('/bin/true', []),
      () => call({ action: 'run', command: ['/bin/true'] }),
    )
    const [bareRow, ourRow] = await alternately(
      3,
      () => row(1000, () => drained('/bin/true', [])),
      () => row(1000, () => call({ command: ['/bin/true'] })),
    )
    const beside = (run) => Promise.all(Array.from({ length: 32 }, run))
    const [bareBeside, ourBeside] = await alternately(
      15,
      () => beside(() => drained('/bin/true', [])),
      () => beside(() => call({ command: ['/bin/true'] })),
    )
    const lost = []
    for (const script of badly) {
      for (let round = 0; round < 6; round++) {
        const { stdout_bytes, stderr_bytes } = await call({
          command: [process.execPath, '-e', script],
          response_format: 'detailed',
        })
        lost.push(288_000 - stdout_bytes - stderr_bytes)
      }
    }
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
    const [pipe, kept] = await alternately(
      15,
      () => drained('cat', [big]),
      () => keeping({ command: ['cat', big] }),
    )
    clearInterval(watch)
    const [plain, terminal] = await alternately(
      50,
      () => drained('/bin/echo', ['x']),
      () => call({ command: ['/bin/echo', 'x'], tty: true }),
    )
    await call({ command: ['sleep', '60'], background: true, session_id: 'idle' })
    const [poll] = await alternately(200, () => call({ action: 'poll', session_id: 'idle', yield_time_ms: 0 }))
    return [
      { name: '/bin/true', goal: 1.4, ratio: ours / bare, detail: `× a bare spawn; ${ours.toFixed(2)} ms` },
      {
        name: '/bin/true, 1,000 in a row',
        goal: 1.4,
        ratio: ourRow / bareRow,
        detail: `× bare spawns; ${ourRow.toFixed(0)} ms`,
      },
      {
        name: '/bin/true, 32 side by side',
        goal: 1.4,
        ratio: ourBeside / bareBeside,
        detail: `× bare spawns; ${ourBeside.toFixed(0)} ms`,
      },
      {
        name: 'lost of 288,000 bytes by process.exit()',
        goal: 0,
        ratio: Math.max(...lost),
        unit: 'bytes',
        detail: `the most of ${lost.length} runs: 3,600 writes, one write, each of stdout and stderr`,
      },
      {
        name: '39 MB of output',
        goal: 1.3,
        ratio: kept / pipe,
        detail: `× draining it in Node; ${kept.toFixed(0)} ms, all of it in a spool file`,
      },
      {
        name: '39 MB of output, memory',
        goal: 60,
        ratio: (peak - before) / 1e6,
        unit: 'MB',
        detail: 'growth of the resident set, both ways',
      },
      {
        name: 'a command in a terminal',
        goal: 25,
        ratio: terminal - plain,
        unit: 'ms',
        detail: 'over the command on pipes',
      },
      { name: 'poll of an idle session', goal: 1, ratio: poll, unit: 'ms', detail: 'median of 200' },
    ]
  } finally {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** Programs that leave at once what they have written. */
const badly = ['stdout', 'stderr'].flatMap((stream) =>
  [3600, 1].map(
    (writes) => `
  for (let i = 0; i < ${writes}; i++) process.${stream}.write('x'.repeat(${288_000 / writes}))
  process.exit(0)`,
  ),
)

async function row(times, run) {
  for (let round = 0; round < times; round++) await run()
}

const drained = (file, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      .once('error', reject)
      .once('close', resolve)
    child.stdout.resume()
    child.stderr.resume()
  })

/** Median milliseconds of each, run in turn so that a busy machine is busy for all. */
async function alternately(rounds, ...runs) {
  const times = runs.map(() => [])
  for (let round = rounds > 3 ? -3 : 0; round < rounds; round++) {
    for (const [index, run] of runs.entries()) {
      const began = performance.now()
      const afterwards = await run()
      if (round >= 0) times[index].push(performance.now() - began)
      if (typeof afterwards === 'function') await afterwards()
    }
  }
  return times.map((all) => all.sort((a, b) => a - b)[all.length >> 1])
}
