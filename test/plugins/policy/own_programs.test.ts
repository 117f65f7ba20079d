import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel, type Config, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lacks } from '../../support/exec.js'
import { hold } from '../../support/held.js'

// Programs and settings of the user lie in the workspace; each would run outside the sandbox.
const files = {
  'check.sh': 'exit 0\n',
  'bin/real.sh': 'exit 0\n',
  'tools/server.mjs': '',
  'tools/data.txt': '',
  'team.yaml': 'output: { max_text_bytes: 9000 }\n',
  'key.sh': 'echo key\n',
  'mine/vtcode/look.yaml': 'name: look\ndescription: Looks.\nrun: [ls]\ninput: { type: object }\n',
  'mine/lib/a.mjs': '',
  'notify.sh': '',
  'inner/hook.py': '',
  'a.txt': 'a\n',
}
const command = (text: string) => [{ hooks: [{ type: 'command', command: text }] }]
const settings = (root: string): Config =>
  ({
    hooks: {
      SessionEnd: [
        ...command('./check.sh --fast'),
        ...command('sh "$CLAUDE_PROJECT_DIR/later/made.sh"'),
        ...command('cd inner && python3 hook.py'),
      ],
    },
    mcp: {
      servers: {
        one: { command: 'node', args: ['server.mjs'], cwd: 'tools', enabled: false },
        two: { command: join(root, 'link.sh'), enabled: false },
      },
    },
    secrets: { 'x:y': { command: ['sh', './key.sh'] } },
    agent: { harness: { async_approval: { notify_command: ['./notify.sh'] } } },
    manifests: ['builtin', './mine'],
  }) as unknown as Config

async function open(place: TempWorkspace, more: Config = {}): Promise<Kernel> {
  const { root, home } = place
  return createKernel({
    workspace: root,
    home,
    mode: 'auto',
    // The first use of the sandbox tries it, which takes long on a busy machine.
    timeouts: { policy: 120_000 },
    config: [settings(root), { sandbox: { mode: 'off' }, ...more }, join(root, 'team.yaml')],
  })
}

describe('programs and settings of the user in the workspace', () => {
  let place: TempWorkspace
  let kernel: Kernel
  beforeAll(async () => {
    place = await tempWorkspace(files)
    symlinkSync('bin/real.sh', join(place.root, 'link.sh'))
    kernel = await open(place)
    expect(kernel.diagnostics().filter(({ severity }) => severity === 'error')).toEqual([])
  })
  afterAll(async () => {
    await kernel.close()
    await place[Symbol.asyncDispose]()
  })
  const verdict = async (tool: string, input: object, how: object = {}): Promise<string> =>
    (await kernel.explain(tool, input, how)).verdict
  const write = (path: string, how?: object): Promise<string> =>
    verdict('unified_file', { action: 'write', path, content: 'x' }, how)

  it.each([
    'check.sh',
    'link.sh',
    'bin/real.sh',
    'tools/server.mjs',
    'team.yaml',
    'key.sh',
    'notify.sh',
    'mine/vtcode/look.yaml',
    'mine/lib/a.mjs',
    'mine/lib/new.mjs',
    'later/made.sh',
    'inner/hook.py',
    './later/../check.sh',
  ])('asks before a tool writes %s, in full-auto too', async (path) => {
    expect([await write(path), await write(path, { mode: 'full-auto' })]).toEqual(['ask', 'ask'])
  })

  it('asks before such a file is moved, deleted, patched or written by a command, and names it', async () => {
    const changes: [string, object][] = [
      ['unified_file', { action: 'delete', path: 'check.sh' }],
      ['unified_file', { action: 'move', path: 'a.txt', destination: 'check.sh', overwrite: true }],
      ['unified_file', { action: 'move', path: 'tools', destination: 'away' }],
      ['apply_patch', { input: '*** Begin Patch\n*** Update File: key.sh\n@@\n-echo key\n+echo x\n*** End Patch' }],
      ['unified_exec', { action: 'run', command: 'cp a.txt check.sh' }],
    ]
    for (const [tool, input] of changes)
      expect([input, await kernel.explain(tool, input)]).toMatchObject([
        input,
        { verdict: 'ask', reason: expect.stringMatching(/belongs to the user's own programs or settings/) },
      ])
    const result = await kernel.call('unified_file', { action: 'write', path: 'check.sh', content: 'x' })
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_NEEDS_APPROVAL', message: expect.stringContaining("'check.sh'") },
    })
    expect(await place.read('check.sh')).toBe(files['check.sh'])
  })

  it('asks about no neighbour and no file whose name only occurs in such a command', async () => {
    for (const path of ['a.txt', 'tools/data.txt', 'bin/other.sh', 'fast', 'sh', 'later/other.sh'])
      expect([path, await write(path)]).toEqual([path, 'run'])
  })
})

const none = lacks('bwrap')
describe.skipIf(none)(`such files and sandboxed commands${none ? ' (SKIPPED: needs bwrap)' : ''}`, () => {
  const run = async (kernel: Kernel, place: TempWorkspace, script: string) => {
    writeFileSync(join(place.root, 'do.sh'), script)
    return kernel.call('unified_exec', { action: 'run', command: 'sh do.sh' })
  }
  const sandboxed = { sandbox: { mode: 'required' }, policy: { sandboxed_commands: 'allow' } } as Config

  it('keeps them read-only for a command, and moves away a missing one that it creates', async () => {
    const place = hold(await tempWorkspace(files))
    writeFileSync(join(place.root, 'link.sh'), '')
    const kernel = await open(place, sandboxed)
    hold({ [Symbol.asyncDispose]: () => kernel.close() })
    const script = `for file in check.sh tools/server.mjs team.yaml key.sh mine/lib/a.mjs mine/new; do echo x >$file; done
mv check.sh away; mv tools gone; mkdir later; echo x >later/made.sh; echo x >later/other.sh; echo b >a.txt; true\n`
    const result = await run(kernel, place, script)
    expect(result).toMatchObject({ ok: true, notices: [{ code: 'VT_EXEC_PUT_ASIDE' }, { code: 'VT_EXEC_SANDBOXED' }] })
    for (const name of ['check.sh', 'tools/server.mjs', 'team.yaml', 'key.sh', 'mine/lib/a.mjs'] as const)
      expect([name, await place.read(name)]).toEqual([name, files[name]])
    expect(['mine/new', 'later/made.sh'].filter((name) => existsSync(join(place.root, name)))).toEqual([])
    expect([await place.read('a.txt'), await place.read('later/other.sh')]).toEqual(['b\n', 'x\n'])
  })

  it('refuses a command where a link on the way to one could be replaced', async () => {
    const place = hold(await tempWorkspace(files))
    mkdirSync(join(place.root, 'deep'))
    renameSync(join(place.root, 'tools'), join(place.root, 'deep/tools'))
    symlinkSync('deep/tools', join(place.root, 'tools'))
    writeFileSync(join(place.root, 'link.sh'), '')
    const kernel = await open(place, sandboxed)
    hold({ [Symbol.asyncDispose]: () => kernel.close() })
    expect(await run(kernel, place, 'echo b >a.txt\n')).toMatchObject({
      ok: false,
      error: { code: 'VT_EXEC_SANDBOX', message: expect.stringContaining("'tools'") },
    })
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('a\n')
  })
})
