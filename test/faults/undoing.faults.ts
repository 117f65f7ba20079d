import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { describe, expect, it } from 'vitest'
import { deeds, each, lay, restart, stateOf, steps, type Deed } from './deeds.js'
import { samplePoints } from '../support/sample.js'
import { bin, scene, type Scene } from './process.js'

/** Besides the deeds that are killed themselves: folders, which are kept or made as a whole. */
const folders: Deed[] = [
  {
    name: 'the removal of a folder',
    call: (f) => ['unified_file', { action: 'delete', path: `${f}/d`, recursive: true }],
    old: { 'd/a': 'a', 'd/e/b': 'b' },
    now: { 'd/a': undefined, 'd/e/b': undefined },
  },
  {
    name: 'the copy of a folder',
    call: (f) => ['unified_file', { action: 'copy', path: `${f}/d`, destination: `${f}/n/c`, recursive: true }],
    old: { 'd/a': 'a', 'n/c/a': undefined },
    now: { 'd/a': 'a', 'n/c/a': 'a' },
  },
]

/** A workspace in which a deed was done. */
async function done(deed: Deed): Promise<Scene> {
  const stage = scene()
  lay(deed, stage, 'x')
  const kernel = await createKernel({ workspace: stage.root, home: stage.home, env: {}, mode: 'auto' })
  expect(await kernel.call(...deed.call('x'))).toMatchObject({ ok: true })
  await kernel.close()
  expect(stateOf(deed, stage, 'x')).toEqual(deed.now)
  return stage
}

const surroundings = ({ home }: Scene) => ({ PATH: process.env['PATH']!, HOME: home, UV_THREADPOOL_SIZE: '1' })
const words = ({ root }: Scene) => [bin, 'undo', '--workspace', root]
/** `vtcode undo` under a tracer. */
const traced = (stage: Scene, ...args: string[]) =>
  once(
    spawn('strace', ['-f', '-qq', ...args, process.execPath, ...words(stage)], {
      stdio: 'ignore',
      env: surroundings(stage),
    }),
    'exit',
  )

/** Counts each kind of step that the busiest thread of an undisturbed undo makes. */
async function counts(deed: Deed): Promise<Record<string, number>> {
  const stage = await done(deed)
  const log = join(stage.home, 'log')
  await traced(stage, '-o', log, '-e', `trace=${Object.values(steps).join(',')}`)
  expect(stateOf(deed, stage, 'x')).toEqual(deed.old)
  const calls = [...readFileSync(log, 'utf8').matchAll(/^(\d+) +(\w+)\(/gm)].map(([, thread, name]) => ({
    thread,
    name: name!,
  }))
  stage.remove()
  return Object.fromEntries(
    Object.values(steps).map((kind) => {
      const threads = calls.filter(({ name }) => kind.split(',').includes(name)).map(({ thread }) => thread)
      return [kind, Math.max(0, ...threads.map((one) => threads.filter((other) => other === one).length))]
    }),
  )
}

describe.each([...deeds, ...folders])('undo of $name', (deed) => {
  it('finishes with the next undo after a kill at any step', async () => {
    const kinds = Object.entries(await counts(deed))
    const strikes = kinds.flatMap(([kind, most]) =>
      Array.from({ length: most }, (_, before) => ({ kind, when: before + 1 })),
    )
    expect(strikes.length).toBeGreaterThan(4)
    await each(samplePoints(strikes, 6), async ({ kind, when }) => {
      const title = `${kind} ${when}`
      const stage = await done(deed)
      await traced(stage, '-o', '/dev/null', '-e', `trace=${kind}`, '-e', `inject=${kind}:signal=KILL:when=${when}`)
      await restart(stage)
      const { stderr } = spawnSync(process.execPath, words(stage), { encoding: 'utf8', env: surroundings(stage) })
      // An undo killed after its last change leaves nothing to undo.
      expect(stderr, title).toMatch(/^$|There is nothing to undo/)
      expect(stateOf(deed, stage, 'x'), title).toEqual(deed.old)
      expect(stage.leftovers(), title).toEqual([])
      stage.remove()
    })
  })
})
