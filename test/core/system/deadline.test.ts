import { getEventListeners } from 'node:events'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startDeadline } from '../../../build/core/system/index.js'

const until = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))
const door = fileURLToPath(new URL('../../../build/core/system/index.js', import.meta.url))

describe('deadline', () => {
  it('aborts when its time is over and gives the reason', async () => {
    using limit = startDeadline(5, new AbortController().signal)
    expect(await until(limit.signal)).toMatchObject({ name: 'TimeoutError' })
    expect(limit.expired).toBe(true)
  })
  it('aborts with the outer signal and its reason, before or after creation', async () => {
    const outer = new AbortController()
    using limit = startDeadline(60_000, outer.signal)
    outer.abort('enough')
    using late = startDeadline(60_000, outer.signal)
    for (const { signal, expired } of [limit, late])
      expect([signal.aborted, signal.reason, expired]).toEqual([true, 'enough', false])
  })
  it('leaves no listener on the outer signal and never aborts after its disposal', async () => {
    const outer = new AbortController()
    const made = [
      startDeadline(1, outer.signal),
      startDeadline(60_000, outer.signal),
      startDeadline(2 ** 40, outer.signal),
    ]
    expect(getEventListeners(outer.signal, 'abort')).toHaveLength(3)
    for (const one of made) one[Symbol.dispose]()
    expect(getEventListeners(outer.signal, 'abort')).toHaveLength(0)
    await new Promise((resolve) => setTimeout(resolve, 20))
    outer.abort()
    expect(made.map(({ signal, expired }) => [signal.aborted, expired])).toEqual([
      [false, false],
      [false, false],
      [false, false],
    ])
  })
  it('fires despite garbage collection and keeps the process alive until then', async () => {
    const script = `
      const { startDeadline } = await import(${JSON.stringify(door)})
      const outer = new AbortController()
      const collect = setInterval(() => globalThis.gc(), 5)
      collect.unref()
      await new Promise((resolve) => startDeadline(100, outer.signal).signal.addEventListener('abort', resolve))
      console.log('over')`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', script],
      { timeout: 20_000 },
    )
    expect(stdout).toBe('over\n')
  })
})
