import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { lacks } from '../../support/exec.js'

// The checked path is the used path, although a link changes between question and answer or all the time.

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel({
    mode: 'ask',
    files: {
      'plain/config': 'plain',
      'plain/sub/x': 'plain',
      '.git/config': 'sealed',
      '.git/sub/x': 'sealed',
      'a.txt': 'a\n',
      'other/config': 'other',
      'other/sub/x': 'other',
    },
  })
  turn('plain')
})
afterEach(() => booted[Symbol.asyncDispose]())

const at = (path: string) => join(booted.root, path)
const content = (path: string) => readFileSync(at(path), 'utf8')
/** Points the link of a folder and the link of a file to `to`. */
const turn = (folder: string) => {
  for (const [name, target] of [
    ['d', folder],
    ['f', `${folder}/config`],
  ] as const) {
    symlinkSync(target, at(`${name}.new`))
    renameSync(at(`${name}.new`), at(name))
  }
}
/** Makes a call whose links change during its approval question. */
const turned = (tool: string, input: object, to = '.git') =>
  booted.call(tool, input, { approve: () => (turn(to), true) })
const stale = { ok: false, error: { code: 'VT_FILE_STALE' } }
const patch = (body: string) => ({ input: `*** Begin Patch\n${body}\n*** End Patch\n` })

const writes: [string, string, object][] = [
  [
    'a write through a link of a folder',
    'unified_file',
    { action: 'write', path: 'd/config', content: 'x', overwrite: true },
  ],
  ['a write through a link of a file', 'unified_file', { action: 'write', path: 'f', content: 'x', overwrite: true }],
  ['a new file', 'unified_file', { action: 'write', path: 'd/new', content: 'x' }],
  ['a new file in new folders', 'unified_file', { action: 'write', path: 'd/n/e/w', content: 'x' }],
  ['an edit', 'unified_file', { action: 'edit', path: 'd/sub/x', old_str: 'plain', new_str: 'x' }],
  ['a deletion', 'unified_file', { action: 'delete', path: 'd/config' }],
  ['the deletion of a folder', 'unified_file', { action: 'delete', path: 'd/sub', recursive: true }],
  ['the source of a move', 'unified_file', { action: 'move', path: 'd/config', destination: 'b.txt' }],
  ['the destination of a move', 'unified_file', { action: 'move', path: 'a.txt', destination: 'd/hooks' }],
  [
    'the destination of a copy',
    'unified_file',
    { action: 'copy', path: 'plain/sub', destination: 'd/hooks', recursive: true },
  ],
  ['the source of a copy', 'unified_file', { action: 'copy', path: 'd/sub', destination: 'b', recursive: true }],
  ['a patch that changes a file', 'apply_patch', patch('*** Update File: d/sub/x\n@@\n-plain\n+x')],
  ['a patch that makes a file', 'apply_patch', patch('*** Add File: d/n/hook\n+x')],
  ['a patch that moves a file', 'apply_patch', patch('*** Update File: a.txt\n*** Move to: d/hook\n@@\n-a\n+b')],
  [
    'a unified diff',
    'apply_patch',
    { input: '--- a/d/sub/x\n+++ b/d/sub/x\n@@ -1 +1 @@\n-plain\n\\ No newline at end of file\n+x\n' },
  ],
]

describe('unified_file: link that changes after the check', () => {
  it.each(writes)('ends %s and changes neither target', async (_, tool, input) => {
    for (const to of ['.git', 'other']) {
      turn('plain')
      expect(await turned(tool, input, to)).toMatchObject(stale)
      expect([
        content('plain/config'),
        content('plain/sub/x'),
        content('.git/config'),
        content('.git/sub/x'),
        content('other/config'),
        content('other/sub/x'),
        content('a.txt'),
      ]).toEqual(['plain', 'plain', 'sealed', 'sealed', 'other', 'other', 'a\n'])
      for (const folder of ['.git', 'other', 'plain'])
        for (const name of ['new', 'n', 'hooks', 'hook']) expect(existsSync(at(`${folder}/${name}`))).toBe(false)
      expect([existsSync(at('b')), existsSync(at('b.txt'))]).toEqual([false, false])
    }
  })
  it('ends the deletion of a link that changes after the check', async () => {
    expect(await turned('unified_file', { action: 'delete', path: 'f' })).toMatchObject(stale)
    expect([readlinkSync(at('f')), content('.git/config'), content('plain/config')]).toEqual([
      '.git/config',
      'sealed',
      'plain',
    ])
  })
  it('ends a read, list or search whose link changes after the check', async () => {
    await using reading = await bootKernel({
      mode: 'ask',
      files: { 'plain/x': 'plain', 'secret/x': 'SECRET' },
      config: { policy: { ask: ['Read(**)'], deny: ['Read(secret/**)'] } },
    })
    const flip = (to: string) => {
      rmSync(join(reading.root, 'd'), { force: true })
      symlinkSync(to, join(reading.root, 'd'))
    }
    for (const [tool, input] of [
      ['unified_file', { action: 'read', path: 'd/x' }],
      ['unified_search', { action: 'list', path: 'd' }],
      ['unified_search', { action: 'grep', path: 'd', pattern: 'S' }],
    ] as const) {
      flip('plain')
      expect(await reading.call(tool, input, { approve: () => (flip('secret'), true) })).toMatchObject(stale)
    }
  })
  it('writes nothing through a folder that becomes a link after the check', async () => {
    const result = await booted.call(
      'unified_file',
      { action: 'write', path: 'plain/sub/y', content: 'x' },
      {
        approve: () => {
          renameSync(at('plain/sub'), at('plain/was'))
          symlinkSync('../.git/sub', at('plain/sub'))
          return true
        },
      },
    )
    expect(result).toMatchObject(stale)
    expect(existsSync(at('.git/sub/y'))).toBe(false)
  })
})

