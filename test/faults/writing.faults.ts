import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { afterEach, describe, expect, it } from 'vitest'
import { Driver, scene, trace, type Call, type Scene } from './process.js'

const soak = process.env['VTCODE_SOAK'] !== undefined
const root = process.getuid?.() === 0

/** A change, and the states it may leave: all old or all new. */
interface Deed {
  name: string
  call: Call
  old: Record<string, string | undefined>
  now: Record<string, string | undefined>
}
const deeds: Deed[] = [
  {
    name: 'an edit',
    call: ['unified_file', { action: 'edit', path: 'f', old_str: 'two', new_str: 'TWO' }],
    old: { f: 'one\ntwo\n' },
    now: { f: 'one\nTWO\n' },
  },
  {
    name: 'a new file in a new folder',
    call: ['unified_file', { action: 'write', path: 'n/e/w', content: 'new\n' }],
    old: { 'n/e/w': undefined },
    now: { 'n/e/w': 'new\n' },
  },
  {
    name: 'a patch of several files',
    call: ['apply_patch', { input: '*** Begin Patch\n*** Update File: a\n-a\n+A\n*** Delete File: b\n*** Add File: d/c\n+C\n*** Update File: e\n*** Move to: g\n@@\n-e\n+E\n*** End Patch' }],
    old: { a: 'a\n', b: 'b\n', 'd/c': undefined, e: 'e\n', g: undefined },
    now: { a: 'A\n', b: undefined, 'd/c': 'C\n', e: undefined, g: 'E\n' },
  },
]

const families: Record<string, string> = {
  'writing content': 'pwrite64',
  fsync: 'fsync,fdatasync',
  rename: 'rename,renameat,renameat2',
  'a second name': 'link,linkat',
  'taking a name away': 'unlink,unlinkat,rmdir',
  chmod: 'fchmod,chmod',
  'making a folder': 'mkdir,mkdirat',
}

const state = (stage: Scene, paths: string[]) => Object.fromEntries(paths.map((path) => [path, stage.text(path)]))

/** Opens the workspace as the next start does. */
async function restart({ root: workspace, home }: Scene): Promise<void> {
  const kernel = await createKernel({ workspace, home, env: {} })
  expect(kernel.diagnostics().filter(({ code }) => code === 'VT_PATCH_RECOVERY')).toEqual([])
  await kernel.close()
}

