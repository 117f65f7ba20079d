import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Files } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const FILES: Files = {
  'secret/key.txt': 'TOKEN-1\n',
  'src/a.ts': 'TOKEN-2\n',
  'src/deep/b.pem': 'TOKEN-3\n',
  'build/out.txt': 'TOKEN-4\n',
  'build/keep.txt': 'TOKEN-5\n',
}
const IGNORED = '# Secrets\nsecret/\n*.pem\r\nbuild/*\n!build/keep.txt\n'
const names = ['.aiignore', '.aiexclude', '.clineignore', '.codeiumignore', '.cursorignore', '.geminiignore']

describe('ignore files of other programs', () => {
  it.each(names)('hides the paths that %s lists from every tool', async (name) => {
    await using vt = await bootKernel({ mode: 'full-auto', files: { ...FILES, [name]: IGNORED } })
    const codes = async (path: string) => {
      const calls = [
        vt.call('unified_file', { action: 'read', path }),
        vt.call('unified_exec', { action: 'run', command: `cat ${path}` }),
        vt.call('unified_exec', { action: 'run', command: `cat < ./${path}` }),
        vt.call('unified_search', { action: 'grep', pattern: 'TOKEN', path }),
      ]
      return (await Promise.all(calls)).map((result) => (result.ok ? 'ok' : result.error.code))
    }
    for (const path of ['secret/key.txt', 'src/deep/b.pem', 'build/out.txt'])
      expect([path, new Set(await codes(path))]).toEqual([path, new Set(['VT_POLICY_DENIED'])])
    for (const path of ['src/a.ts', 'build/keep.txt'])
      expect([path, (await vt.call('unified_file', { action: 'read', path })).ok]).toEqual([path, true])
    const found = JSON.stringify([
      await vt.call('unified_search', {
        action: 'grep',
        pattern: 'TOKEN',
        include_hidden: true,
        include_ignored: true,
      }),
      await vt.call('unified_search', { action: 'list', mode: 'recursive', include_hidden: true }),
    ])
    expect([...new Set(found.match(/TOKEN-\d/g))].sort()).toEqual(['TOKEN-2', 'TOKEN-5'])
    expect(found).not.toMatch(/key\.txt|b\.pem|out\.txt/)
  })

  it('names the file whose line hides a path', async () => {
    await using vt = await bootKernel({ files: { ...FILES, '.cursorignore': '# Mine\nsecret\n' } })
    expect(await vt.call('unified_file', { action: 'read', path: 'secret/key.txt' })).toMatchObject({
      error: {
        message: '.cursorignore lists the path.',
        hint: expect.stringContaining('the user changes line 2 of .cursorignore'),
      },
    })
  })

  it('includes only the named paths where everything else is ignored', async () => {
    const text = '*\n!src/\n!src/**\n'
    await using vt = await bootKernel({ files: { ...FILES, '.aiignore': text } })
    expect((await vt.call('unified_file', { action: 'read', path: 'src/a.ts' })).ok).toBe(true)
    expect((await vt.call('unified_file', { action: 'read', path: 'build/keep.txt' })).ok).toBe(false)
  })

  it('includes nothing below an ignored folder, as git does', async () => {
    await using vt = await bootKernel({ files: { ...FILES, '.aiignore': 'build/\n!build/keep.txt\n' } })
    expect((await vt.call('unified_file', { action: 'read', path: 'build/keep.txt' })).ok).toBe(false)
  })

  it('reads lines of very many blanks in little time, and keeps an escaped blank', async () => {
    const blanks = ' '.repeat(100_000)
    const text = `secret${blanks}\n${blanks}x\nbuild${blanks}\n${`gone${blanks}x\n`.repeat(2)}odd\\ ${blanks}\n`
    await using vt = await bootKernel({ files: { ...FILES, 'odd ': 'TOKEN', odd: 'open', '.cursorignore': text } })
    const read = async (path: string) => (await vt.call('unified_file', { action: 'read', path })).ok
    expect([await read('secret/key.txt'), await read('build/out.txt'), await read('odd '), await read('odd')]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })

  it('applies a first line after a byte order mark', async () => {
    await using vt = await bootKernel({ files: { ...FILES, '.cursorignore': '\ufeffsecret/\n' } })
    expect((await vt.call('unified_file', { action: 'read', path: 'secret/key.txt' })).ok).toBe(false)
  })

  it('reports each line that does not count', async () => {
    const many = Array.from({ length: 5_001 }, (_, index) => `# ${index}\nname${index}\n`).join('')
    const text = `src[[:alpha:]]\n${'a'.repeat(4_097)}\n${many}`
    await using vt = await bootKernel({ files: { ...FILES, '.cursorignore': text } })
    expect(vt.kernel.diagnostics().filter(({ code }) => code === 'VT_POLICY_UNUSED')).toMatchObject([
      {
        severity: 'warning',
        message: expect.stringMatching(/line 1, which has a class.*line 2, which is longer.*line 10002, which comes/),
      },
    ])
  })

  it('joins the rules of several files', async () => {
    const files = { ...FILES, '.aiignore': 'secret\n', '.geminiignore': '*.pem\n' }
    await using vt = await bootKernel({ files })
    for (const path of ['secret/key.txt', 'src/deep/b.pem'])
      expect((await vt.call('unified_file', { action: 'read', path })).ok).toBe(false)
  })

  it('ignores a file of comments only and a folder of that name', async () => {
    await using vt = await bootKernel({ files: { ...FILES, '.aiignore': '# none\n\n', '.cursorignore/x': 'secret' } })
    expect(vt.kernel.settings.policy.deny).toEqual([])
  })

  it('refuses to start with an ignore file that cannot be read', async () => {
    await using large = await tempWorkspace({ '.aiignore': '#'.repeat(1_100_000) })
    await using linked = await tempWorkspace({ '../home/list': 'a' })
    symlinkSync(join(linked.home, 'list'), join(linked.root, '.cursorignore'))
    for (const [made, name] of [
      [large, '.aiignore'],
      [linked, '.cursorignore'],
    ] as const) {
      const { code, stdout, stderr } = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])
      expect([code, stdout + stderr]).toEqual([
        3,
        expect.stringMatching(new RegExp(`VT_CONFIG_INVALID.*${name}|${name}`)),
      ])
    }
  })
})

