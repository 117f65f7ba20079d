// Scripts of unified_exec code in their isolate: the first one of a process, the next ones, a call within a script, and memory.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from '../../dist/core/index.js'
import { median } from './measure.mjs'

/** The processor time covers all threads of this process; a busy machine changes it less. */
const timed = async (run) => {
  const [began, before] = [performance.now(), process.cpuUsage()]
  const value = await run()
  const { user, system } = process.cpuUsage(before)
  return { ms: performance.now() - began, spent: (user + system) / 1000, value }
}

const bySpent = (all) => `by processor time ${median(all.map(({ spent }) => spent)).toFixed(1)} ms`

/** Starts a process of its own, so that nothing is warm: time and memory of its first script, after one other call. */
const first = (root) =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { createKernel } from ${JSON.stringify(new URL('../../dist/core/index.js', import.meta.url).href)}
const kernel = await createKernel({ workspace: ${JSON.stringify(root)}, home: ${JSON.stringify(join(root, 'home'))}, mode: 'plan' })
await kernel.call('unified_file', { action: 'read', path: 'a.txt' })
globalThis.gc()
const before = process.memoryUsage.rss()
const began = performance.now()
const start = process.cpuUsage()
const { output } = await kernel.call('unified_exec', { action: 'code', code: 'return 1' })
const ms = performance.now() - began
const { user, system } = process.cpuUsage(start)
globalThis.gc()
console.log(JSON.stringify({ ms, spent: (user + system) / 1000, inside: output.duration_ms, mb: (process.memoryUsage.rss() - before) / 2 ** 20 }))
await kernel.close()`,
      ],
      { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '--expose-gc' } },
    ),
  )

export default async function bench() {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-scripts-'))
  writeFileSync(join(root, 'a.txt'), 'alpha\n')
  const kernel = await createKernel({ workspace: root, home: join(root, 'home'), mode: 'plan' })
  try {
    const script = (code, more = {}) => kernel.call('unified_exec', { action: 'code', code, ...more })
    const cold = Array.from({ length: 7 }, () => first(root))
    await script('return 1')
    const warm = []
    for (let i = 0; i < 50; i++) warm.push(await timed(() => script('return 1')))
    const count = 2000
    const read = { action: 'read', path: 'a.txt' }
    const direct = async () => {
      for (let i = 0; i < count; i++) await kernel.call('unified_file', read)
    }
    await direct()
    const alone = await timed(direct)
    const loop = `for (let i = 0; i < ${count}; i++) await file.read({ path: 'a.txt' })`
    await script(loop, { timeout_secs: 120 })
    const within = await timed(() => script(loop, { timeout_secs: 120 }))
    const many = await timed(() => script(loop.replace(count, 10_000), { timeout_secs: 120 }))
    if (!many.value.ok || many.value.output.exit_code !== 0) throw new Error(JSON.stringify(many.value))
    return [
      {
        name: 'first script of a process',
        goal: 45,
        ratio: median(cold.map(({ ms }) => ms)),
        unit: 'ms',
        detail: bySpent(cold),
      },
      { name: 'further scripts', goal: 2, ratio: median(warm.map(({ ms }) => ms)), unit: 'ms', detail: bySpent(warm) },
      {
        name: 'a call within a script, above a direct call',
        goal: 1,
        ratio: (within.ms - alone.ms) / count,
        unit: 'ms',
        detail: `direct ${(alone.ms / count).toFixed(2)} ms; by processor time ${((within.spent - alone.spent) / count).toFixed(2)} ms more`,
      },
      { name: '10,000 calls in a script', goal: 15, ratio: many.ms / 1000, unit: 's', detail: bySpent([many]) },
      { name: 'memory of an isolate', goal: 16, ratio: median(cold.map(({ mb }) => mb)), unit: 'MB' },
    ]
  } finally {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  }
}
