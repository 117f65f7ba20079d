import { describe, expect, it } from 'vitest'
import { deeds, each, lay, moments, restart, soak, stateOf, steps, strike } from './deeds.js'
import { samplePoints } from '../support/sample.js'
import { scene, Server } from './process.js'

describe.each(deeds)('$name', (deed) => {
  it('leaves all old or all new content when killed at any step', async () => {
    const at = await moments(deed)
    const strikes = Object.entries(steps).flatMap(([step, calls]) =>
      at(calls).map((moment) => ({ step, calls, ...moment })),
    )
    expect(strikes.length).toBeGreaterThan(8)
    await each(samplePoints(strikes, 6), async ({ calls, ...moment }) => {
      const stage = scene()
      lay(deed, stage, 'x')
      const server = await Server.start(stage)
      const detach = await strike(server, moment, calls, 'signal=KILL')
      const answer = await server.call(deed.call('x'))
      await detach()
      await server.end()
      await restart(stage)
      const left = stateOf(deed, stage, 'x')
      if (answer?.ok) expect(left, JSON.stringify(moment)).toEqual(deed.now)
      expect([deed.old, deed.now, deed.between ?? deed.now], JSON.stringify(moment)).toContainEqual(left)
      expect(stage.leftovers(), JSON.stringify(moment)).toEqual([])
      stage.remove()
    })
  })
})

const filler = 'filler\n'.repeat(20_000)
const count = (text: string | undefined): number => Number(/\d+/.exec(text!)![0])

describe('a server that is killed or stopped', () => {
  it('leaves whole files, and a two-file patch all old or all new, when killed at any moment', async () => {
    const stage = scene({ x: 'count 0\n', y: 'count 0\n', z: `${filler}count 0\n` })
    for (let round = 0; round < (soak ? 1000 : 6); round++) {
      const server = await Server.start(stage)
      const [at, zAt] = [count(stage.text('x')), count(stage.text('z'))]
      const hunk = (i: number) => `-count ${at + i}\n+count ${at + i + 1}\n`
      const pending = Array.from({ length: 30 }, (_, i) => [
        server.call([
          'apply_patch',
          { input: `*** Begin Patch\n*** Update File: x\n${hunk(i)}*** Update File: y\n${hunk(i)}*** End Patch` },
        ]),
        server.call([
          'unified_file',
          { action: 'edit', path: 'z', old_str: `count ${zAt + i}\n`, new_str: `count ${zAt + i + 1}\n` },
        ]),
      ])
      await Promise.race(pending.flat())
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50))
      await server.kill('SIGKILL')
      const answers = (await Promise.all(pending.flat())).filter((answer) => answer?.ok)
      await restart(stage)
      expect(stage.text('x')).toMatch(/^count \d+\n$/)
      expect(stage.text('y')).toBe(stage.text('x'))
      expect(stage.text('z')).toMatch(new RegExp(`^(filler\\n){20000}count \\d+\\n$`))
      // Every answered edit is there; edits whose answer was lost may be there too.
      const done = count(stage.text('x')) - at + count(stage.text('z')) - zAt
      expect(done).toBeGreaterThanOrEqual(answers.length)
      expect(stage.leftovers()).toEqual([])
    }
    expect(count(stage.text('x'))).toBeGreaterThan(0)
    stage.remove()
  })

  it('leaves each file old or new when stopped during queued writes', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`)
    const stage = scene(Object.fromEntries(names.map((name) => [name, 'old'])))
    const server = await Server.start(stage)
    const first = names.map((path) =>
      server.call(['unified_file', { action: 'write', path, content: 'new', mode: 'overwrite' }]),
    )[0]
    await first
    await server.kill('SIGTERM')
    expect(stage.leftovers()).toEqual([])
    for (const path of names) expect(stage.text(path)).toMatch(/^(old|new)$/)
    stage.remove()
  })
})
