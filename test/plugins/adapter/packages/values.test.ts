import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Config, Diagnostic, Kernel } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type Files } from 'vtcode/test'
import { remote } from '../../../support/remote.js'

const fixture = new URL('../../../fixtures/mcp/server.mjs', import.meta.url).pathname
const json = JSON.stringify
const tools = json([{ name: 'environment', description: 'Tells it.', inputSchema: { type: 'object' } }])
const told = (kernel: Kernel, code: string): Diagnostic[] => kernel.diagnostics().filter((one) => one.code === code)
const stateOf = (kernel: Kernel, id: string): string | undefined =>
  kernel.inspection.contributions().find((one) => one.id === id)?.state

async function boot(
  files: Files,
  config: Config = {},
  env: Record<string, string> = {},
): Promise<{ vt: Booted; root: string } & AsyncDisposable> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries({ 'tools.json': tools, ...files }).map(([path, text]) => [`pack/${path}`, text])),
  )
  const root = join(place.root, 'pack')
  const vt = await bootKernel({ manifests: [root], config, env })
  return {
    vt,
    root,
    [Symbol.asyncDispose]: async () => void (await Promise.all([vt, place].map((one) => one[Symbol.asyncDispose]()))),
  }
}
const claude = (userConfig: object, server: object): Files => ({
  '.claude-plugin/plugin.json': json({ name: 'pack', userConfig }),
  '.mcp.json': json({ mcpServers: { s: { command: 'node', ...server } } }),
})
const said = (options: object, secrets: object = {}): Config =>
  ({ plugins: { settings: { pack: { options } } }, secrets }) as Config
const ask = (vt: Booted) => vt.call('mcp__plugin_pack_s__environment', {})

