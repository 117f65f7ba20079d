import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { openWorkspace } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { fc, runs } from '../../support/property.js'

let booted: Booted
let count = 0
beforeEach(async () => {
  booted = await bootKernel({ files: { 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n', 'dir/sub/c.txt': 'c\r\n' } })
})
afterEach(() => booted[Symbol.asyncDispose]())

const at = (path: string) => join(booted.root, path)
/** A call of a session that has read nothing yet. */
const call = (tool: string, input: object) => booted.call(tool, input, { session: `session-${count++}` })
/** A process of its own, which looks after the bounds of history with its first change. */
const vtcodeCall = (...args: string[]) =>
  spawnSync(
    process.execPath,
    ['dist/core/bin.js', 'call', '--workspace', booted.root, '--mode', 'auto', 'unified_file', ...args],
    {
      encoding: 'utf8',
      env: { ...process.env, HOME: booted.home },
    },
  )
const undo = async (...args: string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const main = (await booted.kernel.inspection.loadSurface('undo'))!
  const code = await main(booted.kernel, args, {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    signal: new AbortController().signal,
  })
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}
/** Everything but what the program keeps: path → content, mode, or where a link points. */
const tree = () =>
  Object.fromEntries(
    readdirSync(booted.root, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('.vtcode'))
      .sort()
      .map((path) => {
        const stat = lstatSync(at(path))
        return [
          path,
          stat.isSymbolicLink()
            ? readlinkSync(at(path))
            : stat.isDirectory()
              ? 'dir'
              : [readFileSync(at(path), 'latin1'), stat.mode & 0o777],
        ]
      }),
  )

describe('vtcode undo', () => {
  it('undoes changes of every kind, one after the other', async () => {
    symlinkSync('a.txt', at('link'))
    chmodSync(at('b.txt'), 0o600)
    const changes: [string, object][] = [
      ['unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' }],
      ['unified_file', { action: 'write', path: 'n/e/w', content: 'x' }],
      ['unified_file', { action: 'write', path: 'b.txt', content: 'B', mode: 'overwrite' }],
      ['unified_file', { action: 'delete', path: 'link' }],
      ['unified_file', { action: 'move', path: 'dir', destination: 'moved/dir' }],
      ['unified_file', { action: 'move', path: 'a.txt', destination: 'b.txt', overwrite: true }],
      ['unified_file', { action: 'copy', path: 'moved', destination: 'twin', recursive: true }],
      ['unified_file', { action: 'delete', path: 'moved', recursive: true }],
      ['unified_file', { action: 'delete', path: 'b.txt' }],
      [
        'apply_patch',
        {
          input:
            '*** Begin Patch\n*** Add File: p/q\n+1\n*** Update File: n/e/w\n*** Move to: w\n@@\n-x\n+y\n*** End Patch',
        },
      ],
    ]
    const states = [tree()]
    for (const [tool, input] of changes) {
      expect(await call(tool, input), JSON.stringify(input)).toMatchObject({ ok: true })
      states.push(tree())
    }
    expect((await undo('--list')).out.split('\n').length).toBe(changes.length + 1)
    expect(await undo('99')).toMatchObject({ code: 1, err: expect.stringContaining('Change not found: 99') })
    for (let index = changes.length - 1; index >= 0; index--) {
      expect(await undo(), JSON.stringify(changes[index])).toMatchObject({ code: 0, err: '' })
      expect(tree(), JSON.stringify(changes[index])).toEqual(states[index])
    }
    expect(await undo()).toMatchObject({ code: 1, err: expect.stringContaining('nothing to undo') })
  })

  it('names a file that has the old name now, and undoes the change after the file was moved', async () => {
    for (const change of [
      { action: 'delete', path: 'a.txt' },
      { action: 'move', path: 'b.txt', destination: 'moved.txt' },
    ]) {
      await call('unified_file', change)
      writeFileSync(at(change.path), 'new')
      const refused = await undo()
      expect(refused.code).toBe(1)
      expect(refused.err).toContain('Move or delete the file that has this name now, then undo again.')
      renameSync(at(change.path), at('aside.txt'))
      expect((await undo()).code).toBe(0)
    }
    expect([readFileSync(at('a.txt'), 'utf8'), readFileSync(at('b.txt'), 'utf8')]).toEqual(['one\ntwo\n', 'b\n'])
  })

  it('undoes changes made through links, and the change that is named', async () => {
    symlinkSync('dir', at('way'))
    symlinkSync('dir/later', at('link'))
    const before = tree()
    const changes: [string, object][] = [
      ['unified_file', { action: 'write', path: 'way/new/x', content: 'x' }],
      ['unified_file', { action: 'write', path: 'link', content: 'through' }],
      ['unified_file', { action: 'edit', path: 'way/sub/c.txt', old_str: 'c', new_str: 'C' }],
      ['unified_file', { action: 'copy', path: 'a.txt', destination: 'way/copy' }],
      ['unified_file', { action: 'move', path: 'b.txt', destination: 'way/b' }],
      ['unified_file', { action: 'delete', path: 'way/copy' }],
      [
        'apply_patch',
        { input: '*** Begin Patch\n*** Add File: way/p\n+1\n*** Update File: way/sub/c.txt\n-C\n+CC\n*** End Patch' },
      ],
    ]
    for (const [tool, input] of changes)
      expect(await call(tool, input), JSON.stringify(input)).toMatchObject({ ok: true })
    const { out } = await undo('--list')
    const second = out.split('\n').findIndex((line) => line.includes('dir/later')) + 1
    expect(await undo(`${second}`)).toMatchObject({ code: 0, err: '' })
    expect(tree()).not.toHaveProperty(['dir/later'])
    for (let left = changes.length - 1; left > 0; left--) expect(await undo()).toMatchObject({ code: 0, err: '' })
    expect(tree()).toEqual(before)
  })

  it('finishes an interrupted undo with the next one', async () => {
    const changes: [string, object][] = [
      ['unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' }],
      ['unified_file', { action: 'write', path: 'n/new', content: 'x' }],
      ['unified_file', { action: 'move', path: 'a.txt', destination: 'b.txt', overwrite: true }],
      ['unified_file', { action: 'copy', path: 'dir', destination: 'twin', recursive: true }],
      ['unified_file', { action: 'delete', path: 'b.txt' }],
    ]
    const before = tree()
    for (const [tool, input] of changes) {
      expect(await call(tool, input)).toMatchObject({ ok: true })
      // All is back, and the checkpoint is still there: as if the process had ended just then.
      cpSync(at('.vtcode/history'), at('.vtcode/kept'), { recursive: true, verbatimSymlinks: true })
      expect(await undo()).toMatchObject({ code: 0 })
      rmSync(at('.vtcode/history'), { recursive: true })
      renameSync(at('.vtcode/kept'), at('.vtcode/history'))
      expect(await undo(), JSON.stringify(input)).toMatchObject({ code: 0, err: '' })
      expect(tree(), JSON.stringify(input)).toEqual(before)
    }
  })

  it('reaches back 30 days and 512 MiB, and no further', async () => {
    const day = 24 * 60 * 60 * 1000
    const { seal } = openWorkspace(booted.root, booted.kernel.inspection)
    const plant = (age: number, bytes: number, sealed = true) => {
      const name = `.vtcode/history/old/${String(Date.now() - age).padStart(14, '0')}-abcdef-${bytes}`
      const folder = `${name}-${sealed ? seal.nameMark('checkpoint', name) : '0123456789ab'}`
      mkdirSync(at(folder), { recursive: true })
      writeFileSync(at(`${folder}/record.json`), '{"steps":[]}')
      return folder
    }
    const brought = plant(40 * day, 0, false)
    const [old, large, recent] = [plant(31 * day, 0), plant(2 * day, 600 * 1024 * 1024), plant(day, 1)]
    const { stdout } = vtcodeCall('write', '--path', 'x', '--content', 'x')
    expect(JSON.parse(stdout)).toMatchObject({ ok: true })
    expect([old, large, recent].map((folder) => existsSync(at(folder)))).toEqual([false, false, true])
    expect(existsSync(at(brought))).toBe(true)
    expect(spawnSync('git', ['init', '-q'], { cwd: booted.root }).status).toBe(0)
    const { stdout: seen } = spawnSync('git', ['status', '--short', '--untracked-files=all', '.vtcode/history'], {
      cwd: booted.root,
      encoding: 'utf8',
    })
    expect(seen).toBe('')
  })

  it('restores the original after any edits', async () => {
    const bytes = fc
      .uint8Array({ maxLength: 40 })
      .map((raw) => Buffer.from([...raw.filter((byte) => byte !== 0), 0x40]))
    const texts = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(bytes, texts, async (original, replacements) => {
        writeFileSync(at('f'), original)
        let changed = 0
        for (const text of replacements)
          changed += (await call('unified_file', { action: 'edit', path: 'f', old_str: '@', new_str: `${text}@` })).ok
            ? 1
            : 0
        for (let i = 0; i < changed; i++) await undo()
        expect(readFileSync(at('f')).equals(original)).toBe(true)
      }),
      { numRuns: runs(rounds(8, 25)) },
    )
  })

  it('leaves a file unchanged that changed since, and files that a foreign history names', async () => {
    await call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })
    writeFileSync(at('a.txt'), 'mine')
    expect(await undo()).toMatchObject({ code: 1, err: expect.stringContaining('changed since') })
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('mine')

    // With a name as ours had, and under the name of a checkpoint that was ours.
    await call('unified_file', { action: 'write', path: 'made', content: 'x' })
    const session = readdirSync(at('.vtcode/history')).find((name) => name.startsWith('session-'))!
    const genuine = readdirSync(at(`.vtcode/history/${session}`))[0]!
    mkdirSync(at('.git/hooks'), { recursive: true })
    writeFileSync(at('.git/HEAD'), 'ref: x')
    writeFileSync(at('.env'), 'KEY=1')
    for (const folder of [
      '.vtcode/history/x/99999999999999-abcdef-1',
      '.vtcode/history/x/99999999999999-abcdef-1-0123456789ab',
      `.vtcode/history/x/${genuine}`,
    ]) {
      mkdirSync(at(folder), { recursive: true })
      writeFileSync(at(`${folder}/0`), 'evil')
      const hash = (text: string) => createHash('sha256').update(text).digest('hex')
      const steps = [
        { op: 'remove', path: '.git/hooks/pre-commit', before: { sha256: hash('evil'), mode: 0o755, bytes: 4 } },
        { op: 'write', path: '.env', after: hash('KEY=1'), made: [] },
        { op: 'write', path: '.git/HEAD', after: hash('ref: x'), made: [] },
        { op: 'write', path: 'b.txt', after: hash('b\n'), made: [] },
      ]
      writeFileSync(
        at(`${folder}/record.json`),
        JSON.stringify({ id: '1', slot: 's', session: 'x', time: '', steps, seal: '0'.repeat(32) }),
      )
    }
    const list = await undo('--list')
    expect(list.code).toBe(0)
    const named = booted.kernel.diagnostics().filter(({ code }) => code === 'VT_STATE_FOREIGN')
    expect(named).toMatchObject([{ message: expect.stringContaining("'.vtcode/history/x' has no valid seal") }])
    expect(readdirSync(at('.vtcode/history'))).not.toContain('x')
    expect(readdirSync(named[0]!.files[0]!)).toHaveLength(3)
    expect(list.out.split('\n')).toHaveLength(3)
    expect(await undo()).toMatchObject({ code: 0, out: expect.stringContaining('made') })
    expect(await undo()).toMatchObject({ code: 1 })
    expect([
      readdirSync(at('.git/hooks')),
      existsSync(at('.env')),
      existsSync(at('.git/HEAD')),
      existsSync(at('b.txt')),
    ]).toEqual([[], true, true, true])
    mkdirSync(at('.vtcode/history/y/anything'), { recursive: true })
    const told = [1, 2].map(
      () =>
        spawnSync(process.execPath, ['dist/core/bin.js', '--workspace', booted.root, 'undo', '--list'], {
          encoding: 'utf8',
          env: { ...process.env, HOME: booted.home },
        }).stderr,
    )
    expect(told).toEqual([expect.stringContaining("'.vtcode/history/y' has no valid seal"), ''])
  })

  it('accepts no checkpoint of another session, workspace, kind or size, nor a restored one for a changed file', async () => {
    await call('unified_file', { action: 'write', path: 'made', content: 'x' })
    const session = readdirSync(at('.vtcode/history')).find((name) => name.startsWith('session-'))!
    const [genuine] = readdirSync(at(`.vtcode/history/${session}`))
    const folder = `.vtcode/history/${session}/${genuine}`
    cpSync(at(folder), join(booted.home, 'kept'), { recursive: true })
    expect(await undo()).toMatchObject({ code: 0, out: expect.stringContaining('made') })
    const bring = (to: string) => cpSync(join(booted.home, 'kept'), at(to), { recursive: true })
    // The checkpoint is in its old place, but the file has changed.
    writeFileSync(at('made'), 'mine')
    bring(folder)
    expect(await undo()).toMatchObject({ code: 1, err: expect.stringContaining('changed since') })
    rmSync(at(folder), { recursive: true })
    writeFileSync(at('made'), 'x')
    const seal = openWorkspace(booted.root, { home: join(booted.home, '.vtcode') })
    const other = openWorkspace(join(booted.root, 'dir'), { home: join(booted.home, '.vtcode') })
    const own = '99999999999999-abcdef-1'
    const home = `.vtcode/history/${session}`
    const places = [
      `.vtcode/history/other/${genuine}`,
      `${home}/${own}-${seal.seal.nameMark('journal', `${home}/${own}`)}`,
      `${home}/${own}-${other.seal.nameMark('checkpoint', `${home}/${own}`)}`,
    ]
    for (const place of places) bring(place)
    const named = `${home}/${own}-${seal.seal.nameMark('checkpoint', `${home}/${own}`)}`
    seal.close()
    other.close()
    for (const spoil of [
      () => bring(named),
      () => truncateSync(at(`${named}/record.json`), 2 ** 30),
      () => (rmSync(at(`${named}/record.json`)), symlinkSync(at('.vtcode/history/other'), at(`${named}/record.json`))),
    ]) {
      spoil()
      const { out } = await undo()
      expect([out.includes('made'), readFileSync(at('made'), 'utf8')]).toEqual([false, 'x'])
    }
  })
  it('shows a path with a line break on one line', async () => {
    await call('unified_file', { action: 'write', path: 'two\nlines.txt', content: 'x' })
    expect((await undo('--list')).out.trimEnd().split('\n')).toHaveLength(1)
    expect((await undo()).out.trimEnd().split('\n')).toHaveLength(1)
  })

  it('works from the command line, in a later session', async () => {
    await call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })
    const { stdout, status } = spawnSync(process.execPath, ['dist/core/bin.js', '--workspace', booted.root, 'undo'], {
      encoding: 'utf8',
      env: { ...process.env, HOME: booted.home },
    })
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^Undone: .*unified_file\/edit {2}a\.txt\n$/)])
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(statSync(at('a.txt')).nlink).toBe(1)
  })
})
