import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const guard = (more = '') =>
  `import json, sys\nsys.path.insert(0, __import__('os').environ['CLAUDE_PLUGIN_ROOT'])\nimport words\n${more}\ncall = json.load(sys.stdin)\nif words.bad in json.dumps(call):\n    print('refused', file=sys.stderr)\n    sys.exit(2)\n`
const plugin = (more = '') => ({
  'a.txt': 'a\n',
  'src/guard/.claude-plugin/plugin.json': '{ "name": "guard" }',
  'src/guard/hooks/hooks.json': JSON.stringify({
    hooks: {
      PreToolUse: [
        { matcher: 'Write', hooks: [{ type: 'command', command: 'python3 ${CLAUDE_PLUGIN_ROOT}/hooks/guard.py' }] },
      ],
    },
  }),
  'src/guard/hooks/guard.py': guard(more),
  'src/guard/words.py': "bad = 'forbidden'\n",
})
const root = (made: TempWorkspace) => join(made.home, '.vtcode/plugins/guard')
const write = async (made: TempWorkspace, content: string, path = 'w.txt') => {
  rmSync(join(made.root, path), { force: true })
  const { stdout, stderr } = await vtcode(made, [
    '--mode',
    'auto',
    'call',
    'unified_file',
    'write',
    '--path',
    path,
    '--content',
    content,
  ])
  const answer = JSON.parse(stdout) as { ok: boolean; error?: { code: string; message: string } }
  return { word: answer.ok ? 'run' : answer.error!.code, message: answer.error?.message ?? '', stderr }
}

describe('guard of an installed plugin', () => {
  it('guards again in a second run in Python and writes nothing next to itself', async () => {
    await using made = await tempWorkspace(plugin())
    await vtcode(made, ['plugins', 'add', 'src/guard', '--yes'])
    for (let round = 0; round < 2; round++) {
      expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_DENIED')
      expect((await write(made, 'fine')).word).toBe('run')
    }
    expect(existsSync(join(root(made), '__pycache__'))).toBe(false)
  })
  it('uses no compiled module next to the guard and reports a new module', async () => {
    await using made = await tempWorkspace(plugin())
    await vtcode(made, ['plugins', 'add', 'src/guard', '--yes'])
    // A compiled module with other code for exactly the existing source.
    const evil = join(made.home, 'evil')
    mkdirSync(evil)
    const script = `import os, py_compile, shutil\nshutil.copy2('${root(made)}/words.py', '${evil}/words.py')\nst = os.stat('${evil}/words.py')\nopen('${evil}/words.py', 'w').write("bad = 'harmless!'\\n")\nos.utime('${evil}/words.py', ns=(st.st_atime_ns, st.st_mtime_ns))\nos.makedirs('${root(made)}/__pycache__')\nimport importlib.util\npy_compile.compile('${evil}/words.py', cfile='${root(made)}/__pycache__/' + os.path.basename(importlib.util.cache_from_source('words.py')))`
    expect(spawnSync('python3', ['-c', script], { encoding: 'utf8' }).stderr).toBe('')
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_DENIED')
    writeFileSync(join(root(made), 'json.py'), 'raise SystemExit(0)\n')
    const asked = await write(made, 'forbidden')
    expect(asked).toMatchObject({
      word: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining('json.py is new'),
    })
  })
  it('leaves out a plugin that changed, asks about its calls, names its files and accepts a new consent', async () => {
    await using made = await tempWorkspace(plugin())
    await vtcode(made, ['plugins', 'add', 'src/guard', '--yes'])
    appendFileSync(join(root(made), 'words.py'), '# newer\n')
    const command = `vtcode plugins add --in-place ${root(made)}`
    const asked = await write(made, 'fine')
    expect(asked).toMatchObject({
      word: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining('words.py was changed'),
    })
    expect([asked.message, asked.stderr]).toEqual([expect.stringContaining(command), expect.stringContaining(command)])
    const read = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])
    expect(JSON.parse(read.stdout)).toMatchObject({ ok: true })
    for (const argv of [['doctor'], ['tools'], ['mcp'], ['exec', 'hello']]) {
      const { stdout, stderr } = await vtcode(made, argv, { stdin: '' })
      expect([argv[0], `${stdout}${stderr}`.split('words.py was changed').length - 1]).toEqual([argv[0], 1])
    }
    const again = await vtcode(made, ['plugins', 'add', '--in-place', root(made), '--yes'])
    expect(again.code).toBe(0)
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_DENIED')
    expect((await write(made, 'fine')).word).toBe('run')
  })
  it('asks about every call when hooks of the plugin were changed or removed', async () => {
    await using made = await tempWorkspace(plugin())
    await vtcode(made, ['plugins', 'add', 'src/guard', '--yes'])
    const hooks = join(root(made), 'hooks/hooks.json')
    const text = readFileSync(hooks, 'utf8')
    writeFileSync(hooks, text.replace('Write', 'Nothing'))
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_NEEDS_APPROVAL')
    rmSync(hooks)
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_NEEDS_APPROVAL')
    rmSync(root(made), { recursive: true })
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_NEEDS_APPROVAL')
    await vtcode(made, ['plugins', 'update', 'guard'])
    expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_DENIED')
  })
  it('asks about every call when one of two plugins with hooks is missing', async () => {
    await using made = await tempWorkspace({
      ...plugin(),
      'src/other/.claude-plugin/plugin.json': '{ "name": "other" }',
      'src/other/hooks/hooks.json': JSON.stringify({
        hooks: { PreToolUse: [{ matcher: 'Nothing', hooks: [{ type: 'command', command: 'true' }] }] },
      }),
    })
    for (const name of ['guard', 'other']) await vtcode(made, ['plugins', 'add', `src/${name}`, '--yes'])
    expect((await write(made, 'fine')).word).toBe('run')
    rmSync(root(made), { recursive: true })
    expect(await write(made, 'fine')).toMatchObject({
      word: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining('The lifecycle hooks of guard, which guard calls, are missing.'),
    })
  })
  it('reports a plugin that rewrites itself at every start each time', async () => {
    await using made = await tempWorkspace(
      plugin("open(os.environ['CLAUDE_PLUGIN_ROOT'] + '/runs', 'a').write('x')\n").valueOf() as Record<string, string>,
    )
    await made.write(
      'src/guard/hooks/guard.py',
      guard("import os\nopen(os.environ['CLAUDE_PLUGIN_ROOT'] + '/runs', 'a').write('x')"),
    )
    await vtcode(made, ['plugins', 'add', 'src/guard', '--yes'])
    for (let round = 0; round < 2; round++) {
      expect((await write(made, 'forbidden')).word).toBe('VT_POLICY_DENIED')
      for (let later = 0; later < 2; later++)
        expect(await write(made, 'forbidden')).toMatchObject({
          word: 'VT_POLICY_NEEDS_APPROVAL',
          message: expect.stringMatching(/runs (?:is new|was changed)/),
        })
      expect((await vtcode(made, ['plugins', 'add', '--in-place', root(made), '--yes'])).code).toBe(0)
    }
    expect(existsSync(join(root(made), 'runs'))).toBe(true)
  })
})
