import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'

// What was judged is what is used: a link is turned between the question and the answer, or all the time.

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel({
    mode: 'ask',
    files: { 'plain/config': 'plain', 'plain/sub/x': 'plain', '.git/config': 'sealed', '.git/sub/x': 'sealed', 'a.txt': 'a\n', 'other/config': 'other', 'other/sub/x': 'other' },
  })
  turn('plain')
})
afterEach(() => booted[Symbol.asyncDispose]())

const at = (path: string) => join(booted.root, path)
const content = (path: string) => readFileSync(at(path), 'utf8')
/** Turns the link of a folder and the link of a file. */
const turn = (folder: string) => {
  for (const [name, target] of [['d', folder], ['f', `${folder}/config`]] as const) {
    symlinkSync(target, at(`${name}.new`))
    renameSync(at(`${name}.new`), at(name))
  }
}
/** A call whose link is turned while it is being asked about. */
const turned = (tool: string, input: object, to = '.git') =>
  booted.call(tool, input, { approve: () => (turn(to), true) })
const stale = { ok: false, error: { code: 'VT_FILE_STALE' } }
const patch = (body: string) => ({ input: `*** Begin Patch\n${body}\n*** End Patch\n` })

const writes: [string, string, object][] = [
  ['a write through a link of a folder', 'unified_file', { action: 'write', path: 'd/config', content: 'x', overwrite: true }],
  ['a write through a link of a file', 'unified_file', { action: 'write', path: 'f', content: 'x', overwrite: true }],
  ['a new file', 'unified_file', { action: 'write', path: 'd/new', content: 'x' }],
  ['a new file in new folders', 'unified_file', { action: 'write', path: 'd/n/e/w', content: 'x' }],
  ['an edit', 'unified_file', { action: 'edit', path: 'd/sub/x', old_str: 'plain', new_str: 'x' }],
  ['a deletion', 'unified_file', { action: 'delete', path: 'd/config' }],
  ['the deletion of a folder', 'unified_file', { action: 'delete', path: 'd/sub', recursive: true }],
  ['the source of a move', 'unified_file', { action: 'move', path: 'd/config', destination: 'b.txt' }],
  ['the destination of a move', 'unified_file', { action: 'move', path: 'a.txt', destination: 'd/hooks' }],
  ['the destination of a copy', 'unified_file', { action: 'copy', path: 'plain/sub', destination: 'd/hooks', recursive: true }],
  ['the source of a copy', 'unified_file', { action: 'copy', path: 'd/sub', destination: 'b', recursive: true }],
  ['a patch that changes a file', 'apply_patch', patch('*** Update File: d/sub/x\n@@\n-plain\n+x')],
  ['a patch that makes a file', 'apply_patch', patch('*** Add File: d/n/hook\n+x')],
  ['a patch that moves a file', 'apply_patch', patch('*** Update File: a.txt\n*** Move to: d/hook\n@@\n-a\n+b')],
  ['a unified diff', 'apply_patch', { input: '--- a/d/sub/x\n+++ b/d/sub/x\n@@ -1 +1 @@\n-plain\n\\ No newline at end of file\n+x\n' }],
]

describe('a link that is turned after the call was judged', () => {
  it.each(writes)('ends %s, and neither place is changed', async (_, tool, input) => {
    for (const to of ['.git', 'other']) {
      turn('plain')
      expect(await turned(tool, input, to)).toMatchObject(stale)
      expect([content('plain/config'), content('plain/sub/x'), content('.git/config'), content('.git/sub/x'), content('other/config'), content('other/sub/x'), content('a.txt')])
        .toEqual(['plain', 'plain', 'sealed', 'sealed', 'other', 'other', 'a\n'])
      for (const folder of ['.git', 'other', 'plain']) for (const name of ['new', 'n', 'hooks', 'hook']) expect(existsSync(at(`${folder}/${name}`))).toBe(false)
      expect([existsSync(at('b')), existsSync(at('b.txt'))]).toEqual([false, false])
    }
  })
  it('ends the deletion of the link itself', async () => {
    expect(await turned('unified_file', { action: 'delete', path: 'f' })).toMatchObject(stale)
    expect([readlinkSync(at('f')), content('.git/config'), content('plain/config')]).toEqual(['.git/config', 'sealed', 'plain'])
  })
  it('ends a read, of a file and below a folder', async () => {
    await using reading = await bootKernel({ mode: 'ask', files: { 'plain/x': 'plain', 'secret/x': 'SECRET' }, config: { policy: { ask: ['Read(**)'], deny: ['Read(secret/**)'] } } })
    const flip = (to: string) => {
      rmSync(join(reading.root, 'd'), { force: true })
      symlinkSync(to, join(reading.root, 'd'))
    }
    for (const [tool, input] of [['unified_file', { action: 'read', path: 'd/x' }], ['unified_search', { action: 'list', path: 'd' }], ['unified_search', { action: 'grep', path: 'd', pattern: 'S' }]] as const) {
      flip('plain')
      expect(await reading.call(tool, input, { approve: () => (flip('secret'), true) })).toMatchObject(stale)
    }
  })
  it('leads a folder that became a link nowhere', async () => {
    const result = await booted.call('unified_file', { action: 'write', path: 'plain/sub/y', content: 'x' }, {
      approve: () => {
        renameSync(at('plain/sub'), at('plain/was'))
        symlinkSync('../.git/sub', at('plain/sub'))
        return true
      },
    })
    expect(result).toMatchObject(stale)
    expect(existsSync(at('.git/sub/y'))).toBe(false)
  })
})

