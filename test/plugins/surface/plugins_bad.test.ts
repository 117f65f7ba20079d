import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const manifest = (more: object = {}): string => JSON.stringify({ name: 'bad', version: '1.0.0', ...more })
const skill = '---\nname: seas\ndescription: Knows seas.\n---\nDo it.\n'
const zip = (made: TempWorkspace, names: Record<string, string>): void =>
  void execFileSync(
    'python3',
    [
      '-c',
      `import zipfile, sys, json\nwith zipfile.ZipFile('bad.zip', 'w') as z:\n  for n, t in json.loads(sys.argv[1]).items(): z.writestr(n, t)`,
      JSON.stringify(names),
    ],
    { cwd: made.root },
  )

/** The preparation, the source to add, and the answer: refused with these words, or installed and reported. */
type Row = [
  what: string,
  prepare: (made: TempWorkspace) => Promise<void> | void,
  source: string,
  code: 0 | 1,
  says: RegExp,
]
it.each<Row>([
  [
    'with 30,000 files',
    (made) => {
      mkdirSync(join(made.root, 'bad/data'), { recursive: true })
      for (let n = 0; n < 30_000; n++) writeFileSync(join(made.root, 'bad/data', `${n}`), '')
      writeFileSync(join(made.root, 'bad/SKILL.md'), skill)
    },
    'bad',
    1,
    /20,?000/,
  ],
  [
    'with two manifests of one name',
    async (made) => {
      await made.write('bad/vtcode/one.yaml', 'name: same\ndescription: x\nrun: [echo]\n')
      await made.write('bad/vtcode/two.yaml', 'name: same\ndescription: y\nrun: [echo]\n')
    },
    'bad',
    1,
    /have the name 'same': vtcode\/one\.yaml and vtcode\/two\.yaml/,
  ],
  [
    'with a Windows path to its module',
    async (made) => {
      await made.write('bad/vtcode.yaml', 'name: bad\ndescription: x\neffects: []\nmodule: .\\src\\a.js\n')
      await made.write('bad/src/a.js', 'export default () => ({ ok: true, output: {} })\n')
    },
    'bad',
    1,
    /separate folders with \//,
  ],
  [
    'whose program has no executable bit',
    async (made) => {
      await made.write('bad/vtcode.yaml', 'name: bad\ndescription: x\nrun: [./tool.sh]\n')
      await made.write('bad/tool.sh', '#!/bin/sh\n')
    },
    'bad',
    0,
    /starts \["\.\/tool\.sh"\], which is not executable/,
  ],
  [
    'of two formats',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest())
      await made.write('bad/gemini-extension.json', manifest({ name: 'other' }))
      await made.write('bad/skills/seas/SKILL.md', skill)
    },
    'bad',
    0,
    /gemini-extension\.json/,
  ],
  [
    'with Windows paths in its archive',
    (made) => zip(made, { '.claude-plugin\\plugin.json': manifest(), 'skills\\seas\\SKILL.md': skill }),
    'bad.zip',
    1,
    /not a relative path/,
  ],
  ['with a drive in its archive', (made) => zip(made, { 'C:/x/SKILL.md': skill }), 'bad.zip', 1, /not a relative path/],
  [
    'with Windows paths in its manifest',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest({ skills: '.\\more', commands: ['..\\..\\x.md'] }))
      await made.write('bad/skills/seas/SKILL.md', skill)
    },
    'bad',
    0,
    /bad/,
  ],
  [
    'whose name is a path',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest({ name: '../../evil' }))
      await made.write('bad/skills/seas/SKILL.md', skill)
    },
    'bad',
    0,
    /The plugin calls itself '..\/..\/evil', which is no valid plugin name\. Its name here is bad\.\n/,
  ],
  [
    'whose name is one of ours',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest({ name: 'builtin' }))
      await made.write('bad/skills/seas/SKILL.md', skill)
    },
    'bad',
    1,
    /'builtin' is no valid plugin name/,
  ],
  [
    'with scripts for npm',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest())
      await made.write(
        'bad/package.json',
        JSON.stringify({
          name: 'bad',
          scripts: {
            preinstall: 'touch ../evil',
            install: 'touch ../evil',
            postinstall: 'touch ../evil',
            prepare: 'touch ../evil',
          },
        }),
      )
      await made.write('bad/skills/seas/SKILL.md', skill)
    },
    'bad',
    0,
    /runs nothing/,
  ],
  [
    'whose hook has no executable bit',
    async (made) => {
      await made.write('bad/.claude-plugin/plugin.json', manifest())
      await made.write(
        'bad/hooks/hooks.json',
        JSON.stringify({
          hooks: {
            PreToolUse: [{ matcher: 'Read', hooks: [{ type: 'command', command: '${CLAUDE_PLUGIN_ROOT}/guard.sh' }] }],
          },
        }),
      )
      await made.write('bad/guard.sh', '#!/bin/sh\nexit 2\n')
    },
    'bad',
    0,
    /guard\.sh/,
  ],
])('refuses or reports a package %s, and leaves nothing half installed', async (_, prepare, source, code, says) => {
  await using made = await tempWorkspace({ 'a.txt': 'one\n' })
  await prepare(made)
  const ran = await vtcode(made, ['plugins', 'add', source, '--yes'])
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(says)])
  expect(readdirSync(join(made.home, '.vtcode/plugins'))).toEqual(code === 0 ? ['bad'] : [])
  expect(existsSync(join(made.home, '.vtcode/plugins.lock.json'))).toBe(code === 0)
  expect(['evil', '../evil', '../../evil'].filter((name) => existsSync(join(made.root, name)))).toEqual([])
  if (/hook/.test(_)) {
    const read = JSON.parse((await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])).stdout) as {
      ok: boolean
      error?: { code: string }
      notices?: { code: string; message: string }[]
    }
    // A guard that cannot be started has not agreed: the calls that it covers report that.
    expect(JSON.stringify(read)).toMatch(/VT_HOOK_FAILED|exit code 126|VT_POLICY_NEEDS_APPROVAL/)
  }
})

it('refuses an archive with a wrong hash, and installs it with the right one', async () => {
  await using made = await tempWorkspace({ 'bad/SKILL.md': skill })
  execFileSync('tar', ['-czf', 'bad.tgz', 'bad'], { cwd: made.root })
  const hash = createHash('sha256')
    .update(execFileSync('cat', ['bad.tgz'], { cwd: made.root }))
    .digest('hex')
  expect(
    await vtcode(made, [
      'plugins',
      'add',
      'bad.tgz',
      '--yes',
      '--sha256',
      hash.replace(/^./, (one) => (one === '0' ? '1' : '0')),
    ]),
  ).toMatchObject({ code: 1, stderr: expect.stringContaining('the archive has the hash') })
  expect(readdirSync(join(made.home, '.vtcode/plugins'))).toEqual([])
  expect(await vtcode(made, ['plugins', 'add', 'bad.tgz', '--yes', '--sha256', hash])).toMatchObject({ code: 0 })
})