describe('unified_file: stable link', () => {
  it.each(writes)('serves %s through a link', async (_, tool, input) => {
    expect(await booted.call(tool, input, { approve: () => true })).toMatchObject({ ok: true })
  })
  it('checks the path of a link itself too: refuses to delete or move a link in .git by another path', async () => {
    turn('.git')
    rmSync(at('.git/config'))
    symlinkSync('../plain/config', at('.git/config'))
    for (const input of [
      { action: 'delete', path: 'd/config' },
      { action: 'move', path: 'd/config', destination: 'm' },
    ]) {
      expect(await booted.call('unified_file', input, { approve: () => true })).toMatchObject({
        ok: false,
        error: { code: 'VT_POLICY_DENIED' },
      })
    }
    expect(readlinkSync(at('.git/config'))).toBe('../plain/config')
  })
})

it('keeps a tool that opens undeclared paths out of .git and .vtcode through links', async () => {
  await using plugin = await tempWorkspace({
    'planter.yaml':
      'name: planter\neffects: [write]\ndescription: A test.\nmodule: ./planter.js\ninput: { properties: { n: { type: number } } }\n',
    'planter.js': `import { ok } from 'vtcode'
      const tried = async (act) => act().then(() => 'done', (error) => error.code)
      export default async (_, { workspace }) => ok({ codes: [
        await tried(() => workspace.write('d/config', Buffer.from('x'), 'anything')), await tried(() => workspace.write('d/new', Buffer.from('x'), 'nothing')), await tried(() => workspace.remove('d/sub', { recursive: true })),
        await tried(() => workspace.rename('a.txt', 'd/hook')), await tried(() => workspace.copy('other', 'd/hooks')), await tried(() => workspace.read('d/config')), await tried(() => workspace.write('own/x', Buffer.from('x'), 'nothing')) ] })`,
  })
  await using made = await bootKernel({
    mode: 'auto',
    manifests: [plugin.root],
    files: {
      '.git/config': 'sealed',
      '.git/sub/x': 'sealed',
      '.vtcode/tool-policy.json': '{}',
      'a.txt': 'a',
      'other/x': 'x',
    },
  })
  for (const target of ['.git', '.vtcode']) {
    symlinkSync(target, join(made.root, 'd'))
    expect(await made.call('planter', {}, { approve: () => true })).toMatchObject({
      ok: true,
      output: { codes: Array(7).fill('VT_FILE_STALE').with(6, 'done') },
    })
    rmSync(join(made.root, 'd'))
    rmSync(join(made.root, 'own'), { recursive: true })
  }
  expect([
    readdirSync(join(made.root, '.git')).sort(),
    readFileSync(join(made.root, '.git/config'), 'utf8'),
    existsSync(join(made.root, '.vtcode/new')),
  ]).toEqual([['config', 'sub'], 'sealed', false])
})

describe('apply_patch: header of a patch', () => {
  it('refuses a header that policies would read as another file name', async () => {
    const result = await booted.call('apply_patch', patch('*** Add File: a\u2028b\n+x'), { approve: () => true })
    expect(result).toMatchObject({ ok: false, error: { code: 'VT_PATCH_SYNTAX' } })
    expect(existsSync(at('a\u2028b'))).toBe(false)
  })
})

