import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorkspace, type OpenWorkspace } from '../../../build/core/workspace/index.js'

let base: string
let root: string
let workspace: OpenWorkspace
const home = join(process.env['HOME']!, '.vtcode')
const soak = process.env['VTCODE_SOAK'] !== undefined

beforeEach(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'vtcode-write-'))
  root = join(base, 'ws')
  for (const folder of ['ws/sub', 'out']) mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'out/secret'), 'secret')
  writeFileSync(join(root, 'a.txt'), 'old')
  workspace = openWorkspace(root, { home })
})
afterEach(() => {
  workspace.close()
  rmSync(base, { recursive: true, force: true })
})

const bytes = (text: string) => Buffer.from(text)
const content = (path: string) => readFileSync(join(root, path), 'utf8')
const seen = async (path: string) => {
  await using file = await workspace.openFile(path)
  return {
    stat: file.stat,
    sha256: createHash('sha256')
      .update(await file.read(0, file.stat.bytes))
      .digest('hex'),
  }
}
/** Everything in the workspace but what the program keeps for itself. */
const tree = () =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith('.vtcode/') && name !== '.vtcode')
    .sort()

/** One entry of an access list. */
const entry = ([tag, permissions, id]: number[]): number[] => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(tag!)
  bytes.writeUInt16LE(permissions!, 2)
  bytes.writeInt32LE(id!, 4)
  return [...bytes]
}
const python = (script: string, ...args: string[]) =>
  execFileSync('python3', ['-c', `import os, sys, json\n${script}`, ...args], { encoding: 'utf8' })
/** Sets attributes of a file, or takes them away. */
const setAttributes = (path: string, values: Record<string, Buffer | undefined>) => {
  for (const [name, value] of Object.entries(values)) {
    const script = value
      ? 'os.setxattr(sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]))'
      : 'os.removexattr(sys.argv[1], sys.argv[2])'
    python(script, join(root, path), name, value?.toString('hex') ?? '')
  }
}
const attributes = (path: string): Record<string, string> =>
  JSON.parse(
    python(
      'print(json.dumps({name: os.getxattr(sys.argv[1], name).hex() for name in os.listxattr(sys.argv[1])}))',
      join(root, path),
    ),
  )

