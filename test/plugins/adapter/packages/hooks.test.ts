import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKernel, resolveHome, openTrust, listConsentItems, type Config, type Kernel, type Result } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted, type Files, type TempWorkspace } from 'vtcode/test'
import { install, vtcode } from '../../../support/program.js'

const json = JSON.stringify
const refuse =
  '#!/bin/sh\ncat > "$PLUGIN_DATA/told"\nenv > "$PLUGIN_DATA/env"\npwd > "$PLUGIN_DATA/cwd"\necho "$@" > "$PLUGIN_DATA/args"\necho "Not this." >&2\nexit 2\n'
const hook = (command: string, more: object = {}): object => ({ hooks: [{ type: 'command', command, ...more }] })
const told = (kernel: Kernel, code: string): string =>
  kernel
    .diagnostics()
    .flatMap((one) => (one.code === code ? [one.message] : []))
    .join('\n')
const read = ({ call }: Pick<Kernel, 'call'>): Promise<Result> =>
  call('unified_file', { action: 'read', path: 'a.txt' })
const verdict = (result: Result): string => (result.ok ? 'run' : `${result.error.code} ${result.error.message}`)

interface Made extends AsyncDisposable {
  vt: Booted
  root: string
  /** Returns the lines that the program of the package wrote. */
  note(name: string): Promise<string>
}
async function boot(files: Files, config: Config = {}, env: Record<string, string> = {}): Promise<Made> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries({ 'guard.sh': refuse, ...files }).map(([path, text]) => [`pack/${path}`, text])),
  )
  const root = join(place.root, 'pack')
  await chmod(join(root, 'guard.sh'), 0o755)
  const vt = await bootKernel({ mode: 'auto', manifests: [root], files: { 'a.txt': 'one\n' }, config, env })
  const dispose = async (): Promise<void> =>
    void (await Promise.all([vt, place].map((one) => one[Symbol.asyncDispose]())))
  return { vt, root, note: (name) => noted(vt.home, name), [Symbol.asyncDispose]: dispose }
}
async function noted(home: string, name: string): Promise<string> {
  const { readdir } = await import('node:fs/promises')
  const data = join(home, '.vtcode/plugin-data')
  const [folder] = await readdir(data)
  return readFile(join(data, folder!, name), 'utf8')
}

