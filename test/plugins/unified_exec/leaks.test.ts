import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bootExec, call, eventually } from './exec.js'

const descriptors = (): number => readdirSync('/proc/self/fd').length
const zombies = (): number =>
  spawnSync('ps', ['-o', 'stat=', '--ppid', String(process.pid)], { encoding: 'utf8' }).stdout.split('\n').filter((state) => state.startsWith('Z')).length

// A fiftieth of the long round of the soak.
it('200 runs and 25 cancelled ones leave no descriptor, no zombie and no memory behind', async () => {
  await using booted = await bootExec()
  const run = (input: object, options: object = {}) => booted.call('unified_exec', { action: 'run', ...input }, options)
  const batch = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => run({ command: ['/bin/echo', String(index)], ...(index % 8 === 0 && { tty: true }) })))
  for (let round = 0; round < 20; round++) await batch(8)
  const before = { descriptors: descriptors(), memory: process.memoryUsage().rss }
  for (let round = 0; round < 25; round++) for (const result of await batch(8)) expect(result).toMatchObject({ ok: true, output: { exit_code: 0 } })
  for (let round = 0; round < 25; round++) {
    const abort = new AbortController()
    const pending = run({ command: 'sleep 30 & sleep 30' }, { signal: abort.signal })
    setTimeout(() => abort.abort(), round)
    expect(await pending).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED' } })
  }
  expect(await eventually(() => descriptors() <= before.descriptors + 2)).toBe(true)
  expect(await eventually(() => zombies() === 0)).toBe(true)
  expect(process.memoryUsage().rss - before.memory).toBeLessThan(60_000_000)
  expect((await call(booted, { action: 'list' })) as object).toMatchObject({ ok: true })
}, 60_000)

it('the program ends with everything it started when it is interrupted', async () => {
  const script = `import { bootKernel } from 'vtcode/test'
    const booted = await bootKernel({ config: { sandbox: { mode: 'off' } } })
    await booted.call('unified_exec', { command: 'sleep 6077', background: true })
    await booted.call('unified_exec', { command: ['sleep', '6077'], tty: true, yield_time_ms: 250 })
    process.exit(3)`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', script]).status).toBe(3)
  const left = () => spawnSync('pgrep', ['-f', '^sleep 6077$'], { encoding: 'utf8' }).stdout
  expect(await eventually(() => left() === '', 1000)).toBe(true)
})