describe('settings of Claude Code', () => {
  const settings = (permissions: object, more: object = {}) => JSON.stringify({ permissions, ...more })

  it('applies the rules of a repository that deny and ask, and reports once what is not used', async () => {
    const files = {
      ...FILES,
      '.claude/settings.json': settings(
        { allow: ['Bash(npm test)'], deny: ['Read(./secret/**)', 'nonsense(', 7], ask: ['Read(src/a.ts)'] },
        { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'touch ran' }] }] } },
      ),
      '.claude/settings.local.json': settings({ deny: ['Read(build/**)'] }),
    }
    await using vt = await bootKernel({ mode: 'auto', files })
    const read = async (path: string) => {
      const result = await vt.call('unified_file', { action: 'read', path })
      return result.ok ? 'ok' : result.error.code
    }
    expect(await read('secret/key.txt')).toBe('VT_POLICY_DENIED')
    expect(await read('build/out.txt')).toBe('VT_POLICY_DENIED')
    expect(await read('src/a.ts')).toBe('VT_POLICY_NEEDS_APPROVAL')
    const unused = vt.kernel.diagnostics().filter(({ code }) => code === 'VT_POLICY_UNUSED')
    expect(unused).toEqual([
      expect.objectContaining({
        message: expect.stringContaining("'permissions.allow, hooks' in "),
        severity: 'info',
        hint: expect.stringContaining('dialect: claude'),
      }),
      expect.objectContaining({
        message: expect.stringMatching(/permissions\.deny\[1\], which is no rule.*permissions\.deny\[2\], which/),
        severity: 'warning',
      }),
    ])
  })

  it.each([
    ['a list that is none', { deny: 'Read(.env)' }, 'permissions.deny, which is no list'],
    ['a blank before the bracket', { deny: ['Read (.env)'] }, 'permissions.deny[0], which is no rule'],
    ['a long rule', { ask: [`Read(${'a'.repeat(500)})`] }, 'permissions.ask[0], which is no rule of at most 500'],
    ['a rule too many', { deny: Array.from({ length: 501 }, (_, n) => `Read(${n})`) }, '[500], which comes after 500'],
  ])('reports %s', async (_, permissions, message) => {
    await using vt = await bootKernel({ files: { '.claude/settings.json': settings(permissions) } })
    expect(vt.kernel.diagnostics().filter(({ code }) => code === 'VT_POLICY_UNUSED')).toMatchObject([
      { severity: 'warning', message: expect.stringContaining(message) },
    ])
  })

  it("applies the rules of the user's own settings too", async () => {
    await using made = await tempWorkspace(FILES)
    mkdirSync(join(made.home, '.claude'), { recursive: true })
    writeFileSync(join(made.home, '.claude/settings.json'), settings({ deny: ['Read(secret/**)'], allow: ['Bash'] }))
    const { stdout } = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'secret/key.txt'])
    expect(stdout).toContain('VT_POLICY_DENIED')
    expect((await vtcode(made, ['doctor'])).stdout).toContain("'permissions.allow' in ")
  })

  it('grants nothing, whatever a repository allows', async () => {
    const files = { '.claude/settings.json': settings({ allow: ['Bash', 'Edit'], defaultMode: 'bypassPermissions' }) }
    await using vt = await bootKernel({ mode: 'ask', files })
    expect(vt.kernel.settings.policy.allow).toEqual([])
    expect(await vt.call('unified_file', { action: 'write', path: 'a', content: 'x' })).toMatchObject({ ok: false })
  })

  it('reports settings that are no JSON and starts without them', async () => {
    await using vt = await bootKernel({ files: { ...FILES, '.claude/settings.json': '{ broken' } })
    expect(vt.kernel.diagnostics().filter(({ code }) => code === 'VT_POLICY_UNUSED')).toMatchObject([
      { severity: 'warning' },
    ])
  })
})