describe('unified_file: root of the workspace', () => {
  it.each(['another folder', 'a link', 'nothing'])(
    'refuses a write when %s has replaced the root of the workspace',
    async (what) => {
      const away = `${booted.root}-away`
      renameSync(booted.root, away)
      try {
        if (what === 'another folder') mkdirSync(booted.root)
        if (what === 'a link') symlinkSync(away, booted.root)
        expect(
          await booted.call('unified_file', { action: 'write', path: 'new', content: 'x' }, { approve: () => true }),
        ).toMatchObject(stale)
        expect([existsSync(join(away, 'new')), existsSync(at('new'))]).toEqual([false, false])
      } finally {
        rmSync(booted.root, { recursive: true, force: true })
        renameSync(away, booted.root)
      }
      expect(await booted.call('unified_file', { action: 'read', path: 'a.txt' })).toMatchObject({ ok: true })
    },
  )
})

describe('unified_file: journal from a repository', () => {
  it('replays no journal without a seal, allows further writes and names it once', async () => {
    const hash = (text: string) => createHash('sha256').update(text).digest('hex')
    const home = '.vtcode/journal/2147483646-0badc0de'
    await booted.write(
      `${home}/plan.json`,
      JSON.stringify([
        { path: '.husky/pre-commit', before: null, after: hash('evil'), mode: 0o755, staged: `${home}/0` },
      ]),
    )
    await booted.write(`${home}/0`, 'evil')
    await booted.write(`${home}/commit`, '')
    const again = await booted.kernel.inspection.openSibling(booted.root)
    try {
      expect(again.diagnostics()).toMatchObject([
        { code: 'VT_STATE_FOREIGN', severity: 'warning', message: expect.stringContaining(home) },
      ])
      expect(
        await again.call('unified_file', { action: 'write', path: 'fresh', content: 'x' }, { approve: () => true }),
      ).toMatchObject({ ok: true })
      expect([existsSync(at('.husky')), existsSync(at(home))]).toEqual([false, false])
    } finally {
      await again.close()
    }
    const third = await booted.kernel.inspection.openSibling(booted.root)
    expect(third.diagnostics()).toEqual([])
    await third.close()
  })
})

/**
 * Switches the target of a path all the time between a written folder and `.git`: a link of a folder, of a file, to a link,
 * and a folder that is a link every other time.
 */
const flipper = `
  import { symlinkSync, renameSync, unlinkSync } from 'node:fs'
  for (let n = 0; ; n++) {
    for (const [name, rest] of [['d', ''], ['f', '/config']]) {
      symlinkSync((n % 2 ? '.git' : 'plain') + rest, name + '.new')
      renameSync(name + '.new', name)
    }
    if (n % 2) renameSync('swap', 'away'), symlinkSync('.git', 'swap')
    else if (n) unlinkSync('swap'), renameSync('away', 'swap')
  }`
const inGit = { config: 'one', 'sub/x': 'one', gone: 'one', 'folder/y': 'one', moved: 'one' }
const race_s = Number(process.env['VTCODE_RACE_SECS'] ?? (process.env['VTCODE_SOAK'] ? 60 : 0.5))

/** Every way to change a file, by a path that leads into it. */
function changes(n: number): [tool: string, input: object][] {
  const [was, is] = n % 2 ? ['two', 'one'] : ['one', 'two']
  return ['d', 'g', 'swap']
    .flatMap((way): [string, object][] => [
      ['unified_file', { action: 'write', path: `${way}/config`, content: `${n}`, overwrite: true }],
      ['unified_file', { action: 'write', path: `${way}/new/planted`, content: `${n}`, overwrite: true }],
      ['unified_file', { action: 'edit', path: `${way}/sub/x`, old_str: was, new_str: is }],
      ['apply_patch', patch(`*** Update File: ${way}/sub/x\n@@\n-${was}\n+${is}`)],
      ['apply_patch', patch(`*** Add File: ${way}/patched${n}\n+x`)],
      ['apply_patch', patch(`*** Update File: a.txt\n*** Move to: ${way}/hook\n@@\n-a\n+a`)],
      ['unified_file', { action: 'delete', path: `${way}/gone` }],
      ['unified_file', { action: 'delete', path: `${way}/folder`, recursive: true }],
      ['unified_file', { action: 'move', path: `${way}/moved`, destination: `b${n}`, overwrite: true }],
      ['unified_file', { action: 'move', path: 'a.txt', destination: `${way}/hooks` }],
      ['unified_file', { action: 'copy', path: `${way}/sub`, destination: `c${n}`, recursive: true }],
      ['unified_file', { action: 'copy', path: 'other', destination: `${way}/hooks`, recursive: true }],
    ])
    .concat([
      ['unified_file', { action: 'write', path: 'f', content: `${n}`, overwrite: true }],
      ['unified_file', { action: 'edit', path: 'f', old_str: was, new_str: is }],
      ['unified_file', { action: 'delete', path: 'f' }],
      ['unified_file', { action: 'copy', path: 'a.txt', destination: 'f', overwrite: true }],
      ['unified_file', { action: 'copy', path: 'f', destination: `e${n}`, overwrite: true }],
    ])
}

