import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { deeds, lay, moments, pickEnds, restart, soak, stateOf, strike, type Deed } from './deeds.js'
import { scene, Server, trace, type Call } from './process.js'

const failures = [
  ['pwrite64', 'ENOSPC'],
  ['pwrite64', 'EDQUOT'],
  ['fsync,fdatasync', 'EIO'],
  ['rename,renameat,renameat2', 'EACCES'],
  ['rename,renameat,renameat2', 'EPERM'],
  ['rename,renameat,renameat2', 'EXDEV'],
  ['link,linkat', 'EIO'],
  ['unlink,unlinkat,rmdir', 'EBUSY'],
  ['fchmod,chmod', 'EPERM'],
  ['mkdir,mkdirat', 'ENOSPC'],
] as const
/** Returns all failures in soak, else one of each kind of call; which one differs from deed to deed. */
const failuresOf = (deed: Deed) =>
  failures.filter(([calls], index) => {
    const first = failures.findIndex(([others]) => others === calls)
    const count = failures.filter(([others]) => others === calls).length
    return soak || index - first === deeds.indexOf(deed) % count
  })

describe.each(deeds)('$name', (deed) => {
  it('reports an error with all files old, or finishes, when a step fails', async () => {
    const at = await moments(deed)
    const stage = scene()
    const server = await Server.start(stage)
    for (const [calls, error] of failuresOf(deed)) {
      for (const moment of pickEnds(at(calls))) {
        const title = `${calls} ${error} ${JSON.stringify(moment)}`
        const folder = `${error}-${calls.slice(0, 5)}-${moment.thread}-${moment.when}`
        lay(deed, stage, folder)
        const detach = await strike(server, moment, calls, `error=${error}`)
        const answer = await server.call(deed.call(folder))
        await detach()
        expect(stateOf(deed, stage, folder), `${title}: ${JSON.stringify(answer)}`).toEqual(
          answer?.ok ? deed.now : deed.old,
        )
        if (answer?.ok) continue
        expect(answer?.error, title).toMatchObject({
          code: expect.stringMatching(/^VT_(FILE_IO|PATH_PERMISSION)$/),
          details: { not_applied: true },
        })
      }
    }
    await server.end()
    const before = stage.text('EIO-fsync-pool-1/f')
    await restart(stage)
    expect(stage.text('EIO-fsync-pool-1/f')).toBe(before)
    expect(stage.leftovers()).toEqual([])
    stage.remove()
  })
})

describe('rollback of a failed patch', () => {
  const deed = deeds.find(({ name }) => name === 'a patch of several files')!
  const renames = 'rename,renameat,renameat2'

  it('lists the files that it could not restore, and the next change completes the patch', async () => {
    const at = await moments(deed)
    const stage = scene({ other: 'old' })
    const server = await Server.start(stage)
    let stuck = 0
    for (const moment of at(renames)) {
      const folder = `from-${moment.when}`
      lay(deed, stage, folder)
      const detach = await strike(server, { ...moment, when: `${moment.when}+` }, renames, 'error=EACCES')
      const answer = await server.call(deed.call(folder))
      await detach()
      if (answer?.ok) continue
      const half = answer?.error.details?.['rolled_back'] === false
      if (half) stuck++
      const details = half
        ? { not_applied: false, not_rolled_back: expect.arrayContaining([expect.any(String)]) }
        : { not_applied: true }
      expect(answer?.error.details, folder).toMatchObject(details)
      const next = await server.call([
        'unified_file',
        { action: 'write', path: 'other', content: folder, mode: 'overwrite' },
      ])
      expect(next, folder).toMatchObject({ ok: true })
      expect(stateOf(deed, stage, folder), `${folder}: ${JSON.stringify(answer)}`).toEqual(half ? deed.now : deed.old)
    }
    expect(stuck).toBeGreaterThan(0)
    await server.end()
    await restart(stage)
    expect(stage.leftovers()).toEqual([])
    stage.remove()
  })
})