describe('workspace.write', () => {
  it('creates and replaces files, and refuses to replace what it must not', async () => {
    expect(await workspace.write('new.txt', bytes('1'), 'nothing')).toMatchObject({
      created: true,
      resolved: 'new.txt',
      lost: [],
    })
    await expect(workspace.write('new.txt', bytes('2'), 'nothing')).rejects.toMatchObject({ code: 'VT_PATH_EXISTS' })
    expect(await workspace.write('new.txt', bytes('3'), 'anything')).toMatchObject({ created: false })
    await expect(workspace.write('sub', bytes('x'), 'anything')).rejects.toMatchObject({ code: 'VT_PATH_IS_DIRECTORY' })
    expect(content('new.txt')).toBe('3')
    expect(tree()).toEqual(['a.txt', 'new.txt', 'sub'])
  })

  it('refuses to write over another version than the one read', async () => {
    const version = await seen('a.txt')
    writeFileSync(join(root, 'a.txt'), 'who')
    await expect(workspace.write('a.txt', bytes('mine'), version)).rejects.toMatchObject({ code: 'VT_FILE_STALE' })
    rmSync(join(root, 'a.txt'))
    await expect(workspace.write('a.txt', bytes('mine'), version)).rejects.toMatchObject({ code: 'VT_FILE_STALE' })
    writeFileSync(join(root, 'a.txt'), 'old')
    await workspace.write('a.txt', bytes('mine'), version)
    expect(content('a.txt')).toBe('mine')
  })

  it('makes missing parents and removes them after a failure', async () => {
    await workspace.write('x/y/z.txt', bytes('1'), 'nothing')
    expect(content('x/y/z.txt')).toBe('1')
    await expect(workspace.write('p/q/r.txt', bytes('1'), await seen('a.txt'))).rejects.toMatchObject({
      code: 'VT_FILE_STALE',
    })
    await expect(workspace.write('a.txt/x', bytes('1'), 'nothing')).rejects.toMatchObject({
      code: 'VT_PATH_NOT_DIRECTORY',
    })
    expect(tree()).toEqual(['a.txt', 'sub', 'x', 'x/y', 'x/y/z.txt'])
  })

  it('keeps the mode with special bits, and gives a new file 0644 without the umask', async () => {
    chmodSync(join(root, 'a.txt'), 0o4751)
    await workspace.write('a.txt', bytes('x'), 'anything')
    expect((statSync(join(root, 'a.txt')).mode & 0o7777).toString(8)).toBe('4751')
    const before = process.umask(0)
    await workspace.write('open.txt', bytes('x'), 'nothing')
    process.umask(before)
    expect((statSync(join(root, 'open.txt')).mode & 0o777).toString(8)).toBe('644')
    await workspace.write('run.sh', bytes('x'), 'nothing', { mode: 0o755 })
    expect((statSync(join(root, 'run.sh')).mode & 0o777).toString(8)).toBe('755')
  })

  it.runIf(process.platform === 'linux')(
    'keeps extended attributes and the access list, and takes no defaults of the folder',
    async () => {
      // An access list as the system keeps it: version 2, then tag, permissions and id of each entry; user 1 may read.
      const acl = Buffer.from([
        2,
        0,
        0,
        0,
        ...[
          [1, 6, -1],
          [2, 4, 1],
          [4, 0, -1],
          [16, 4, -1],
          [32, 0, -1],
        ].flatMap(entry),
      ])
      setAttributes('a.txt', { 'user.note': Buffer.from('kept'), 'system.posix_acl_access': acl })
      setAttributes('sub', {
        'system.posix_acl_default': Buffer.from([
          2,
          0,
          0,
          0,
          ...[
            [1, 7, -1],
            [2, 7, 2],
            [4, 7, -1],
            [16, 7, -1],
            [32, 7, -1],
          ].flatMap(entry),
        ]),
      })
      writeFileSync(join(root, 'sub/own'), 'x')
      setAttributes('sub/own', { 'system.posix_acl_access': undefined })
      chmodSync(join(root, 'sub/own'), 0o640)
      expect(await workspace.write('a.txt', bytes('new'), 'anything')).toMatchObject({ lost: [] })
      expect(await workspace.write('sub/own', bytes('new'), 'anything')).toMatchObject({ lost: [] })
      expect(attributes('a.txt')).toEqual({ 'user.note': '6b657074', 'system.posix_acl_access': acl.toString('hex') })
      expect(attributes('sub/own')).toEqual({})
      expect([content('a.txt'), statSync(join(root, 'sub/own')).mode & 0o777]).toEqual(['new', 0o640])
    },
  )

  it.runIf(process.getuid?.() === 0)('keeps the capabilities of a program', async () => {
    const capabilities = Buffer.from('0100000200040000000000000000000000000000', 'hex')
    chmodSync(join(root, 'a.txt'), 0o4755)
    setAttributes('a.txt', { 'security.capability': capabilities })
    expect(await workspace.write('a.txt', bytes('new'), 'anything')).toMatchObject({ lost: [] })
    expect(attributes('a.txt')).toEqual({ 'security.capability': capabilities.toString('hex') })
    expect([content('a.txt'), statSync(join(root, 'a.txt')).mode & 0o7777]).toEqual(['new', 0o4755])
  })

  it.runIf(process.getuid?.() === 0)(
    'refuses a file that the user may not write, and names attributes that it could not keep',
    async () => {
      setAttributes('a.txt', { 'security.note': Buffer.from('x') })
      const script = `
      const { openWorkspace } = await import(process.argv[1])
      const workspace = openWorkspace(process.argv[2], { home: process.env['HOME'] + '/.vtcode' })
      const answer = (path) => workspace.write(path, Buffer.from('new'), 'anything').then(({ lost }) => lost, ({ code }) => code)
      console.log(JSON.stringify([await answer('a.txt'), await answer('readonly')]))`
      writeFileSync(join(root, 'readonly'), 'old', { mode: 0o444 })
      const without = [
        'setpriv',
        '--bounding-set',
        '-all',
        '--inh-caps',
        '-all',
        process.execPath,
        '--input-type=module',
        '-e',
        script,
      ]
      const { stdout } = spawnSync(
        without[0]!,
        [...without.slice(1), new URL('../../../build/core/workspace/index.js', import.meta.url).href, root],
        {
          encoding: 'utf8',
        },
      )
      expect(JSON.parse(stdout)).toEqual([['attributes'], 'VT_PATH_PERMISSION'])
      expect([content('a.txt'), content('readonly')]).toEqual(['new', 'old'])
    },
  )

  it('writes through a link inside to its target, and reports a lost hard link', async () => {
    symlinkSync('../a.txt', join(root, 'sub/link'))
    symlinkSync('later.txt', join(root, 'dangling'))
    expect(await workspace.write('sub/link', bytes('new'), 'anything')).toMatchObject({ resolved: 'a.txt' })
    await workspace.write('dangling', bytes('made'), 'nothing')
    expect([content('a.txt'), content('later.txt'), readlinkSync(join(root, 'sub/link'))]).toEqual([
      'new',
      'made',
      '../a.txt',
    ])
    linkSync(join(root, 'a.txt'), join(root, 'twin'))
    expect(await workspace.write('a.txt', bytes('2'), 'anything')).toMatchObject({ lost: ['hardlinks'] })
    expect(content('twin')).toBe('new')
  })

  it('refuses every write that would leave the workspace', async () => {
    symlinkSync('../out/new', join(root, 'dangling'))
    symlinkSync('../out', join(root, 'folder'))
    symlinkSync('../out/secret', join(root, 'file'))
    for (const path of ['dangling', 'folder/new', 'folder/a/b/c', 'file', '../out/new', `${base}/out/new`]) {
      await expect(workspace.write(path, bytes('x'), 'anything'), path).rejects.toMatchObject({
        code: 'VT_PATH_OUTSIDE',
      })
      // A link in the place of the new name is not followed but in the way.
      const refusal = { code: expect.stringMatching(/^VT_PATH_(OUTSIDE|EXISTS)$/) }
      await expect(workspace.rename('a.txt', path), path).rejects.toMatchObject(refusal)
      await expect(workspace.copy('a.txt', path), path).rejects.toMatchObject(refusal)
    }
    for (const path of ['file', 'folder', 'folder/secret'])
      await expect(workspace.remove(path, { recursive: true }), path).rejects.toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    expect(readdirSync(join(base, 'out'))).toEqual(['secret'])
    expect(content('a.txt')).toBe('old')
  })

  it('names the whole path that it refuses, not the parent where it stopped', async () => {
    symlinkSync('../out', join(root, 'folder'))
    symlinkSync('loop', join(root, 'loop'))
    for (const [path, code] of [
      ['folder/a/b', 'VT_PATH_OUTSIDE'],
      ['loop/a/b', 'VT_PATH_LOOP'],
    ])
      await expect(workspace.write(path!, bytes('x'), 'nothing')).rejects.toMatchObject({
        code,
        message: expect.stringContaining(`'${path}'`),
      })
  })
})