describe('lifecycle hooks of a Claude Code plugin', () => {
  const manifest = json({ name: 'pack' })

  it('runs Claude Code hooks as written, with the names of Claude Code, and obeys their refusal', async () => {
    const hooks = { PreToolUse: [{ matcher: 'Read|Bash', ...hook('"${CLAUDE_PLUGIN_ROOT}"/guard.sh a "b c"') }] }
    await using made = await boot({
      '.claude-plugin/plugin.json': manifest,
      'hooks/hooks.json': json({ description: 'Guards.', hooks }),
    })
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
    expect(JSON.parse(await made.note('told'))).toMatchObject({
      hook_event_name: 'PreToolUse',
      tool_name: 'Read',
      tool_input: { file_path: join(made.vt.root, 'a.txt') },
      cwd: made.vt.root,
    })
    expect(await made.note('env')).toMatch(new RegExp(`^CLAUDE_PLUGIN_ROOT=${made.root}$`, 'm'))
    expect([await made.note('cwd'), await made.note('args')]).toEqual([`${made.vt.root}\n`, 'a b c\n'])
    expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toBe('')
    expect(made.vt.kernel.inspection.contributions().find(({ id }) => id === 'pack:lifecycle_hooks')).toMatchObject({
      kind: 'hooks',
      state: 'active',
    })
  })

  it.each([
    ['inline', { hooks: { PreToolUse: [hook('${CLAUDE_PLUGIN_ROOT}/guard.sh')] } }],
    ['a file that the manifest names', { hooks: './more/mine.json' }],
    ['files and inline together', { hooks: ['./more/mine.json', { Stop: [hook('true')] }] }],
  ])('reads Claude Code hooks from %s', async (_, more) => {
    await using made = await boot({
      '.claude-plugin/plugin.json': json({ name: 'pack', ...more }),
      'more/mine.json': json({ hooks: { PreToolUse: [hook('${CLAUDE_PLUGIN_ROOT}/guard.sh')] } }),
    })
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
  })

  it.each([
    [
      'names a file of hooks that does not exist',
      { hooks: './gone.json' },
      undefined,
      /gone\.json cannot be used, or does not exist/,
    ],
    [
      'names a file of servers that does not exist',
      { mcpServers: './gone.json' },
      undefined,
      /gone\.json cannot be used, or does not exist/,
    ],
    ['has a guard without a list of hooks', {}, { PreToolUse: [{ matcher: 'Read' }] }, /PreToolUse has no list/],
    ['has guards that are no list', {}, { PreToolUse: 'x' }, /'PreToolUse' is not a list/],
    ['has a guard without a command', {}, { PreToolUse: [{ hooks: [{ type: 'command' }] }] }, /PreToolUse has no list/],
    ['has a guard of an unknown type', {}, { PermissionRequest: [{ hooks: [{ type: 'x' }] }] }, /has no list/],
  ])('refuses a whole plugin that %s', async (_, fields, hooks, message) => {
    await using made = await boot({
      '.claude-plugin/plugin.json': json({ name: 'pack', ...fields }),
      'skills/a/SKILL.md': '---\nname: a\ndescription: Does one thing.\n---\n',
      ...(hooks && { 'hooks/hooks.json': json({ hooks }) }),
    })
    expect(told(made.vt.kernel, 'VT_FORMAT_INVALID')).toMatch(message)
    const listed: any = await made.vt.call('list_skills', {})
    expect(JSON.stringify(listed.output)).not.toContain('pack:a')
  })

  it('names each Claude Code hook that is not supported and runs the others', async () => {
    const hooks = {
      PreToolUse: [
        hook('${CLAUDE_PLUGIN_ROOT}/guard.sh'),
        { hooks: [{ type: 'prompt', prompt: 'Wise?' }] },
        hook('x ${user_config.key}'),
      ],
      PostToolUse: [{ hooks: [{ type: 'command' }, 7] }, { matcher: 'Read' }],
      SubagentStop: [hook('true')],
      TeammateIdle: [hook('true')],
      WorktreeCreate: [hook('true'), hook('true')],
      Stop: 'no list',
    }
    await using made = await boot({
      '.claude-plugin/plugin.json': json({ name: 'pack', userConfig: { key: {} } }),
      'hooks/hooks.json': json({ hooks }),
    })
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
    expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toMatch(
      /never happen here .*\(2: TeammateIdle, WorktreeCreate\)[\s\S]*of type prompt, because no model judges calls here, .*\(1\)/,
    )
    expect(told(made.vt.kernel, 'VT_FORMAT_INVALID')).toMatch(
      /value of the user into a shell command[\s\S]*no command[\s\S]*no command[\s\S]*no list 'hooks'/,
    )
  })

  it('fills hooks with values of the user as arguments and variables, and asks while a required one is missing', async () => {
    const userConfig = { level: { type: 'number', default: 3 }, key: { sensitive: true, required: true } }
    const files = {
      '.claude-plugin/plugin.json': json({ name: 'pack', userConfig }),
      'hooks/hooks.json': json({
        hooks: { PreToolUse: [hook('${CLAUDE_PLUGIN_ROOT}/guard.sh', { args: ['--level=${user_config.level}'] })] },
      }),
    }
    await using bare = await boot(files)
    expect(verdict(await read(bare.vt))).toMatch(/^VT_POLICY_NEEDS_APPROVAL .*secret 'pack:key'/)
    await using made = await boot(files, {
      plugins: { settings: { pack: { options: { level: 5 } } } },
      secrets: { 'pack:key': 'hush-hush-hush' },
    } as Config)
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
    expect(await made.note('args')).toBe('--level=5\n')
    expect(await made.note('env')).toMatch(/^CLAUDE_PLUGIN_OPTION_KEY=hush-hush-hush$/m)
  })

  it('runs identical hooks of two plugins both', async () => {
    const note = hook('echo "$CLAUDE_PLUGIN_ROOT" >> "$CLAUDE_PROJECT_DIR"/seen')
    const files = Object.fromEntries(
      ['one', 'two'].flatMap((name) => [
        [`${name}/.claude-plugin/plugin.json`, json({ name })],
        [`${name}/hooks/hooks.json`, json({ hooks: { PostToolUse: [note] } })],
      ]),
    )
    await using place = await tempWorkspace(files)
    await using vt = await bootKernel({
      mode: 'auto',
      manifests: ['one', 'two'].map((name) => join(place.root, name)),
      files: { 'a.txt': 'one\n' },
    })
    expect(verdict(await read(vt))).toBe('run')
    expect((await vt.read('seen'))!.split('\n').filter(Boolean).sort()).toEqual([
      join(place.root, 'one'),
      join(place.root, 'two'),
    ])
  })

  it('ignores a hook that approves a call in place of a person', async () => {
    const yes = `printf %s '${json({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })}'`
    await using made = await boot({
      '.claude-plugin/plugin.json': manifest,
      'hooks/hooks.json': json({ hooks: { PermissionRequest: [hook(yes)] } }),
    })
    let asked = 0
    const approve = () => (asked++, false)
    const result = await made.vt.call(
      'unified_exec',
      { action: 'run', command: 'curl http://127.0.0.1:1' },
      { approve },
    )
    expect([result.ok, asked]).toEqual([false, 1])
  })
})