describe('the file writer', () => {
  it('continues after short writes', async () => {
    const stage = scene({ f: `${'x'.repeat(100_000)}end` })
    const server = await Server.start(stage)
    // The first write is the undo record. The tracer reports 1,000 bytes without writing: only the length is right.
    const detach = await strike(server, { thread: 'pool', when: 2 }, 'pwrite64', 'retval=1000')
    expect(
      await server.call(['unified_file', { action: 'edit', path: 'f', old_str: 'end', new_str: 'END' }]),
    ).toMatchObject({ ok: true })
    await detach()
    expect(stage.text('f')!.length).toBe(100_003)
    expect(stage.text('f')!.endsWith('END')).toBe(true)
    await server.end()
    stage.remove()
  })

  it('sets the final mode, then writes, fsyncs, renames and fsyncs the folder', async () => {
    const stage = scene({ 'own/f': 'old' })
    chmodSync(join(stage.root, 'own/f'), 0o600)
    const server = await Server.start(stage)
    const log = join(stage.home, 'log')
    const calls = 'openat,fchmod,pwrite64,fsync,rename,renameat,renameat2'
    const detach = await trace(server, [server.child.pid!], ['-f', '-o', log, '-y', '-s', '8', '-e', `trace=${calls}`])
    await server.call(['unified_file', { action: 'write', path: 'own/f', content: 'new', mode: 'overwrite' }])
    await detach()
    // The temporary file and its folder, by whatever path.
    const own = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /own\/\.vtcode-tmp-/.test(line) || /fsync\(\d+<[^>]*\/own>/.test(line) || /rename/.test(line))
    const order = own
      .map((line) => /\s(openat|fchmod|pwrite64|fsync|rename)\w*\(/.exec(line)?.[1])
      .filter((name) => name !== undefined)
    expect(order.join(' ')).toMatch(/openat.* fchmod pwrite64 fsync .*rename.* fsync/)
    expect(own.find((line) => /openat.*O_CREAT/.test(line))).toMatch(/O_EXCL.*0600/)
    await server.end()
    stage.remove()
  })

  it('fails when no file descriptor is left, and answers the next call', async () => {
    const stage = scene({ f: 'old' })
    const server = await Server.start(stage)
    const edit = { action: 'edit', path: 'f', old_str: 'old', new_str: 'new' }
    const detach = await trace(
      server,
      [server.child.pid!],
      ['-f', '-o', '/dev/null', '-e', 'trace=openat', '-e', 'inject=openat:error=EMFILE:when=1+'],
    )
    const answer = await server.call(['unified_file', edit])
    await detach()
    expect(answer).toMatchObject({ ok: false, error: { code: 'VT_FILE_IO', retryable: true } })
    expect(stage.text('f')).toBe('old')
    expect(await server.call(['unified_file', edit])).toMatchObject({ ok: true })
    await server.end()
    stage.remove()
  })
})

/** Returns every call of a tool that changes, replaces or removes a file. */
const changes = (path: string, free: string): Call[] => [
  ['unified_file', { action: 'edit', path, old_str: 'old', new_str: 'new' }],
  ['unified_file', { action: 'write', path, content: 'new', mode: 'overwrite' }],
  ['unified_file', { action: 'write', path, content: 'new', mode: 'append' }],
  [
    'apply_patch',
    { input: `*** Begin Patch\n*** Add File: first\n+1\n*** Update File: ${path}\n-old\n+new\n*** End Patch` },
  ],
  ['unified_file', { action: 'patch', patch: `*** Begin Patch\n*** Update File: ${path}\n-old\n+new\n*** End Patch` }],
  ['unified_file', { action: 'copy', path: free, destination: path, overwrite: true }],
  ['unified_file', { action: 'move', path: free, destination: path, overwrite: true }],
]

/**
 * Starts the server in namespaces of its own: a disk of 1 MB in memory is mounted over its workspace, and `fixed` in it
 * is read-only. No rights outside are needed.
 */
async function onSmallDisk(files: Record<string, string>) {
  const stage = scene({ 'fixed/f': 'old', ...files })
  const workspace = join(stage.home, 'disk')
  mkdirSync(workspace)
  const script = `mount -t tmpfs -o size=1m tmpfs "$2" && cp -a "$1/." "$2" &&
    mount --bind "$2/fixed" "$2/fixed" && mount -o remount,bind,ro "$2/fixed" && shift 2 && exec "$@"`
  const wrap = ['unshare', '--map-root-user', '--mount', 'sh', '-c', script, 'sh', stage.root, workspace]
  const server = await Server.start(stage, { workspace, wrap })
  const inside = `/proc/${server.child.pid}/root${workspace}`
  return {
    server,
    text: (path: string) => stage.text(path, inside),
    leftovers: () => stage.leftovers(inside),
    end: async () => {
      await server.end()
      stage.remove()
    },
  }
}

describe('a full or read-only disk', () => {
  it('keeps the original and leaves no temporary file on a full disk', async () => {
    const { server, text, leftovers, end } = await onSmallDisk({ f: 'x'.repeat(300_000) })
    const write = (content: string) =>
      server.call(['unified_file', { action: 'write', path: 'f', content, mode: 'overwrite' }])
    expect(await write('y'.repeat(900_000))).toMatchObject({
      ok: false,
      error: { code: 'VT_FILE_IO', details: { errno: 'ENOSPC' } },
    })
    expect([text('f'), leftovers()]).toEqual(['x'.repeat(300_000), []])
    expect(await write('small')).toMatchObject({ ok: true })
    await end()
  })

  it('changes nothing on a read-only disk', async () => {
    const { server, text, leftovers, end } = await onSmallDisk({ free: 'free' })
    const refused = { ok: false, error: { code: 'VT_FILE_IO', details: { errno: 'EROFS', not_applied: true } } }
    const path = 'fixed/f'
    const calls: Call[] = [
      ...changes(path, 'free'),
      ['unified_file', { action: 'delete', path }],
      ['unified_file', { action: 'move', path, destination: 'elsewhere' }],
      ['unified_file', { action: 'write', path: 'fixed/new/x', content: '' }],
    ]
    for (const call of calls) expect(await server.call(call), JSON.stringify(call)).toMatchObject(refused)
    expect([text(path), text('free'), text('first'), text('elsewhere'), leftovers()]).toEqual([
      'old',
      'free',
      undefined,
      undefined,
      [],
    ])
    await end()
  })
})

// Both take away what only root has, or give it.
describe.runIf(process.getuid?.() === 0)('a file that cannot be written', () => {
  const refused = { ok: false, error: { code: 'VT_PATH_PERMISSION', details: { not_applied: true } } }

  it('leaves a file without write permission unchanged, mode included', async () => {
    const stage = scene({ f: 'old\n', free: 'free' })
    chmodSync(join(stage.root, 'f'), 0o444)
    // Root without its rights is refused what the mode refuses.
    const server = await Server.start(stage, { wrap: ['setpriv', '--bounding-set', '-all', '--inh-caps', '-all'] })
    for (const call of changes('f', 'free').slice(0, 5))
      expect(await server.call(call), JSON.stringify(call)).toMatchObject(refused)
    expect([stage.text('f'), stage.text('first'), stage.leftovers()]).toEqual(['old\n', undefined, []])
    expect(statSync(join(stage.root, 'f')).mode & 0o777).toBe(0o444)
    await server.end()
    stage.remove()
  })

  it('leaves an immutable file unchanged, whichever tool tries', async () => {
    // Not every file system in memory knows this mark.
    const stage = scene({ f: 'old\n', free: 'free' }, tmpdir())
    const server = await Server.start(stage)
    execFileSync('chattr', ['+i', join(stage.root, 'f')])
    try {
      const calls: Call[] = [
        ...changes('f', 'free'),
        ['unified_file', { action: 'delete', path: 'f' }],
        ['unified_file', { action: 'move', path: 'f', destination: 'g' }],
      ]
      for (const call of calls) expect(await server.call(call), JSON.stringify(call)).toMatchObject(refused)
      expect(['f', 'free', 'first', 'g'].map((path) => stage.text(path))).toEqual([
        'old\n',
        'free',
        undefined,
        undefined,
      ])
      expect(stage.leftovers()).toEqual([])
    } finally {
      execFileSync('chattr', ['-i', join(stage.root, 'f')])
    }
    await server.end()
    stage.remove()
  })
})