describe('workspace.linkOrCopy', () => {
  it('gives a file a second name, and copies a file that has several', async () => {
    const inode = (path: string) => statSync(join(root, path)).ino
    await workspace.linkOrCopy('a.txt', 'kept/1')
    await workspace.linkOrCopy('a.txt', 'kept/2')
    expect([content('kept/1'), content('kept/2')]).toEqual(['old', 'old'])
    expect([inode('kept/1') === inode('a.txt'), inode('kept/2') === inode('a.txt')]).toEqual([true, false])
  })

  it.runIf(process.getuid?.() === 0)(
    'copies a file of another file system that is mounted in the workspace',
    async () => {
      mkdirSync(join(root, 'mounted'))
      execFileSync('mount', ['--bind', join(base, 'out'), join(root, 'mounted')])
      try {
        await workspace.linkOrCopy('mounted/secret', 'kept/1')
        expect(content('kept/1')).toBe(content('mounted/secret'))
      } finally {
        execFileSync('umount', [join(root, 'mounted')])
      }
    },
  )
})

describe('workspace.remove', () => {
  it('removes a link itself, and a full directory only on request', async () => {
    mkdirSync(join(root, 'full/deep'), { recursive: true })
    symlinkSync(join(base, 'out'), join(root, 'full/out'))
    symlinkSync('../../a.txt', join(root, 'full/deep/a'))
    await expect(workspace.remove('full')).rejects.toMatchObject({ code: 'VT_PATH_NOT_EMPTY' })
    expect(await workspace.measure('full')).toEqual({ entries: 3, bytes: 0 })
    await workspace.remove('full', { recursive: true })
    await workspace.remove('sub')
    await expect(workspace.remove('.', { recursive: true })).rejects.toMatchObject({ code: 'VT_INPUT_INVALID' })
    await expect(workspace.remove('none')).rejects.toMatchObject({ code: 'VT_PATH_NOT_FOUND' })
    expect(tree()).toEqual(['a.txt'])
    expect(readdirSync(join(base, 'out'))).toEqual(['secret'])
  })
})