describe('lifecycle hooks of other formats', () => {
  it('reads Codex hooks from a root hooks.json and runs them in the plugin folder', async () => {
    await using made = await boot({
      '.codex-plugin/plugin.json': json({ name: 'pack', version: '1.0.0', description: 'x' }),
      'hooks.json': json({ hooks: { PreToolUse: [{ matcher: '^Read$', ...hook('./guard.sh') }] } }),
    })
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
    expect(await made.note('cwd')).toBe(`${made.root}\n`)
  })

  it('runs Gemini hooks with the events, names and milliseconds of Gemini', async () => {
    const hooks = {
      BeforeTool: [{ matcher: 'read_.*', ...hook('"${extensionPath}${/}guard.sh"', { timeout: 5000, name: 'x' }) }],
      BeforeModel: [hook('true')],
      AfterTool: [{ matcher: 'write_file', ...hook('sleep 30', { timeout: 1000 }) }],
    }
    const settings = [{ name: 'Team', description: 'Whose.', envVar: 'TEAM_NAME' }]
    await using made = await boot(
      {
        'gemini-extension.json': json({ name: 'pack', version: '1.0.0', settings }),
        'hooks/hooks.json': json({ hooks }),
      },
      { plugins: { settings: { pack: { options: { TEAM_NAME: 'red' } } } } } as Config,
    )
    expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
    expect(JSON.parse(await made.note('told'))).toMatchObject({ hook_event_name: 'BeforeTool', tool_name: 'read_file' })
    expect(await made.note('env')).toMatch(/^TEAM_NAME=red$/m)
    expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toMatch(/BeforeModel/)
    const begin = Date.now()
    const written = await made.vt.call('unified_file', { action: 'write', path: 'b.txt', content: 'x' })
    expect(written.notices?.map(({ message }) => message).join()).toMatch(/did not answer within 1 s/)
    expect(Date.now() - begin).toBeLessThan(25_000)
  })

  it.each(['vtcode/hooks.json', 'dev.vtcode/hooks.json'])(
    'reads native hooks from %s and runs them with native names',
    async (path) => {
      const marker = path.startsWith('dev')
        ? {
            'plugin.json': json({
              $schema: 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json',
              name: 'pack',
            }),
          }
        : {}
      await using made = await boot({
        ...marker,
        [path]: json({
          hooks: { PreToolUse: [{ matcher: 'unified_file/read', hooks: [{ command: './guard.sh', args: [] }] }] },
        }),
      })
      expect(verdict(await read(made.vt))).toBe('VT_POLICY_DENIED Not this.')
      expect(JSON.parse(await made.note('told'))).toMatchObject({ tool_name: 'unified_file/read' })
    },
  )

  it('names the line of each invalid native hook and runs none of that file', async () => {
    await using made = await boot({
      'vtcode/hooks.json': '{ "hooks": {\n "PreToolUse": [{ "hooks": [{ "command": 7 }] }] } }',
      'vtcode/x.yaml': 'name: x\ndescription: X.\nrun: [echo]\n',
    })
    expect(made.vt.kernel.inspection.contributions().find(({ id }) => id === 'pack:lifecycle_hooks')).toMatchObject({
      state: 'invalid',
    })
    expect(
      made.vt.kernel
        .diagnostics()
        .flatMap(({ files }) => files)
        .join(),
    ).toMatch(/vtcode\/hooks\.json:2/)
    expect(verdict(await read(made.vt))).toBe('run')
  })
})