const filesOf = (old: Deed['old']): Record<string, string> => Object.fromEntries(Object.entries(old).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** How often a family of system calls occurs in a deed. */
async function count({ call, old }: Deed, calls: string): Promise<number> {
  const stage = scene(filesOf(old))
  const driver = await Driver.start(stage)
  const log = join(stage.home, 'log')
  const detach = await trace(driver, ['-o', log, '-e', `trace=${calls}`])
  expect(await driver.call(call)).toMatchObject({ ok: true })
  await detach()
  await driver.end()
  const lines = readFileSync(log, 'utf8').split('\n').filter((line) => /\w+\(/.test(line) && !line.includes('resumed'))
  stage.remove()
  return lines.length
}

/** The steps to strike at: all of them in the long run, else a few from the first to the last. */
function strikes(steps: number): number[] {
  const most = soak ? steps : Math.min(steps, 6)
  return [...new Set(Array.from({ length: most }, (_, index) => 1 + Math.round((index * (steps - 1)) / Math.max(1, most - 1))))]
}

describe.each(deeds)('$name', (deed) => {
  const { call, old, now } = deed
  const paths = Object.keys(old)

  it.each(Object.entries(families))('killed at every step of %s leaves all old or all new', async (_, calls) => {
    const steps = await count(deed, calls)
    for (const when of strikes(steps)) {
      const stage = scene(filesOf(old))
      const driver = await Driver.start(stage)
      const detach = await trace(driver, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:signal=KILL:when=${when}`])
      const answer = await driver.call(call)
      await detach()
      await driver.end()
      await restart(stage)
      const left = state(stage, paths)
      if (answer?.ok) expect(left, `step ${when}`).toEqual(now)
      expect([old, now], `step ${when}`).toContainEqual(left)
      expect(stage.leftovers(), `step ${when}`).toEqual([])
      stage.remove()
    }
  })

  const failures = [
    ['pwrite64', 'ENOSPC'],
    ['pwrite64', 'EDQUOT'],
    ['fsync,fdatasync', 'EIO'],
    ['rename,renameat,renameat2', 'EACCES'],
    ['rename,renameat,renameat2', 'EXDEV'],
    ['link,linkat', 'EIO'],
    ['mkdir,mkdirat', 'ENOSPC'],
  ] as const
  it.each(failures)('%s failing with %s at every step is an error with all old, or done', async (calls, error) => {
    const steps = await count(deed, calls)
    for (const when of strikes(steps)) {
      const stage = scene(filesOf(old))
      const driver = await Driver.start(stage)
      const detach = await trace(driver, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=${when}`])
      const answer = await driver.call(call)
      await detach()
      const left = state(stage, paths)
      expect(left, `step ${when}: ${JSON.stringify(answer)}`).toEqual(answer?.ok ? now : old)
      if (!answer?.ok) expect(answer?.error.code, `step ${when}`).toMatch(/^VT_(FILE_IO|PATH_PERMISSION)$/)
      await driver.end()
      await restart(stage)
      expect(state(stage, paths)).toEqual(left)
      expect(stage.leftovers(), `step ${when}`).toEqual([])
      stage.remove()
    }
  })
})

describe('writing', () => {
  it('goes on after short writes', async () => {
    const stage = scene({ f: `${'x'.repeat(100_000)}end` })
    const driver = await Driver.start(stage)
    const detach = await trace(driver, ['-o', '/dev/null', '-e', 'trace=pwrite64', '-e', 'inject=pwrite64:retval=1000:when=2'])
    // The first write is that of the record for undo. The kernel of the system wrote nothing where the tracer says 1,000 bytes, so only the length can be right.
    expect(await driver.call(['unified_file', { action: 'edit', path: 'f', old_str: 'end', new_str: 'END' }])).toMatchObject({ ok: true })
    await detach()
    expect(stage.text('f')!.length).toBe(100_003)
    expect(stage.text('f')!.endsWith('END')).toBe(true)
    await driver.end()
    stage.remove()
  })

  it('is content, fsync, rename, fsync of the folder, with the final mode before any content', async () => {
    const stage = scene({ f: 'old' })
    chmodSync(join(stage.root, 'f'), 0o600)
    const driver = await Driver.start(stage)
    const log = join(stage.home, 'log')
    const detach = await trace(driver, ['-o', log, '-y', '-s', '8', '-e', 'trace=openat,fchmod,pwrite64,fsync,rename,renameat,renameat2'])
    await driver.call(['unified_file', { action: 'write', path: 'f', content: 'new', mode: 'overwrite' }])
    await detach()
    // The same temporary file by whatever path: the steps that concern it and its folder.
    const own = readFileSync(log, 'utf8').split('\n').filter((line) => line.includes(`${stage.root}/.vtcode-tmp-`) || / fsync\(\d+<[^>]*vtcode-fault-\w+>/.test(line) || /rename.*\.vtcode-tmp-.*\/f"/.test(line))
    const order = own.map((line) => /\s(openat|fchmod|pwrite64|fsync|rename)\w*\(/.exec(line)?.[1]).filter((name) => name !== undefined)
    expect(order.join(' ')).toMatch(/openat.* fchmod pwrite64 fsync .*rename.* fsync/)
    expect(own.find((line) => /openat.*O_CREAT/.test(line))).toMatch(/O_EXCL.*0600/)
    await driver.end()
    stage.remove()
  })
})

describe('a process killed at any moment', () => {
  it('leaves whole files, and a patch of two as one', async () => {
    const rounds = soak ? 1000 : 50
    const stage = scene({ x: 'count 0\n', y: 'count 0\n', z: `${'filler\n'.repeat(20_000)}count 0\n` })
    for (let round = 0; round < rounds; round++) {
      const driver = await Driver.start(stage)
      const at = Number(/\d+/.exec(stage.text('x')!)![0])
      const zAt = Number(/\d+/.exec(stage.text('z')!)![0])
      for (let i = 0; i < 30; i++) {
        driver.send(['apply_patch', { input: `*** Begin Patch\n*** Update File: x\n-count ${at + i}\n+count ${at + i + 1}\n*** Update File: y\n-count ${at + i}\n+count ${at + i + 1}\n*** End Patch` }])
        driver.send(['unified_file', { action: 'edit', path: 'z', old_str: `count ${zAt + i}\n`, new_str: `count ${zAt + i + 1}\n` }])
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50))
      driver.child.kill('SIGKILL')
      await driver.end()
      await restart(stage)
      expect(stage.text('x')).toMatch(/^count \d+\n$/)
      expect(stage.text('y')).toBe(stage.text('x'))
      expect(stage.text('z')).toMatch(/^(filler\n){20000}count \d+\n$/)
      expect(stage.leftovers()).toEqual([])
    }
    expect(Number(/\d+/.exec(stage.text('x')!)![0])).toBeGreaterThan(0)
    stage.remove()
  })

  it('asked to end during queued writes leaves each file old or new', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`)
    const stage = scene(Object.fromEntries(names.map((name) => [name, 'old'])))
    const driver = await Driver.start(stage)
    for (const path of names) driver.send(['unified_file', { action: 'write', path, content: 'new', mode: 'overwrite' }])
    await driver.answer()
    driver.child.kill('SIGTERM')
    await driver.end()
    await restart(stage)
    for (const path of names) expect(stage.text(path)).toMatch(/^(old|new)$/)
    expect(stage.leftovers()).toEqual([])
    stage.remove()
  })
})

describe.runIf(root)('a disk that refuses', () => {
  const mounted: string[] = []
  afterEach(() => {
    for (const folder of mounted.splice(0)) {
      execFileSync('umount', [folder])
      rmSync(folder, { recursive: true, force: true })
    }
  })
  const mount = (...args: string[]): string => {
    const folder = join('/tmp', `vtcode-mount-${process.pid}-${mounted.length}`)
    mkdirSync(folder, { recursive: true })
    execFileSync('mount', [...args, folder])
    mounted.push(folder)
    return folder
  }

  it('because it is full leaves the original and no temporary file', async () => {
    const stage = scene({ f: 'x'.repeat(300_000) }, mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs'))
    const driver = await Driver.start(stage)
    const answer = await driver.call(['unified_file', { action: 'write', path: 'f', content: 'y'.repeat(900_000), mode: 'overwrite' }])
    expect(answer).toMatchObject({ ok: false, error: { code: 'VT_FILE_IO', details: { errno: 'ENOSPC' } } })
    expect(stage.text('f')).toBe('x'.repeat(300_000))
    expect(stage.leftovers()).toEqual([])
    expect(await driver.call(['unified_file', { action: 'write', path: 'f', content: 'small', mode: 'overwrite' }])).toMatchObject({ ok: true })
    await driver.end()
  })

  it('because it is read-only, or the file may not change, leaves everything', async () => {
    const stage = scene({ f: 'old' }, mount('-t', 'tmpfs', 'tmpfs'))
    const driver = await Driver.start(stage)
    execFileSync('mount', ['-o', 'remount,ro', stage.root])
    expect(await driver.call(['unified_file', { action: 'edit', path: 'f', old_str: 'old', new_str: 'new' }])).toMatchObject({ ok: false, error: { code: 'VT_FILE_IO', details: { errno: 'EROFS' } } })
    execFileSync('mount', ['-o', 'remount,rw', stage.root])
    await driver.end()
    expect(stage.text('f')).toBe('old')
  })

  it('for lack of descriptors is an error, and the next call is answered', async () => {
    const stage = scene({ f: 'old' })
    const driver = await Driver.start(stage)
    const detach = await trace(driver, ['-o', '/dev/null', '-e', 'trace=openat', '-e', 'inject=openat:error=EMFILE:when=1+'])
    const answer = await driver.call(['unified_file', { action: 'edit', path: 'f', old_str: 'old', new_str: 'new' }])
    await detach()
    expect(answer).toMatchObject({ ok: false, error: { code: 'VT_FILE_IO', retryable: true } })
    expect(stage.text('f')).toBe('old')
    expect(await driver.call(['unified_file', { action: 'edit', path: 'f', old_str: 'old', new_str: 'new' }])).toMatchObject({ ok: true })
    await driver.end()
    stage.remove()
  })
})