describe('package values set by the user', () => {
  const root = ['${CLAUDE_PLUGIN_ROOT}']

  it('fills values into arguments, variables and texts, and uses a default where the user gives none', async () => {
    const userConfig = {
      team: { type: 'string', title: 'Team', default: 'blue' },
      port: { type: 'number' },
      key: { type: 'string', sensitive: true },
    }
    const server = {
      args: [fixture, ...root, '--team=${user_config.team}', '${user_config.port}', '$${user_config.team}'],
      env: { LOGIN: 'user:${user_config.key}@${TEAM:-none}' },
    }
    await using made = await boot(
      claude(userConfig, server),
      said({ port: 8080, team: '${user_config.port} $&' }, { 'pack:key': 'hush-hush-hush' }),
    )
    const result = (await ask(made.vt)) as unknown as { output: { argv: string[]; env: Record<string, string> } }
    expect(result.output.argv).toEqual(['--team=${user_config.port} $&', '8080', '$${user_config.port} $&'])
    expect(result.output.env['LOGIN']).toMatch(/^user:.*@none$/)
    expect(result.output.env['CLAUDE_PLUGIN_OPTION_PORT']).toBe('8080')
    expect(json(result)).not.toContain('hush-hush-hush')
    await using bare = await boot(
      claude(userConfig, { args: [fixture, ...root, '${user_config.team}', '${user_config.port}'] }),
    )
    matches(await ask(bare.vt), { ok: true, output: { argv: ['blue'] } })
  })

  it.each([
    [
      'an option',
      { team: { type: 'string', required: true } },
      { args: ['${user_config.team}'] },
      /option 'team'.*/,
      'plugins: { settings: { \'pack\': { options: { "team": … } } } }',
    ],
    [
      'a secret',
      { key: { sensitive: true, required: true } },
      { env: { K: '${user_config.key}' } },
      /secret 'pack:key'/,
      "secrets: { 'pack:key': { env: NAME } }",
    ],
    ['a variable', {}, { args: ['x${NOT_SET_HERE}'] }, /variable NOT_SET_HERE/, 'Set NOT_SET_HERE'],
  ])('keeps a server inactive while a required value is missing: %s', async (_, userConfig, server, message, hint) => {
    await using made = await boot(claude(userConfig, server))
    expect(stateOf(made.vt.kernel, 'pack:s')).toBe('inactive')
    const [found] = told(made.vt.kernel, 'VT_SECRET_MISSING')
    expect([found!.severity, found!.message, found!.hint]).toEqual([
      'warning',
      expect.stringMatching(message),
      expect.stringContaining(hint),
    ])
    matches(await made.vt.call('unified_search', { action: 'list' }), { ok: true })
  })

  it.each([
    [
      'a secret among its arguments',
      { key: { sensitive: true } },
      { args: ['--key', '${user_config.key}'] },
      /secret into its arguments/,
    ],
    [
      'a secret in its command',
      { key: { sensitive: true } },
      { command: './${user_config.key}' },
      /secret into its command/,
    ],
    [
      'a secret in its address',
      { key: { sensitive: true } },
      { command: undefined, url: 'https://a.example/?k=${user_config.key}' },
      /secret into its address/,
    ],
    [
      'a list within other text',
      { dirs: { type: 'directory', multiple: true } },
      { args: ['--dir=${user_config.dirs}'] },
      /joins the list 'dirs' with other text in '--dir=\$\{user_config\.dirs\}'/,
    ],
    [
      'a list in a variable',
      { dirs: { type: 'directory', multiple: true } },
      { env: { DIRS: '${user_config.dirs}' } },
      /puts a list into 'DIRS'/,
    ],
    ['an undeclared value', {}, { args: ['${user_config.none}'] }, /'none', which the package does not declare/],
  ])('drops a server with %s and gives the reason', async (_, userConfig, server, message) => {
    await using made = await boot(claude(userConfig, server))
    expect(stateOf(made.vt.kernel, 'pack:s')).toBeUndefined()
    expect(
      told(made.vt.kernel, 'VT_FORMAT_INVALID')
        .map((one) => one.message)
        .join(),
    ).toMatch(message)
  })

  it('fills values into the headers of a remote server', async () => {
    await using far = await remote()
    const server = {
      command: undefined,
      type: 'http',
      url: `${far.origin}/mcp`,
      headers: { 'x-apc-fixture': 'Bearer ${user_config.key} ${REGION:-eu}' },
    }
    await using made = await boot(
      claude({ key: { sensitive: true } }, server),
      said({}, { 'pack:key': 'hush-hush-hush' }),
    )
    expect(stateOf(made.vt.kernel, 'pack:s')).toBe('active')
    expect(json(far.seen)).toContain('Bearer hush-hush-hush eu')
  })

  it('fills bundle defaults with folders of the user, splits multiple values into arguments and checks the platform', async () => {
    const bundle = (more: object, compatibility?: object): Files => ({
      'plugin.json/x': '',
      'manifest.json': json({
        manifest_version: '0.3',
        name: 's',
        server: {
          type: 'node',
          mcp_config: { command: 'node', args: [fixture, '${__dirname}', '${user_config.dirs}', 'end'], ...more },
        },
        user_config: { dirs: { type: 'directory', multiple: true, required: true, default: ['${HOME}/a'] } },
        compatibility,
      }),
    })
    await using made = await boot(bundle({}, { platforms: ['linux', 'darwin'], runtimes: { node: '>=16.0.0' } }))
    matches(await ask(made.vt), { ok: true, output: { argv: [`${made.vt.home}/a`, 'end'] } })
    await using own = await boot(bundle({}), said({ dirs: ['/x y', '/z'] }))
    matches(await ask(own.vt), { ok: true, output: { argv: ['/x y', '/z', 'end'] } })
    await using elsewhere = await boot(bundle({}, { platforms: ['win32'] }))
    expect([stateOf(elsewhere.vt.kernel, 'pack:s'), told(elsewhere.vt.kernel, 'VT_PLUGIN_REQUIRES').length]).toEqual([
      'inactive',
      1,
    ])
  })

  it('joins numbers and booleans in arguments as the host of bundles does', async () => {
    const args = ['--port=${user_config.port}', '--dry=${user_config.dry}', '${user_config.dry}', '${user_config.port}']
    await using made = await boot({
      'manifest.json': json({
        manifest_version: '0.3',
        name: 's',
        server: { type: 'node', mcp_config: { command: 'node', args: [fixture, '${__dirname}', ...args] } },
        user_config: { port: { type: 'number', default: 0 }, dry: { type: 'boolean', default: false } },
      }),
    })
    matches(await ask(made.vt), { ok: true, output: { argv: ['--port=0', '--dry=false', 'false', '0'] } })
  })
})
