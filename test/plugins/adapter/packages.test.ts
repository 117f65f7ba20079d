import { execFileSync } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Config, Kernel } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { install } from '../../support/program.js'

const fixture = fileURLToPath(new URL('../../fixtures/mcp/server.mjs', import.meta.url))
const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } }
const json = JSON.stringify
const skill = (name: string): string => `---\nname: ${name}\ndescription: The skill ${name}.\n---\nDo it.\n`
const environment = json([{ name: 'environment', description: 'Tells it.', inputSchema: { type: 'object' } }])
/** The fixture server; its list of tools is a file of the package. */
const server = (root: string, ...more: string[]): { command: string; args: string[] } => ({
  command: 'node',
  args: [fixture, root, ...more],
})

async function boot(
  files: Record<string, string>,
  env: Record<string, string> = {},
): Promise<{ vt: Booted; place: TempWorkspace } & AsyncDisposable> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
  )
  const vt = await bootKernel({ manifests: [join(place.root, 'pack')], config: { automation } as Config, env })
  const dispose = async (): Promise<void> => {
    await vt[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  }
  return { vt, place, [Symbol.asyncDispose]: dispose }
}
const told = (kernel: Kernel, code: string): string[] =>
  kernel.diagnostics().flatMap((one) => (one.code === code ? [one.message] : []))