describe('settings in package.json', () => {
  const deny = { vtcode: { policy: { deny: ['Read(secret/**)'] } } }
  const read = ['call', 'unified_file', 'read', '--path', 'secret/key.txt']

  it('applies them after a byte order mark', async () => {
    await using made = await tempWorkspace({ ...FILES, 'package.json': `\ufeff${JSON.stringify(deny)}` })
    expect((await vtcode(made, read)).stdout).toContain('VT_POLICY_DENIED')
  })

  it('stops the start if the file is too large for them, and only then', async () => {
    const filler = { filler: 'vtcode'.repeat(50_000) }
    await using large = await tempWorkspace({ ...FILES, 'package.json': JSON.stringify({ ...deny, ...filler }) })
    const { code, stdout, stderr } = await vtcode(large, read)
    expect([code, stdout + stderr]).toEqual([3, expect.stringMatching(/package\.json is larger than 256 KiB/)])
    await using plain = await tempWorkspace({ ...FILES, 'package.json': JSON.stringify(filler) })
    expect((await vtcode(plain, read)).code).toBe(0)
  })
})

it('names a settings file that is a link to nothing', async () => {
  await using made = await tempWorkspace(FILES)
  symlinkSync('missing', join(made.root, '.vtcoderc'))
  const { code, stdout, stderr } = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'src/a.ts'])
  expect([code, stdout + stderr]).toEqual([3, expect.stringContaining('.vtcoderc is a link to no file')])
  expect(stdout + stderr).not.toMatch(/ENOENT|realpath/)
})
