import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorkspace, type Handle, type OpenWorkspace } from '../../../build/core/workspace/index.js'
import { rounds } from '../../support/exec.js'
import { fc, runs } from '../../support/property.js'

let base: string
let root: string
let workspace: OpenWorkspace
const home = join(process.env['HOME']!, '.vtcode')
const soak = process.env['VTCODE_SOAK'] !== undefined

beforeEach(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'vtcode-ws-'))
  root = join(base, 'ws')
  for (const folder of ['ws/sub/deep', 'out', 'ws-evil']) mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'out/secret'), 'secret')
  writeFileSync(join(root, 'sub/a.txt'), 'inside')
  workspace = openWorkspace(root, { home })
})
afterEach(() => {
  workspace.close()
  rmSync(base, { recursive: true, force: true })
})

const link = (path: string, target: string) => symlinkSync(target, join(root, path))
const answer = async (path: string): Promise<string> => {
  try {
    await using handle = await workspace.open(path)
    return handle.resolved
  } catch (error) {
    return (error as { code: string }).code
  }
}
const descriptors = () => readdirSync('/proc/self/fd').length

describe('links in the workspace', () => {
  it('follows a link inside the workspace and names the target', async () => {
    link('file', 'sub/a.txt')
    link('folder', './sub/')
    link('absolute', join(root, 'sub/a.txt'))
    link('sub/up', '../sub/deep/..')
    link('root', '.')
    for (const path of ['file', 'folder/a.txt', 'absolute', 'sub/up/a.txt', 'root/root/file'])
      expect(await answer(path), path).toBe('sub/a.txt')
    expect(await answer('sub/up')).toBe('sub')
    expect(await answer('root')).toBe('.')
    await using handle = await workspace.open('folder/a.txt')
    expect(handle.path).toBe('folder/a.txt')
    expect((await handle.read(0, 100)).toString()).toBe('inside')
  })

  it('resolves a link to a place where no file exists yet', () => {
    link('later', 'sub/new')
    link('folder', 'sub')
    expect(['later', 'folder/x', 'folder/no/x', 'none/x', '.'].map((path) => workspace.resolve(path))).toEqual([
      'sub/new',
      'sub/x',
      'sub/no/x',
      'none/x',
      '.',
    ])
    expect(['later', 'folder/x'].map((path) => workspace.resolve(path, { follow: false }))).toEqual(['later', 'sub/x'])
    const paths = [
      'later',
      'folder',
      'folder/x',
      'folder/no/x',
      'none/x',
      '.',
      'sub',
      'sub/a.txt',
      'sub/a.txt/x',
      'out',
      'out/x',
      './sub//a.txt',
    ]
    const said = (run: () => unknown) => {
      try {
        return run()
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    for (const path of paths)
      expect(
        said(() => workspace.locate(path)),
        path,
      ).toEqual(said(() => ({ resolved: workspace.resolve(path), entry: workspace.resolve(path, { follow: false }) })))
    link('out', '../out')
    expect(() => workspace.resolve('out/x')).toThrow(expect.objectContaining({ code: 'VT_PATH_OUTSIDE' }))
  })

  it('refuses a link that leads outside, also to a missing file', async () => {
    link('file', '../out/secret')
    link('folder', join(base, 'out'))
    link('one', 'two')
    link('two', 'sub/three')
    link('sub/three', '../../out')
    link('dangling', '../out/new')
    link('sibling', join(base, 'ws-evil'))
    link('back', '../ws/sub')
    for (const path of ['file', 'folder', 'folder/secret', 'one/secret', 'dangling', 'sibling', 'back/a.txt'])
      expect(await answer(path), path).toBe('VT_PATH_OUTSIDE')
  })

  it('refuses a circular link', async () => {
    link('a', 'b')
    link('b', 'a')
    link('self', 'self/x')
    for (const path of ['a', 'b/x', 'self', 'self/y']) expect(await answer(path), path).toBe('VT_PATH_LOOP')
  })

  it('describes a link with stat without following it', async () => {
    link('file', '../out/secret')
    expect((await workspace.stat('file'))?.kind).toBe('link')
    expect(await workspace.stat('missing/x')).toBeUndefined()
    expect((await workspace.stat('.'))?.kind).toBe('directory')
  })

  it('resolves links in any tree as the operating system does, or refuses them', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    const target = fc.oneof(
      fc
        .array(fc.oneof(name, fc.constantFrom('..', '.', '')), { minLength: 1, maxLength: 4 })
        .map((parts) => parts.join('/').replace(/^\/*$|^\//, './')),
      fc.array(name, { maxLength: 3 }).map((parts) => ['ROOT', ...parts].join('/')),
      fc.constantFrom('/etc', 'OUT/secret'),
    )
    const entry = fc.tuple(fc.array(name, { minLength: 1, maxLength: 3 }), fc.oneof(fc.constant(undefined), target))
    const paths = fc.array(fc.array(name, { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 12 })
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 10 }), paths, async (entries, asked) => {
        const tree = join(base, `tree${run++}`)
        mkdirSync(tree)
        for (const [names, to] of entries) {
          const path = join(tree, ...names)
          try {
            mkdirSync(dirname(path), { recursive: true })
            // A tree whose links lead out and in again through sibling entries is refused, although the system would find the way.
            if (!`${realpathSync(dirname(path))}/`.startsWith(`${tree}/`)) continue
            if (to === undefined) writeFileSync(path, names.join())
            else symlinkSync(to.replace('ROOT', tree).replace('OUT', join(base, 'out')), path)
          } catch {
            // The entry does not fit the tree that the ones before it made.
          }
        }
        const opened = openWorkspace(tree, { home })
        try {
          const paths = asked.map((names) => names.join('/'))
          const expected = oracle(tree, paths)
          for (const [at, path] of paths.entries()) expect(expected[at], path).toContain(await outcome(opened, path))
        } finally {
          opened.close()
        }
      }),
      { numRuns: runs(rounds(40, 150)) },
    )
  })
})

async function outcome(opened: OpenWorkspace, path: string): Promise<string> {
  try {
    await using handle = await opened.open(path)
    return handle.resolved
  } catch (error) {
    const { code } = error as { code: string }
    return code === 'VT_PATH_NOT_DIRECTORY' ? 'VT_PATH_NOT_FOUND' : code
  }
}

/** Returns the answers that the system's `realpath` allows. */
function oracle(tree: string, paths: string[]): string[][] {
  const place = (real: string) =>
    real === tree ? '.' : real.startsWith(`${tree}/`) ? real.slice(tree.length + 1) : 'VT_PATH_OUTSIDE'
  const known = paths.map((path) => {
    try {
      return [place(realpathSync.native(join(tree, path)))]
    } catch (error) {
      return (error as { code: string }).code === 'ELOOP' ? ['VT_PATH_LOOP', 'VT_PATH_OUTSIDE'] : undefined
    }
  })
  // The program does not come to an end on some loops, so only paths are asked that the system resolves or misses.
  const missing = realPathsWithoutLastName(
    paths.filter((_, at) => known[at] === undefined).map((path) => join(tree, path)),
  )
  return paths.map((path, at) => {
    if (known[at]) return known[at]
    const real = missing.get(join(tree, path))
    if (real === undefined) return ['VT_PATH_NOT_FOUND', 'VT_PATH_OUTSIDE']
    return [place(real) === 'VT_PATH_OUTSIDE' ? 'VT_PATH_OUTSIDE' : 'VT_PATH_NOT_FOUND']
  })
}

/** Returns the real paths that `realpath` finds: without options the program accepts a last name that is missing, and nothing else. */
function realPathsWithoutLastName(paths: string[]): Map<string, string> {
  if (paths.length === 0) return new Map()
  const { stdout, stderr } = spawnSync('realpath', paths, {
    timeout: 60_000,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  const found = paths.filter((path) => !stderr.includes(`realpath: ${path}: `))
  const real = stdout.split('\n')
  expect(real).toHaveLength(found.length + 1)
  return new Map(found.map((path, at) => [path, real[at]!]))
}

describe('special files', () => {
  it('refuses pipes, sockets and devices without opening them', async () => {
    execFileSync('mkfifo', [join(root, 'fifo')])
    const server = createServer().listen(join(root, 'socket'))
    await once(server, 'listening')
    const before = Date.now()
    for (const path of ['fifo', 'socket', ...(canMakeDevices() ? ['zero'] : [])])
      expect(await answer(path), path).toBe('VT_PATH_SPECIAL')
    expect(Date.now() - before).toBeLessThan(20_000)
    server.close()
  })

  it('keeps other reads running while a pipe is refused', async () => {
    execFileSync('mkfifo', [join(root, 'fifo')])
    const blocked = Array.from({ length: 6 }, () => answer('fifo'))
    expect(await workspace.readText('sub/a.txt')).toBe('inside')
    expect(new Set(await Promise.all(blocked))).toEqual(new Set(['VT_PATH_SPECIAL']))
  })
})

function canMakeDevices(): boolean {
  try {
    execFileSync('mknod', [join(root, 'zero'), 'c', '1', '5'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('file handle', () => {
  it('reads the opened file, wherever its name leads meanwhile', async () => {
    await using handle = await workspace.openFile('sub/a.txt')
    rmSync(join(root, 'sub'), { recursive: true })
    link('sub', '../out')
    expect((await handle.read(2, 3)).toString()).toBe('sid')
    expect((await handle.read(6, 10)).length).toBe(0)
    expect(readFileSync(handle.ref, 'utf8')).toBe('inside')
  })

  it('closes twice without an error and refuses reads afterwards', async () => {
    const handle = await workspace.openFile('sub/a.txt')
    await handle.close()
    await handle.close()
    await expect(handle.read(0, 1)).rejects.toThrow('closed')
  })

  it('finishes a running read after close', async () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(root, name), name.repeat(300_000))
    const whole = (name: string) => workspace.read(name).then(String)
    for (let round = 0; round < 50; round++) {
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(whole))
      expect([a === 'a'.repeat(300_000), b === 'b'.repeat(300_000), c === 'c'.repeat(300_000)]).toEqual([
        true,
        true,
        true,
      ])
    }
    const handle = await workspace.openFile('a')
    const reading = handle.read(0, 300_000)
    await handle.close()
    expect((await reading).length).toBe(300_000)
  })

  it('refuses a handle of the wrong kind', async () => {
    await expect(workspace.openFile('sub')).rejects.toMatchObject({ code: 'VT_PATH_IS_DIRECTORY' })
    await expect(workspace.openDirectory('sub/a.txt')).rejects.toMatchObject({ code: 'VT_PATH_NOT_DIRECTORY' })
    await expect(workspace.open('sub/a.txt/x')).rejects.toMatchObject({
      code: 'VT_PATH_NOT_DIRECTORY',
      message: "'sub/a.txt' is not a directory.",
    })
  })
})

describe('workspace', () => {
  it('names paths similar to a missing one', async () => {
    await expect(workspace.open('sub/b.txt')).rejects.toMatchObject({
      code: 'VT_PATH_NOT_FOUND',
      problem: { details: { similar: ['sub/a.txt'] } },
    })
  })

  it('lists names in code-unit order, and escapes names that are not UTF-8', async () => {
    for (const name of ['b', 'B', 'é']) writeFileSync(join(root, 'sub/deep', name), name)
    writeFileSync(Buffer.concat([Buffer.from(join(root, 'sub/deep/')), Buffer.from([0x61, 0xff])]), 'bytes')
    writeFileSync(join(root, 'sub/deep', 'a\\xff'), 'text')
    const names = (await workspace.listNames('sub/deep')).map(({ name }) => name)
    expect(names).toEqual(['B', 'a\\x5cxff', 'a\\xff', 'b', 'é'])
    expect(await workspace.readText('sub/deep/a\\xff')).toBe('bytes')
    expect(await workspace.readText('sub/deep/a\\x5cxff')).toBe('text')
  })

  it('reads a range, a whole file, and text without its byte order mark', async () => {
    writeFileSync(join(root, 'bom'), '\uFEFFé')
    expect(await workspace.readText('bom')).toBe('é')
    expect((await workspace.read('sub/a.txt', { offset: 2, length: 2 })).toString()).toBe('si')
    writeFileSync(join(root, 'latin'), Buffer.from([0xe9]))
    await expect(workspace.readText('latin')).rejects.toMatchObject({ code: 'VT_FILE_BINARY' })
    await expect(workspace.readText('sub/a.txt', { max_bytes: 3 })).rejects.toMatchObject({
      code: 'VT_INPUT_TOO_LARGE',
    })
  })

  it('opens many files like each alone, and stays in a folder that is swapped for a link', async () => {
    link('out', '../out')
    link('in', 'sub/deep/../../sub')
    link('sub/out.txt', '../../out/secret')
    link('sub/loop', 'loop')
    link('sub/deep/a.txt', '../a.txt')
    execFileSync('mkfifo', [join(root, 'sub/fifo')])
    writeFileSync(join(root, 'top.txt'), 'top')
    writeFileSync(Buffer.concat([Buffer.from(join(root, 'sub/')), Buffer.from([0x61, 0xff])]), 'bytes')
    const paths = [
      'sub/a.txt',
      'sub/a\\xff',
      'top.txt',
      'sub/none',
      'sub/out.txt',
      'sub/loop',
      'sub/fifo',
      'sub/deep',
      'sub/deep/a.txt',
      'in/a.txt',
      'in/out.txt',
      'out/secret',
      'sub/a.txt/x',
      'sub/b.txt',
      'none/x',
      'su/a.txt',
      '../out/secret',
      '.',
      'sub/a.txt',
    ]
    const said = (openFile: (path: string) => Promise<Handle>) => async (path: string) => {
      try {
        await using file = await openFile(path)
        return {
          path: file.path,
          resolved: file.resolved,
          ref: file.ref.startsWith('/proc/'),
          stat: file.stat,
          text: String(await file.read(0, 100)),
        }
      } catch (error) {
        return `${(error as { code: string }).code} ${(error as Error).message}`
      }
    }
    const before = descriptors()
    {
      await using opener = workspace.createFileOpener()
      for (const path of paths)
        expect(await said((one) => opener.openFile(one))(path), path).toEqual(
          await said((one) => workspace.openFile(one))(path),
        )
      await (await opener.openFile('sub/a.txt')).close()
      renameSync(join(root, 'sub'), join(root, 'aside'))
      link('sub', '../out')
      expect(await said((one) => opener.openFile(one))('sub/secret')).toMatch(/^VT_PATH_OUTSIDE /)
      expect(await said((one) => opener.openFile(one))('sub/a.txt')).toMatchObject({ text: 'inside' })
    }
    expect(descriptors()).toBe(before)
  })

  it('leaves no descriptor open', async () => {
    link('out', '../out')
    link('loop', 'loop')
    link('in', 'sub/deep/../../sub')
    execFileSync('mkfifo', [join(root, 'fifo')])
    const before = descriptors()
    for (let round = 0; round < 50; round++) {
      for (const path of [
        'sub/a.txt',
        'out/x',
        'loop',
        'in/a.txt',
        'in/none',
        'sub/a.txt/x',
        'fifo',
        'none/none',
        '.',
      ]) {
        await answer(path)
        await workspace.stat(path).catch(() => {})
        await workspace.openFile(path).then(
          (handle) => handle.close(),
          () => {},
        )
        await workspace.listNames(path).catch(() => {})
      }
    }
    expect(descriptors()).toBe(before)
  })
})

describe.runIf(process.platform === 'linux')('directory that is swapped for a link all the time', () => {
  it('keeps every read inside', async () => {
    mkdirSync(join(root, 'real'))
    writeFileSync(join(root, 'real/secret'), 'inside')
    symlinkSync('../out', join(root, 'fake'))
    const attacker = spawn('python3', [
      join(import.meta.dirname, '../../fixtures/swap.py'),
      join(root, 'real'),
      join(root, 'fake'),
    ])
    await once(attacker.stdout, 'data')
    const seen = new Map<string, number>()
    const end = Date.now() + (soak ? 20_000 : 2_000)
    while (Date.now() < end) {
      const text = await workspace.readText('real/secret').catch((error: { code: string }) => error.code)
      seen.set(text, (seen.get(text) ?? 0) + 1)
    }
    attacker.stdin.end()
    await once(attacker, 'exit')
    expect(seen.get('secret')).toBeUndefined()
    expect(seen.get('inside')).toBeGreaterThan(100)
    expect(seen.get('VT_PATH_OUTSIDE')).toBeGreaterThan(100)
  })
})
