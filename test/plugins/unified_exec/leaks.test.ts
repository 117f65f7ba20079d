import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { eventually, rounds } from '../../support/exec.js'

const batches = rounds(15, 1250)
const cancelled = rounds(8, 500)
/** Batches before the first measurement. */
const warming = rounds(20, 60)

it(`leaves no descriptor, zombie or memory after ${batches * 8} runs and ${cancelled} cancelled ones`, async () => {
  const program = fileURLToPath(new URL('../../support/leaks.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    program,
    String(batches),
    String(cancelled),
    String(warming),
  ])
  const { failed, aborted, before, after } = JSON.parse(stdout)
  expect({ failed, aborted, zombies: after.zombies }).toEqual({ failed: 0, aborted: cancelled, zombies: 0 })
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 2)
  expect(after.rss - before.rss, stdout).toBeLessThan(20_000_000)
}, 3_600_000)

it('ends everything that the program started when it is interrupted', async () => {
  const script = `import { bootKernel } from 'vtcode/test'
    const booted = await bootKernel({ config: { sandbox: { mode: 'off' } } })
    await booted.call('unified_exec', { command: 'sleep 6077', background: true })
    await booted.call('unified_exec', { command: ['sleep', '6077'], tty: true, yield_time_ms: 250 })
    process.exit(3)`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', script]).status).toBe(3)
  const left = () => spawnSync('pgrep', ['-f', '^sleep 6077$'], { encoding: 'utf8' }).stdout
  expect(await eventually(() => left() === '')).toBe(true)
})