const noSandbox = lacks('bwrap')
const flippers: Record<string, (racing: Booted) => Promise<() => Promise<unknown>>> = {
  'a program of the user': async (racing) => {
    const child = spawn(process.execPath, ['flip.mjs'], { cwd: racing.root, stdio: 'ignore' })
    const closed = new Promise((resolve) => child.once('close', resolve))
    return () => (child.kill('SIGKILL'), closed)
  },
  ...(!noSandbox && {
    'a command in the sandbox': async (racing) => {
      const started = await racing.call(
        'unified_exec',
        { action: 'run', command: ['node', 'flip.mjs'], background: true, response_format: 'detailed' },
        { approve: () => true, session: 'flips' },
      )
      expect(started).toMatchObject({ ok: true, output: { sandbox: 'bwrap', running: true } })
      const { session_id } = (started as { output: { session_id: string } }).output
      return () => racing.call('unified_exec', { action: 'close', session_id }, { session: 'flips' })
    },
  }),
}

describe(`unified_file: links that change all the time${noSandbox ? ' (SKIPPED in part: needs bwrap)' : ''}`, () => {
  it.each(Object.entries(flippers))(
    'keeps every call out of .git and shows none of it while a link is changed by %s',
    async (_, flip) => {
      const gitFiles = Object.fromEntries(
        Object.entries(inGit).map(([name, text]) => [`.git/${name}`, `${text} sealed`]),
      )
      await using racing = await bootKernel({
        mode: 'ask',
        config: { sandbox: { mode: noSandbox ? 'off' : 'required' }, policy: { deny: ['Read(.git/**)'] } } as Config,
        files: {
          'a.txt': 'a\n',
          'other/hook': 'x',
          'flip.mjs': flipper,
          'swap/sub/x': 'one',
          'plain/sub/x': 'one',
          'plain/config': 'one',
          ...gitFiles,
        },
      })
      const path = (name: string) => join(racing.root, name)
      for (const [name, target] of [
        ['d', 'plain'],
        ['f', 'plain/config'],
        ['g', 'd'],
      ] as const)
        symlinkSync(target, path(name))
      const sealed = () =>
        readdirSync(path('.git'), { recursive: true, withFileTypes: true })
          .flatMap((entry) =>
            entry.isFile()
              ? [`${entry.parentPath}/${entry.name}: ${readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')}`]
              : [],
          )
          .sort()
      const before = sealed()
      const stop = await flip(racing)
      const codes = new Map<string, number>()
      const again = () => {
        for (const [name, text] of Object.entries({ ...inGit, 'sub/x': undefined })) {
          if (text === undefined || existsSync(path(`plain/${name}`))) continue
          mkdirSync(dirname(path(`plain/${name}`)), { recursive: true })
          writeFileSync(path(`plain/${name}`), text)
        }
        for (const name of ['hook', 'hooks', 'new']) rmSync(path(`plain/${name}`), { recursive: true, force: true })
        writeFileSync(path('a.txt'), 'a\n')
      }
      try {
        await expect.poll(() => readlinkSync(path('d')), { interval: 1 }).toBe('.git')
        const end = Date.now() + race_s * 1000
        for (let n = 0; Date.now() < end || !codes.has('VT_POLICY_DENIED') || !codes.has('ok'); n++) {
          again()
          for (const [tool, input] of changes(n)) {
            const result = await racing.call(tool, input, { approve: () => true, session: `s${n % 50}` })
            const code = result.ok ? 'ok' : result.error.code
            codes.set(code, (codes.get(code) ?? 0) + 1)
            expect([tool, input, sealed()]).toEqual([tool, input, before])
          }
          for (const name of [`c${n}/x`, `b${n}`, `e${n}`])
            if (existsSync(path(name)) && lstatSync(path(name)).isFile())
              expect([name, readFileSync(path(name), 'utf8')]).toEqual([name, expect.not.stringContaining('sealed')])
        }
      } finally {
        await stop()
      }
      if (process.env['VTCODE_RACE_SECS']) console.log(codes)
      expect(codes.get('ok')).toBeGreaterThan(0)
    },
    race_s * 1000 + 240_000,
  )
})