describe('consent for lifecycle hooks', () => {
  const files = {
    '.claude-plugin/plugin.json': json({ name: 'pack' }),
    'hooks/hooks.json': json({ hooks: { PreToolUse: [hook('"${CLAUDE_PLUGIN_ROOT}"/guard.sh')] } }),
    'guard.sh': refuse,
  }
  const in_ = (folder: string): Files =>
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))
  const kernelIn = (place: TempWorkspace): Promise<Kernel> =>
    createKernel({
      workspace: place.root,
      home: place.home,
      env: { HOME: place.home, PATH: process.env['PATH'] },
      mode: 'auto',
    })

  it('runs hooks of a workspace plugin only after consent, and asks about their calls once the plugin has changed', async () => {
    await using place = await tempWorkspace({ ...in_('.vtcode/plugins/pack'), 'a.txt': 'one\n' })
    await chmod(join(place.root, '.vtcode/plugins/pack/guard.sh'), 0o755)
    const before = await kernelIn(place)
    expect([
      verdict(await read(before)),
      before.inspection.contributions().find(({ id }) => id === 'pack:lifecycle_hooks')?.state,
    ]).toEqual(['run', 'untrusted'])
    await before.close()
    const env = { HOME: place.home, PATH: process.env['PATH'] }
    const home = resolveHome({ home: place.home, env })
    const trust = openTrust({ home, workspace: place.root, env })
    trust.add(await listConsentItems({ workspace: place.root, home, user: place.home, env, trust }))
    const after = await kernelIn(place)
    expect(verdict(await read(after))).toBe('VT_POLICY_DENIED Not this.')
    await after.close()
    await place.write('.vtcode/plugins/pack/guard.sh', `${refuse}# changed\n`)
    const changed = await kernelIn(place)
    expect(verdict(await read(changed))).toMatch(/^VT_POLICY_NEEDS_APPROVAL /)
    await changed.close()
  })

  it('includes hooks in the consent for an installed plugin and drops them when a byte changes', async () => {
    await using place = await tempWorkspace(in_('pack'))
    const root = join(place.root, 'pack')
    await chmod(join(root, 'guard.sh'), 0o755)
    const { stdout } = await vtcode(place, ['plugins', 'validate', root, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      plugin: 'pack',
      contributions: [{ id: 'pack:lifecycle_hooks', errors: [] }],
    })
    const refused = await vtcode(place, ['plugins', 'add', root])
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('runs "\\"${CLAUDE_PLUGIN_ROOT}\\"/guard.sh" with all your rights at PreToolUse'),
    ])
    expect((await vtcode(place, ['plugins', 'add', root, '--yes'])).code).toBe(0)
    await using other = await tempWorkspace({ 'a.txt': 'one\n' })
    const here = { ...other, home: place.home }
    const kernel = await kernelIn(here)
    expect(verdict(await read(kernel))).toBe('VT_POLICY_DENIED Not this.')
    await kernel.close()
    await writeFile(join(place.home, '.vtcode/plugins/pack/guard.sh'), '#!/bin/sh\nexit 0\n')
    const changed = await kernelIn(here)
    expect([verdict(await read(changed)), told(changed, 'VT_PLUGIN_LOCK')]).toEqual([
      expect.stringMatching(/^VT_POLICY_NEEDS_APPROVAL .*guard\.sh was changed.*plugins add --in-place/),
      expect.stringContaining('pack'),
    ])
    await changed.close()
  })

  it('waits for consent before it runs hooks that were copied into the folder of the user by hand', async () => {
    await using place = await tempWorkspace({ 'a.txt': 'one\n' })
    const home = await tempWorkspace(in_('.vtcode/plugins/pack'))
    const folder = join(home.root, '.vtcode/plugins/pack')
    await chmod(join(folder, 'guard.sh'), 0o755)
    const before = await kernelIn({ ...place, home: home.root })
    expect([
      verdict(await read(before)),
      before.inspection.contributions().find(({ id }) => id === 'pack:lifecycle_hooks')?.state,
    ]).toEqual(['run', 'unlocked'])
    await before.close()
    await install(home.root, folder)
    const after = await kernelIn({ ...place, home: home.root })
    expect(verdict(await read(after))).toBe('VT_POLICY_DENIED Not this.')
    await after.close()
    await home[Symbol.asyncDispose]()
  })
})