describe('workspace.rename and workspace.copy', () => {
  it('refuses a name in use, unless a file may be replaced', async () => {
    writeFileSync(join(root, 'b.txt'), 'b')
    await expect(workspace.rename('a.txt', 'b.txt')).rejects.toMatchObject({ code: 'VT_PATH_EXISTS' })
    await expect(workspace.copy('a.txt', 'sub', { replace: true })).rejects.toMatchObject({ code: 'VT_PATH_EXISTS' })
    await workspace.copy('a.txt', 'b.txt', { replace: true })
    await workspace.rename('b.txt', 'x/c.txt')
    await workspace.rename('x/c.txt', 'a.txt', { replace: true })
    expect(tree()).toEqual(['a.txt', 'sub', 'x'])
    expect(content('a.txt')).toBe('old')
  })

  it('moves or copies a directory with everything in it', async () => {
    mkdirSync(join(root, 'sub/.hidden'))
    writeFileSync(join(root, 'sub/.hidden/run'), '#!', { mode: 0o755 })
    symlinkSync('.hidden/run', join(root, 'sub/link'))
    expect(await workspace.copy('sub', 'twin')).toEqual({ entries: 3, bytes: 2 })
    expect(statSync(join(root, 'twin/.hidden/run')).mode & 0o777).toBe(0o755)
    expect(readlinkSync(join(root, 'twin/link'))).toBe('.hidden/run')
    await workspace.rename('twin', 'deep/moved')
    expect(content('deep/moved/.hidden/run')).toBe('#!')
  })

  it('refuses a link that would lead outside from its new place', async () => {
    symlinkSync('../a.txt', join(root, 'sub/link'))
    await expect(workspace.rename('sub/link', 'link')).rejects.toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    await expect(workspace.copy('sub/link', 'link')).rejects.toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    await workspace.rename('sub/link', 'x/link')
    expect(lstatSync(join(root, 'x/link')).isSymbolicLink()).toBe(true)
  })
})

describe('workspace.lock', () => {
  it('admits one holder at a time under any spelling, and locks other files independently', async () => {
    symlinkSync('a.txt', join(root, 'link'))
    const order: string[] = []
    const hold = async (name: string, path: string) => {
      await using _ = await workspace.lock([path])
      order.push(`${name} in`)
      await new Promise((resolve) => setTimeout(resolve, 30))
      order.push(`${name} out`)
    }
    await Promise.all([hold('1', 'a.txt'), hold('2', './link'), hold('3', join(root, 'a.txt'))])
    expect(order).toEqual(['1 in', '1 out', '2 in', '2 out', '3 in', '3 out'])
    await using _ = await workspace.lock(['a.txt', 'none/yet.txt'])
    await using __ = await workspace.lock(['b.txt'])
  })

  it('releases a lock when its process ends', async () => {
    const script = `
      const { openWorkspace } = await import(process.argv[1])
      await openWorkspace(process.argv[2], { home: process.env['HOME'] + '/.vtcode' }).lock(['a.txt'])
      console.log('held')
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      script,
      new URL('../../../build/core/workspace/index.js', import.meta.url).href,
      root,
    ])
    await once(child.stdout, 'data')
    const waiting = workspace.lock(['a.txt'])
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 100, 'waits'))])).toBe('waits')
    child.kill('SIGKILL')
    await (await waiting)[Symbol.asyncDispose]()
  })
})

describe('leftovers of a killed process', () => {
  it('removes leftovers of a killed process when the workspace opens', async () => {
    await workspace.write('sub/x', bytes('x'), 'nothing')
    const dead = '2147483646-0badc0de'
    writeFileSync(join(root, `.vtcode/tmp/${dead}-${workspace.seal.nameMark('temps', dead)}.dirs`), '"gone"\n"sub"\n')
    writeFileSync(join(root, `sub/.vtcode-tmp-${dead}-0`), 'half')
    mkdirSync(join(root, `sub/.vtcode-tmp-${dead}-1/deep`), { recursive: true })
    openWorkspace(root, { home }).close()
    expect(readdirSync(join(root, 'sub'))).toEqual(['x'])
    workspace.close()
    expect(readdirSync(join(root, '.vtcode/tmp'))).toEqual(['.gitignore'])
    workspace = openWorkspace(root, { home })
  })
})

describe.runIf(process.platform === 'linux')('directory that is swapped for a link all the time', () => {
  it('keeps every write inside', async () => {
    mkdirSync(join(root, 'real'))
    symlinkSync('../out', join(root, 'fake'))
    const attacker = spawn('python3', [
      join(import.meta.dirname, '../../fixtures/swap.py'),
      join(root, 'real'),
      join(root, 'fake'),
    ])
    await once(attacker.stdout, 'data')
    const answers = { ok: 0, refused: 0 }
    const end = Date.now() + (soak ? 20_000 : 2_000)
    for (let i = 0; Math.min(answers.ok, answers.refused) <= 20 || Date.now() < end; i++) {
      const done = workspace.write(`real/f${i % 50}`, bytes('x'), 'anything')
      await done.then(
        () => answers.ok++,
        (error: { code: string }) => (expect(error.code).toBe('VT_PATH_OUTSIDE'), answers.refused++),
      )
    }
    attacker.stdin.end()
    await once(attacker, 'exit')
    expect(readdirSync(join(base, 'out'))).toEqual(['secret'])
  })
})