describe('a link that is not turned', () => {
  it.each(writes)('still serves %s', async (_, tool, input) => {
    expect(await booted.call(tool, input, { approve: () => true })).toMatchObject({ ok: true })
  })
  it('is judged by the name of its own place, too: a link in git is not deleted by another way to it', async () => {
    turn('.git')
    rmSync(at('.git/config'))
    symlinkSync('../plain/config', at('.git/config'))
    for (const input of [{ action: 'delete', path: 'd/config' }, { action: 'move', path: 'd/config', destination: 'm' }]) {
      expect(await booted.call('unified_file', input, { approve: () => true })).toMatchObject({ ok: false, error: { code: 'VT_POLICY_DENIED' } })
    }
    expect(readlinkSync(at('.git/config'))).toBe('../plain/config')
  })
})

describe('a patch', () => {
  it('changes no file whose header policies read as another one', async () => {
    const result = await booted.call('apply_patch', patch('*** Add File: a\u2028b\n+x'), { approve: () => true })
    expect(result).toMatchObject({ ok: false, error: { code: 'VT_PATCH_SYNTAX' } })
    expect(existsSync(at('a\u2028b'))).toBe(false)
  })
})

describe('the root of a workspace', () => {
  it.each(['another folder', 'a link', 'nothing'])('is not followed when %s has its name', async (what) => {
    const away = `${booted.root}-away`
    renameSync(booted.root, away)
    try {
      if (what === 'another folder') mkdirSync(booted.root)
      if (what === 'a link') symlinkSync(away, booted.root)
      expect(await booted.call('unified_file', { action: 'write', path: 'new', content: 'x' }, { approve: () => true })).toMatchObject(stale)
      expect([existsSync(join(away, 'new')), existsSync(at('new'))]).toEqual([false, false])
    } finally {
      rmSync(booted.root, { recursive: true, force: true })
      renameSync(away, booted.root)
    }
    expect(await booted.call('unified_file', { action: 'read', path: 'a.txt' })).toMatchObject({ ok: true })
  })
})

describe('a journal that came with a repository', () => {
  it('replaces nothing, stops no write, and is named once', async () => {
    const hash = (text: string) => createHash('sha256').update(text).digest('hex')
    const home = '.vtcode/journal/2147483646-0badc0de'
    await booted.write(`${home}/plan.json`, JSON.stringify([{ path: '.husky/pre-commit', before: null, after: hash('evil'), mode: 0o755, staged: `${home}/0` }]))
    await booted.write(`${home}/0`, 'evil')
    await booted.write(`${home}/commit`, '')
    const again = await booted.kernel.elsewhere(booted.root)
    try {
      expect(again.diagnostics()).toMatchObject([{ code: 'VT_STATE_FOREIGN', severity: 'warning', message: expect.stringContaining(home) }])
      expect(await again.call('unified_file', { action: 'write', path: 'fresh', content: 'x' }, { approve: () => true })).toMatchObject({ ok: true })
      expect([existsSync(at('.husky')), existsSync(at(home))]).toEqual([false, false])
    } finally {
      await again.close()
    }
    const third = await booted.kernel.elsewhere(booted.root)
    expect(third.diagnostics()).toEqual([])
    await third.close()
  })
})

describe('links that are turned all the time', () => {
  it('lead no call into git', async () => {
    const seconds = Number(process.env['VTCODE_RACE_SECS'] ?? 2)
    const flipper = `
      import { symlinkSync, renameSync } from 'node:fs'
      for (let n = 0; ; n++) for (const [name, rest] of [['d', ''], ['f', '/config']]) {
        symlinkSync((n % 2 ? '.git' : 'plain') + rest, name + '.new')
        renameSync(name + '.new', name)
      }`
    writeFileSync(join(booted.home, 'flip.mjs'), flipper)
    const child = spawn(process.execPath, [join(booted.home, 'flip.mjs')], { cwd: booted.root, stdio: 'ignore' })
    try {
      await expect.poll(() => readlinkSync(at('d')), { timeout: 10_000 }).toBe('.git')
      const codes = new Map<string, number>()
      let count = 0
      for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
        for (const path of ['d/config', 'f', 'd/planted']) {
          const result = await booted.call('unified_file', { action: 'write', path, content: `${count++}`, overwrite: true }, { approve: () => true, session: `s${count % 50}` })
          const code = result.ok ? 'ok' : result.error.code
          codes.set(code, (codes.get(code) ?? 0) + 1)
        }
      }
      if (process.env['VTCODE_RACE_SECS']) console.log(codes)
      expect(content('.git/config')).toBe('sealed')
      expect(existsSync(at('.git/planted'))).toBe(false)
      expect(codes.get('VT_POLICY_DENIED')).toBeGreaterThan(0)
    } finally {
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('close', resolve))
    }
    expect(lstatSync(at('d')).isSymbolicLink()).toBe(true)
  }, 90_000)
})
