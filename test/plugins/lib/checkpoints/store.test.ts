import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CheckpointStore, type CheckpointLimits } from '../../../../build/plugins/lib/checkpoints/index.js'
import { rounds } from '../../../support/exec.js'
import { hold } from '../../../support/held.js'

const LIMITS: CheckpointLimits = { max_mb: 100, days: 30, wait_ms: 60_000 }
const subject = { call: 'c', session: 's', command: 'work' }
const all = { select: () => true, force: false, apply: true, session: 's' }

function openScene(files: Record<string, string> = { 'a.txt': 'one\n', 'd/b.txt': 'two\n' }) {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  const [root, home] = [join(folder, 'root'), join(folder, 'home')]
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const open = (limits: Partial<CheckpointLimits> = {}): CheckpointStore => {
    const store = new CheckpointStore(root, home, { ...LIMITS, ...limits })
    hold({ [Symbol.asyncDispose]: async () => store.close() })
    return store
  }
  hold({ [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) })
  const at = (path: string): string => join(root, path)
  const run = async (store: CheckpointStore, work: () => void) => {
    const { id } = await store.begin(subject)
    work()
    return store.end(id)
  }
  return { root, home, open, at, run, read: (path: string) => readFileSync(at(path), 'utf8') }
}

describe('CheckpointStore', () => {
  it('records only what a command changed, and nothing for a command that changed nothing', async () => {
    const { open, at, run } = openScene()
    const store = open()
    const record = await run(store, () => writeFileSync(at('a.txt'), 'changed'))
    expect(record!.changes).toMatchObject([{ path: 'a.txt', before: { bytes: 4 }, after: { bytes: 7 } }])
    expect(await run(store, () => {})).toBeUndefined()
  })

  it('refuses to replace later work, and keeps it where a revert is forced to', async () => {
    const { open, at, run, read } = openScene()
    const store = open()
    const record = await run(store, () => writeFileSync(at('a.txt'), 'by the command'))
    writeFileSync(at('a.txt'), 'by a person')
    expect(await store.revert([record!], all)).toMatchObject({ conflicts: ['a.txt'] })
    expect(read('a.txt')).toBe('by a person')
    const { id } = await store.revert([record!], { ...all, force: true })
    expect(read('a.txt')).toBe('one\n')
    const back = (await store.list()).find((one) => one.id === id)!
    await store.revert([back], all)
    expect(read('a.txt')).toBe('by a person')
  })

  it('names commands that ran at the same time, and what is not covered', async () => {
    const { open, at, root } = openScene()
    truncateSync(at('a.txt'), 65 * 1024 * 1024)
    execFileSync('mkfifo', [at('pipe')])
    const server = createServer().listen(at('socket'))
    hold({ [Symbol.asyncDispose]: async () => void server.close() })
    await new Promise((resolve) => server.once('listening', resolve))
    const store = open()
    const one = await store.begin({ ...subject, command: 'first' })
    const two = await store.begin({ ...subject, command: 'second' })
    writeFileSync(join(root, 'd/b.txt'), 'changed')
    expect((await store.end(two.id))!.mixed).toEqual(['first (session s)'])
    expect((await store.end(one.id))!.mixed).toEqual(['second (session s)'])
    expect(store.listUncovered().sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { path: 'a.txt', bytes: 65 * 1024 * 1024, reason: 'larger than 64 MB' },
      expect.objectContaining({ path: 'pipe', reason: 'neither file, folder nor link' }),
      expect.objectContaining({ path: 'socket', reason: 'neither file, folder nor link' }),
    ])
  })

  it('covers names that are not UTF-8, read-only folders, links to nowhere and empty folders', async () => {
    const { open, at, run, root } = openScene()
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), 'strange')
    writeFileSync(at('back\\xff'), 'a backslash')
    symlinkSync('/nowhere/at/all', at('link'))
    mkdirSync(at('empty'))
    mkdirSync(at('closed'))
    writeFileSync(at('closed/c.txt'), 'closed', { mode: 0o444 })
    chmodSync(at('closed'), 0o555)
    const list = (): string =>
      execFileSync(
        'sh',
        ['-c', "find . -path ./.vtcode -prune -o -printf '%y %m %p %l\\n' -type f -exec sha256sum {} + | sort"],
        { cwd: root, encoding: 'latin1' },
      )
    const before = list()
    const store = open()
    const record = await run(store, () => execFileSync('sh', ['-c', 'chmod -R u+w . && rm -rf ./*'], { cwd: root }))
    expect(readdirSync(root).filter((name) => name !== '.vtcode')).toEqual([])
    expect((await store.revert([record!], all)).skipped).toEqual([])
    expect(list()).toBe(before)
  })

  it('restores through no link that has replaced a folder', async () => {
    const { open, at, run, home } = openScene()
    const store = open()
    const record = await run(store, () => {
      rmSync(at('d'), { recursive: true })
      symlinkSync(home, at('d'))
    })
    expect(await store.revert([record!], all)).toMatchObject({ conflicts: [], skipped: [] })
    expect(lstatSync(at('d')).isDirectory()).toBe(true)
    expect(existsSync(join(home, 'b.txt'))).toBe(false)
  })

  it('leaves a file alone that is read only in part, and reads it again', async () => {
    const { open, at, run, read } = openScene()
    const store = open()
    await store.prepare()
    // The size stays and the time is the same for a while: only another reading finds the change.
    writeFileSync(at('a.txt'), 'two\n')
    const record = await run(store, () => writeFileSync(at('a.txt'), 'six\n'))
    await store.revert([record!], all)
    expect(read('a.txt')).toBe('two\n')
  })

  it('keeps files for the user alone, each content once, and drops the oldest commands above a limit', async () => {
    const { open, at, run, home } = openScene()
    const store = open({ max_mb: 1 })
    const text = (index: number): string => String(index).padEnd(100_000, 'x')
    for (let index = 0; index < 60; index++) await run(store, () => writeFileSync(at('a.txt'), text(index % 20)))
    const [folder] = readdirSync(join(home, 'checkpoints'))
    const store_folder = join(home, 'checkpoints', folder!)
    expect(statSync(store_folder).mode & 0o077).toBe(0)
    expect(statSync(join(store_folder, 'log')).mode & 0o077).toBe(0)
    expect(store.bytes).toBeLessThan(1.2 * 1024 * 1024)
    expect((await store.list()).length).toBeLessThan(60)
  })

  it('takes at most 1.2 times the changed bytes on disk', async () => {
    const { open, at, run } = openScene(
      Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`f${index}.txt`, `${index}`.padEnd(4000, '.')])),
    )
    const store = open()
    await store.prepare()
    const before = store.bytes
    let changed = 0
    for (let round = 0; round < 100; round++) {
      await run(store, () => {
        for (let index = 0; index < 5; index++) {
          const text = `${round} ${index}`.padEnd(12_000, `${round}`)
          writeFileSync(at(`f${(round * 5 + index) % 300}.txt`), text)
          changed += text.length
        }
      })
    }
    expect((store.bytes - before) / changed).toBeLessThan(1.2)
  })

  it('reports a store that cannot be written, and begins nothing', async () => {
    const { open, at } = openScene()
    const store = open()
    await store.prepare()
    rmSync(join(store.folder, 'packs'), { recursive: true })
    writeFileSync(join(store.folder, 'packs'), 'no folder')
    writeFileSync(at('a.txt'), 'more')
    expect(await store.begin(subject)).toMatchObject({ complete: false, failure: expect.stringContaining('ENOTDIR') })
  })

  it('loses nothing when its process is killed while it keeps or restores files', async () => {
    for (let round = 0; round < rounds(5, 200); round++) {
      const { open, at, root, home, read } = openScene(
        Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}.txt`, `content ${index} ${round}`])),
      )
      const script = `
        import { CheckpointStore } from ${JSON.stringify(new URL('../../../../build/plugins/lib/checkpoints/index.js', import.meta.url).href)}
        import { rmSync, writeFileSync } from 'node:fs'
        const store = new CheckpointStore(${JSON.stringify(root)}, ${JSON.stringify(home)}, ${JSON.stringify(LIMITS)})
        const { id } = await store.begin({ call: 'c', session: 's', command: 'destroy' })
        console.log('begun')
        for (let i = 0; i < 40; i++) i % 2 ? rmSync('f' + i + '.txt') : writeFileSync('f' + i + '.txt', 'gone')
        const record = await store.end(id)
        console.log('ended')
        await store.revert([record], { select: () => true, force: false, apply: true, session: 's' })
        console.log('reverted')`
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let out = ''
      // The short form spreads its few delays as the long one does.
      const delay = (round * 17) % 83
      child.stdout.on('data', (chunk: Buffer) => {
        if (out === '') setTimeout(() => child.kill('SIGKILL'), delay)
        out += String(chunk)
      })
      await new Promise((resolve) => child.once('close', resolve))
      const store = open()
      const [newest, ...older] = await store.list()
      // A killed command has its record; a killed revert is complete.
      if (newest?.call === 'c') await store.revert([newest], all)
      else if (newest) expect([round, older.length]).toEqual([round, 1])
      for (let index = 0; index < 40; index++)
        expect([round, read(`f${index}.txt`)]).toEqual([round, `content ${index} ${round}`])
      expect(readdirSync(root).filter((name) => !/^(f\d+\.txt|\.vtcode)$/.test(name))).toEqual([])
      expect(at('')).toContain('root')
    }
  }, 600_000)
})