describe('package: Agent Plugins format', () => {
  const $schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json'
  const servers = (mcpServers: object): string =>
    json({ $schema: 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json', mcpServers })

  it('loads skills and servers of an Agent Plugin and fills in its folders once', async () => {
    const lookup = {
      type: 'stdio',
      command: 'node',
      args: [fixture, '${PLUGIN_ROOT}', '${PLUGIN_DATA}/db', '${HOME}', '$${PLUGIN_ROOT}'],
      env: { CONFIG: '${PLUGIN_ROOT}/c.json' },
    }
    const made = {
      'plugin.json': json({ $schema, name: 'team-tools' }),
      'mcp.json': servers({ lookup }),
      'tools.json': environment,
      'skills/one/SKILL.md': skill('one'),
    }
    await using made_ = await boot(made)
    const { vt, place } = made_
    const result = await vt.call('mcp__plugin_pack_lookup__environment', {})
    matches(result, {
      ok: true,
      output: {
        cwd: `${place.root}/pack`,
        env: { CONFIG: `${place.root}/pack/c.json`, PLUGIN_ROOT: `${place.root}/pack` },
      },
    })
    const { argv, env } = (result as unknown as { output: { argv: string[]; env: Record<string, string> } }).output
    expect(argv).toEqual([`${env['PLUGIN_DATA']}/db`, '${HOME}', `$${place.root}/pack`])
    expect(vt.kernel.inspection.skills().all.map(({ id }) => id)).toContain('pack:one')
  })

  it.each([
    ['another version', { $schema: 'https://agent-plugins.org/schemas/2.0.0/plugin.schema.json', name: 'a' }],
    ['a wrong name', { $schema, name: 'A--b' }],
    ['a wrong author', { $schema, name: 'a', author: { name: 'x', phone: '1' } }],
    ['a wrong fact', { $schema, name: 'a', version: 1 }],
  ])('refuses an Agent Plugin with %s', async (_, manifest) => {
    await using made = await boot({
      'plugin.json': json(manifest),
      'mcp.json': servers({ s: { type: 'stdio', command: 'node' } }),
      'skills/one/SKILL.md': skill('one'),
    })
    expect(told(made.vt.kernel, 'VT_FORMAT_INVALID')).toHaveLength(1)
    expect(made.vt.kernel.inspection.contributions().some(({ id }) => id.startsWith('pack:'))).toBe(false)
    expect(made.vt.kernel.inspection.skills().all.map(({ id }) => id)).not.toContain('pack:one')
  })

  it('drops only the server of an Agent Plugin that breaks a rule', async () => {
    const bad = {
      field: { type: 'stdio', command: 'node', url: 'https://a.example' },
      shell: { type: 'stdio', command: 'node -e 1' },
      expanded: { type: 'stdio', command: '${PLUGIN_ROOT}/x' },
      absolute: { type: 'stdio', command: '/bin/sh' },
      above: { type: 'stdio', command: './../x' },
      reserved: { type: 'stdio', command: 'node', env: { PLUGIN_ROOT: '/' } },
      outside: { type: 'stdio', command: 'node', cwd: '${PLUGIN_ROOT}/../..' },
      kind: { type: 'ws', url: 'wss://a.example' },
      twice: { type: 'sse', url: 'https://a.example', headers: { A: '1', a: '2' } },
    }
    const place = await tempWorkspace()
    await using made = await boot({
      'plugin.json': json({ $schema, name: 'a' }),
      'mcp.json': servers({ ...bad, good: { type: 'stdio', command: 'node', args: [fixture, place.root] } }),
    })
    expect(told(made.vt.kernel, 'VT_FORMAT_INVALID')).toHaveLength(Object.keys(bad).length)
    matches(await made.vt.call('mcp__plugin_pack_good__echo', { text: 'x' }), { ok: true })
    await place[Symbol.asyncDispose]()
  })

  it('keeps the skills of an Agent Plugin whose server list has another version', async () => {
    await using made = await boot({
      'plugin.json': json({ $schema, name: 'a' }),
      'mcp.json': json({ mcpServers: {} }),
      'skills/one/SKILL.md': skill('one'),
    })
    expect(told(made.vt.kernel, 'VT_FORMAT_INVALID')).toHaveLength(1)
    expect(made.vt.kernel.inspection.skills().all.map(({ id }) => id)).toContain('pack:one')
  })

  it('refuses an Agent Plugin whose manifest is a link out of the package', async () => {
    const place = await tempWorkspace({
      'away/plugin.json': json({ $schema, name: 'a' }),
      'pack/skills/one/SKILL.md': skill('one'),
    })
    await symlink(join(place.root, 'away/plugin.json'), join(place.root, 'pack/plugin.json'))
    await using vt = await bootKernel({ manifests: [join(place.root, 'pack')] })
    expect(told(vt.kernel, 'VT_FORMAT_INVALID').join()).toMatch(/link leads out of the package/)
    expect(vt.kernel.inspection.skills().all.map(({ id }) => id)).not.toContain('pack:one')
    await place[Symbol.asyncDispose]()
  })
})

describe('package: formats of other programs', () => {
  it('loads servers and skills of a Claude Code plugin unchanged and names what is not supported', async () => {
    await using made = await boot(
      {
        '.claude-plugin/plugin.json': json({ name: 'pack', version: '1.0.0', lspServers: {} }),
        '.mcp.json': json({
          mcpServers: { s: { ...server('${CLAUDE_PLUGIN_ROOT}', '${TEAM:-none}', '${REGION:-none}') } },
        }),
        'tools.json': environment,
        'skills/one/SKILL.md': skill('one'),
        'commands/fix.md': 'Fix it.',
        'agents/reviewer.md': 'Review.',
        'bin/x': '',
      },
      { TEAM: 'red' },
    )
    matches(await made.vt.call('mcp__plugin_pack_s__environment', {}), { ok: true, output: { argv: ['red', 'none'] } })
    expect(made.vt.kernel.inspection.skills().all.map(({ id }) => id)).toContain('pack:one')
    expect(made.vt.kernel.inspection.skills().agents).toMatchObject([
      { plugin: 'pack', name: 'reviewer', description: 'Review.' },
    ])
    expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED').join('\n')).toMatch(/bin\/ .*\(1: x\)[\s\S]*lspServers/)
  })

  it('loads the servers of Gemini extensions and MCP bundles', async () => {
    const place = await tempWorkspace({ 'tools.json': environment })
    await using gemini = await boot({
      'gemini-extension.json': json({
        name: 'pack',
        mcpServers: { s: { ...server(place.root, '${extensionPath}${/}x'), includeTools: ['env*'] } },
        contextFileName: 'G.md',
      }),
    })
    matches(await gemini.vt.call('mcp__plugin_pack_s__environment', {}), {
      ok: true,
      output: { argv: [`${gemini.place.root}/pack/x`] },
    })
    expect(told(gemini.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toEqual([])

    const config = {
      command: 'node',
      args: [fixture, place.root, '${user_config.dirs}', '${__dirname}', 'x${user_config.none}'],
      env: { A: '${user_config.word}' },
    }
    const user_config = {
      dirs: { type: 'directory', multiple: true, default: ['${HOME}/a', '/b'] },
      word: { default: '${user_config.dirs} $&' },
      none: {},
    }
    const home = await tempWorkspace({
      '.vtcode/plugins/bundle/manifest.json': json({
        manifest_version: '0.3',
        name: 'notes',
        server: { type: 'node', mcp_config: config },
        user_config,
      }),
    })
    await install(home.root, join(home.root, '.vtcode/plugins/bundle'))
    const { createKernel } = await import('vtcode')
    const kernel = await createKernel({
      workspace: place.root,
      home: home.root,
      env: { HOME: home.root, PATH: process.env['PATH'] },
      mode: 'full-auto',
      config: { automation } as Config,
    })
    matches(await kernel.call('mcp__plugin_bundle_notes__environment', {}), {
      ok: true,
      output: {
        argv: [`${home.root}/a`, '/b', `${home.root}/.vtcode/plugins/bundle`, 'x'],
        env: { A: '${user_config.dirs} $&' },
      },
    })
    await kernel.close()
    await Promise.all([place, home].map((one) => one[Symbol.asyncDispose]()))
  })
})

describe('package: skills and prompts', () => {
  const ids = (kernel: Kernel): string[] =>
    kernel.inspection
      .skills()
      .all.flatMap(({ id }) => (id.startsWith('pack:') ? [id] : []))
      .sort()

  it('loads skills and commands of Claude Code as skills, fills in the package folder and runs nothing', async () => {
    await using made = await boot({
      '.claude-plugin/plugin.json': json({ name: 'pack', skills: './more' }),
      'skills/one/SKILL.md': skill('one'),
      'more/two/SKILL.md': skill('two'),
      'commands/fix_it.md':
        '---\ndescription: Fixes it.\nargument-hint: what\nallowed-tools: Bash(git:*)\n---\nFix $ARGUMENTS by ${CLAUDE_PLUGIN_ROOT}/how.md. !`rm -rf /`\n',
      'commands/deep/plain.md': '# Say hello\n\nTo everybody.',
      'how.md': 'Like this.\n',
    })
    const { vt, place } = made
    expect(ids(vt.kernel)).toEqual(['pack:deep-plain', 'pack:fix-it', 'pack:one', 'pack:two'])
    const loaded = await vt.call('load_skill', { name: 'fix-it' })
    matches(loaded, {
      ok: true,
      output: {
        description: 'Fixes it.',
        instructions: `Fix $ARGUMENTS by ${place.root}/pack/how.md. !\`rm -rf /\`\n`,
        path: `${place.root}/pack/commands/fix_it.md`,
      },
      notices: [{ code: 'VT_SKILL_COMMAND_NOT_RUN' }],
    })
    matches(await vt.call('load_skill_resource', { skill_name: 'fix-it', resource_path: 'how.md' }), {
      ok: true,
      output: { content: 'Like this.\n' },
    })
    matches(vt.kernel.inspection.skills().find('deep-plain'), {
      description: 'Say hello',
      prompt: true,
      metadata: { source: 'command' },
    })
  })

  it('loads the skills of Codex from where its manifest says, and a root SKILL.md as one skill', async () => {
    const servers = {
      s: { command: 'no-such-program', bearer_token_env_var: 'T', tool_timeout_sec: 5, oauth_resource: 'x', note: 'y' },
    }
    await using made = await boot({
      '.codex-plugin/plugin.json': json({
        name: 'pack',
        skills: './abilities/',
        apps: './app.json',
        mcpServers: servers,
      }),
      'abilities/a/SKILL.md': skill('a'),
      'SKILL.md': skill('pack'),
    })
    expect(ids(made.vt.kernel)).toEqual(['pack:a', 'pack:pack'])
    expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED').join()).toContain("'apps'")
  })

  it.each(['pi', 'omp'])(
    'loads skills and prompts that the patterns of %s name, and names its code without running it',
    async (key) => {
      const said = {
        extensions: ['./evil.js'],
        skills: ['./skills', '!skills/secret', 'extra/*'],
        prompts: ['prompts/*.md', '!prompts/no.md'],
        themes: ['x'],
      }
      await using made = await boot({
        'package.json': json({ name: 'x', [key]: said }),
        'plugin.json/x': '',
        'evil.js': "throw new Error('run')",
        'skills/one/SKILL.md': skill('one'),
        'skills/secret/SKILL.md': skill('secret'),
        'extra/two/SKILL.md': skill('two'),
        'else/three/SKILL.md': skill('three'),
        'prompts/review.md': 'Review it.',
        'prompts/no.md': 'No.',
      })
      expect(ids(made.vt.kernel)).toEqual(['pack:one', 'pack:review', 'pack:two'])
      matches(made.vt.kernel.inspection.skills().find('review'), { metadata: { source: 'prompt' } })
      expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED').join()).toMatch(/'extensions'.*\(1\).*'themes'/)
    },
  )

  it('loads the prompts of MCP bundles and names one without text', async () => {
    const prompts = [
      { name: 'Sum Up', description: 'Sums up.', arguments: ['topic'], text: 'Sum up ${arguments.topic}.' },
      { name: 'empty' },
    ]
    await using made = await boot({
      'plugin.json/x': '',
      'manifest.json': json({
        manifest_version: '0.3',
        name: 'n',
        server: { type: 'node', mcp_config: { command: 'no-such-program' } },
        prompts,
      }),
    })
    expect(ids(made.vt.kernel)).toEqual(['pack:sum-up'])
    matches(await made.vt.call('load_skill', { name: 'sum-up' }), {
      ok: true,
      output: { description: 'Sums up.', instructions: 'Sum up ${arguments.topic}.' },
    })
    expect(
      made.vt.kernel.inspection
        .skills()
        .diagnostics.map(({ message }) => message)
        .join(),
    ).toMatch(/no text/)
  })

  it('drops each text whose path leads out of the package, is huge or is not text', async () => {
    const away = await tempWorkspace({ 'secret.md': 'The secret.' })
    await using made = await boot({
      '.claude-plugin/plugin.json': json({
        name: 'pack',
        skills: ['../..', '/etc'],
        commands: ['./commands', '../../secret.md'],
      }),
      'commands/huge.md': 'x'.repeat(300_000),
      'commands/good.md': 'Good.',
    })
    await symlink(join(away.root, 'secret.md'), join(made.place.root, 'pack/commands/link.md'))
    await made.place.write('pack/commands/bytes.md', Buffer.from([0xff, 0xfe, 0]))
    await made.vt.kernel.reload()
    expect(ids(made.vt.kernel)).toEqual(['pack:good'])
    const texts = made.vt.kernel.inspection
      .skills()
      .diagnostics.map(({ message }) => message)
      .join('\n')
    expect(texts).toMatch(/huge\.md is larger/)
    expect(texts).toMatch(/leads out of the package/)
    await away[Symbol.asyncDispose]()
  })
})

it('reports a server list that is not a regular file as an info diagnostic, not at every call', async () => {
  const { createKernel } = await import('vtcode')
  await using place = await tempWorkspace()
  execFileSync('mkfifo', [join(place.root, '.mcp.json')])
  const kernel = await createKernel({ workspace: place.root, home: place.home })
  expect(kernel.diagnostics().filter(({ files }) => files[0]?.endsWith('.mcp.json'))).toMatchObject([
    { severity: 'info', message: expect.stringContaining('not a regular file') },
  ])
  await kernel.close()
})

it('loads each server that a workspace lists for every program only after consent', async () => {
  const { createKernel, openTrust, listConsentItems } = await import('vtcode')
  const place = await tempWorkspace({ 'tools.json': environment })
  await place.write('.mcp.json', json({ mcpServers: { s: server(place.root), t: server(place.root) } }))
  const env = { HOME: place.home, PATH: process.env['PATH'] }
  const options = {
    workspace: place.root,
    home: place.home,
    env,
    mode: 'full-auto' as const,
    config: { automation } as Config,
  }
  const before = await createKernel(options)
  expect(
    before.inspection
      .contributions()
      .filter(({ file }) => file.endsWith('.mcp.json'))
      .map(({ state }) => state),
  ).toEqual(['untrusted', 'untrusted'])
  expect(await place.read('starts')).toBeUndefined()
  await before.close()
  const home = join(place.home, '.vtcode')
  const trust = openTrust({ home, workspace: place.root, env })
  const items = await listConsentItems({ workspace: place.root, home, user: place.home, env, trust })
  trust.add(items.filter(({ id }) => id === 'workspace:s'))
  const after = await createKernel(options)
  expect(
    after
      .list()
      .map(({ slot }) => slot)
      .filter((slot) => slot.startsWith('mcp__')),
  ).toEqual(['mcp__s__environment'])
  expect(await after.call('mcp__s__environment', {})).toMatchObject({ ok: true })
  await after.close()
  await place[Symbol.asyncDispose]()
})
