import { chmod, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { remote, type Remote } from '../../../support/remote.js'

// The cases of the public suite, https://github.com/agentplugins/agent-plugins-conformance, by their ids: the 32 of its commit 0990cb5 and
// the cases that later ones up to 6257093 add for commands and the transport of 2024. The packages are local ones of the three kinds.
const fixture = fileURLToPath(new URL('../../../fixtures/mcp/server.mjs', import.meta.url))
const json = JSON.stringify
const schema = (name: string): string => `https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`
const plugin = (name: string, more: object = {}): string =>
  json({ $schema: schema('plugin'), name, version: '0.1.0', ...more })
const mcp = (mcpServers: object): string => json({ $schema: schema('mcp'), mcpServers })
const skill = (name: string): string =>
  `---\nname: ${name}\ndescription: Fixture ${name}.\n---\nThe marker of ${name}.\n`
const tools = json(
  ['environment', 'keep'].map((name) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' } })),
)
const probe = (name: string, more: object = {}): object => ({
  type: 'stdio',
  command: 'node',
  args: [fixture, '${PLUGIN_ROOT}', name],
  ...more,
})

/** Keys are the ends of the ids in the suite, for both transports. */
const wrongAddresses = (origin: string): Record<string, object> => ({
  'url.fragment': { url: `${origin}/mcp#invalid-fragment` },
  'url.userinfo': { url: origin.replace('//', '//me:word@') },
  'url.relative': { url: '/mcp' },
  'url.non-loopback-http': { url: 'http://example.org/mcp' },
  'headers.duplicate-names': {
    url: `${origin}/mcp`,
    headers: { 'X-Apc-Duplicate': 'first', 'x-apc-duplicate': 'second' },
  },
  'headers.invalid-name': { url: `${origin}/mcp`, headers: { 'no name': 'x' } },
  'headers.invalid-value': { url: `${origin}/mcp`, headers: { 'x-a': 'x\r\ny' } },
})
interface Told {
  argv: string[]
  cwd: string
  env: Record<string, string>
}
let place: TempWorkspace
let vt: Booted
let far: Remote

beforeAll(async () => {
  far = await remote()
  const core = {
    default: {
      ...probe('default'),
      args: [
        fixture,
        '${PLUGIN_ROOT}',
        'default',
        'arg with spaces',
        '',
        '${PLUGIN_ROOT}',
        '${PLUGIN_DATA}',
        '${APC_UNKNOWN}',
        '$APC_VALUE',
        '${PLUGIN_ROOT_SUFFIX}',
      ],
      env: {
        APC_VALUE: 'fixture value with spaces',
        LANG: 'configured',
        APC_EXPANSION: '${PLUGIN_ROOT}|${PLUGIN_DATA}|${PLUGIN_ROOT}',
        APC_LITERAL: '${APC_UNKNOWN}|$APC_VALUE|${PLUGIN_ROOT_SUFFIX}',
      },
    },
    relative: probe('relative', { cwd: './probe-workdir' }),
    root: probe('root', { cwd: '${PLUGIN_ROOT}/probe-workdir' }),
    data: probe('data', { cwd: '${PLUGIN_DATA}' }),
    token: {
      type: 'stdio',
      command: './bin/probe token.sh',
      args: ['arg with spaces', '', 'literal-value'],
      cwd: './probe-workdir',
    },
    http: {
      type: 'streamable-http',
      url: `${far.origin}/mcp?value=$APC_HTTP_VALUE`,
      headers: { AcCePt: 'text/plain', 'x-apc-fixture': '${PLUGIN_ROOT}|fixture value with spaces' },
    },
    'http-redirect': {
      type: 'streamable-http',
      url: `${far.origin}/away`,
      headers: { 'x-apc-fixture': 'of the first origin' },
    },
    sse: {
      type: 'sse',
      url: `${far.origin}/sse?value=$APC_SSE_VALUE`,
      headers: { AcCePt: 'application/x-configured', 'x-apc-fixture': '${PLUGIN_ROOT}|fixture value with spaces' },
    },
    'sse-redirect': { type: 'sse', url: `${far.origin}/sse-away`, headers: { 'x-apc-fixture': 'of the first origin' } },
    'sse-endpoint-origin': {
      type: 'sse',
      url: `${far.origin}/sse-endpoint`,
      headers: { 'x-apc-fixture': 'of the first origin' },
    },
  }
  const recovery = {
    'recovery-invalid': { type: 'stdio' },
    'recovery-valid': probe('valid'),
    'recovery-cwd-escape': probe('x', { cwd: './..' }),
    'recovery-cwd-data-escape': probe('x', { cwd: '${PLUGIN_DATA}/..' }),
    'recovery-cwd-symlink-escape': probe('x', { cwd: './escape-link' }),
    'recovery-command-symlink-escape': { type: 'stdio', command: './escape-command' },
    'recovery-unknown-field': probe('x', { conformanceUnknown: true }),
    'recovery-env-plugin-root': probe('x', { env: { PLUGIN_ROOT: '${PLUGIN_ROOT}' } }),
    'recovery-env-plugin-data': probe('x', { env: { PLUGIN_DATA: '${PLUGIN_DATA}' } }),
    'recovery-http-type': { type: 'http', url: `${far.origin}/mcp` },
    'recovery-cwd-form': probe('x', { cwd: 'probe-workdir' }),
    'recovery-no-type': { command: 'node' },
    ...Object.fromEntries(
      ['streamable-http', 'sse'].flatMap((type) =>
        Object.entries(wrongAddresses(far.origin)).map(([id, server]) => [
          `recovery-${type}-${id}`,
          { type, ...server },
        ]),
      ),
    ),
  }
  place = await tempWorkspace({
    'outside/tools.json': tools,
    'core/plugin.json': plugin('core'),
    'core/mcp.json': mcp(core),
    'core/tools.json': tools,
    'core/probe-workdir/README.md': '',
    'core/bin/probe token.sh': `#!/bin/sh\nexec node '${fixture}' "$PLUGIN_ROOT" "$@"\n`,
    'core/skills/conformance-alpha/SKILL.md': skill('conformance-alpha'),
    'core/skills/conformance-alpha/references/conformance-nested/SKILL.md': skill('conformance-nested'),
    'core/skills/conformance-beta/SKILL.md': skill('conformance-beta'),
    'core/skills/without-skill/README.md': 'x',
    'recovery/plugin.json': plugin('recovery', { conformanceUnknown: true, extensions: false }),
    'recovery/mcp.json': mcp(recovery),
    'recovery/tools.json': tools,
    'recovery/skills/recovery-valid/SKILL.md': skill('recovery-valid'),
    'recovery/skills/recovery-invalid/SKILL.md': '---\nname: recovery-invalid\n- description: Not a map.\n---\n',
    'recovery/skills/recovery-misnamed/SKILL.md': skill('another-name'),
    'recovery/skills/recovery-key/SKILL.md':
      '---\nname: recovery-key\ndescription: With a key that nobody knows.\nunknown: x\n---\nFine.\n',
    'invalid/plugin.json': plugin('invalid'),
    'invalid/mcp.json': '{ "$schema": "x",\n "mcpServers":\n}\n',
    'invalid/skills/invalid-mcp-valid/SKILL.md': skill('invalid-mcp-valid'),
  })
  await chmod(join(place.root, 'core/bin/probe token.sh'), 0o755)
  await symlink('../outside', join(place.root, 'recovery/escape-link'))
  await symlink('step', join(place.root, 'recovery/escape-command'))
  await symlink('/bin/sh', join(place.root, 'recovery/step'))
  const config = {
    automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } },
  } as Config
  vt = await bootKernel({ manifests: ['core', 'recovery', 'invalid'].map((name) => join(place.root, name)), config })
})
afterAll(async () => {
  for (const one of [vt, far, place]) await one[Symbol.asyncDispose]()
})

const observe = async (server: string, from = 'core'): Promise<Told> => {
  const result = await vt.call(`mcp__plugin_${from}_${server}__environment`, {})
  matches(result, { ok: true })
  return (result as unknown as { output: Told }).output
}
const servers = (): string[] => [
  ...new Set(vt.kernel.list().flatMap(({ slot }) => /^mcp__plugin_\w+?_(.+)__/.exec(slot)?.[1] ?? [])),
]
const skills = (): string[] => vt.kernel.inspection.skills().all.map(({ id }) => id)

describe('agent-plugins conformance: core', () => {
  it('passes skills.discovery.immediate-children', async () => {
    expect(
      skills()
        .filter((id) => id.startsWith('core:'))
        .sort(),
    ).toEqual(['core:conformance-alpha', 'core:conformance-beta'])
    matches(await vt.call('load_skill', { name: 'conformance-alpha' }), {
      ok: true,
      output: { instructions: 'The marker of conformance-alpha.\n' },
    })
  })
  it.each([
    ['omitted', 'default', (root: string) => root],
    ['plugin-relative', 'relative', (root: string) => join(root, 'probe-workdir')],
    ['plugin-root', 'root', (root: string) => join(root, 'probe-workdir')],
    ['plugin-data', 'data', (_: string, { env }: Told) => env['PLUGIN_DATA']!],
  ])('passes mcp.stdio.tool-availability.cwd-%s, mcp.stdio.cwd.%s', async (_, server, folder) => {
    const told = await observe(server)
    expect(told.cwd).toBe(folder(join(place.root, 'core'), told))
  })
  it('passes mcp.stdio.env.plugin-root, .plugin-data-absolute, .configured-value, .configured-precedence, .expansion', async () => {
    const { env } = await observe('default')
    const root = join(place.root, 'core')
    matches(env, {
      PLUGIN_ROOT: root,
      APC_VALUE: 'fixture value with spaces',
      LANG: 'configured',
      APC_EXPANSION: `${root}|${env['PLUGIN_DATA']}|${root}`,
      APC_LITERAL: '${APC_UNKNOWN}|$APC_VALUE|${PLUGIN_ROOT_SUFFIX}',
    })
    expect(env['PLUGIN_DATA']).toMatch(/^\//)
  })
  it('passes mcp.stdio.args.preservation-and-expansion', async () => {
    const { argv, env } = await observe('default')
    expect(argv).toEqual([
      'default',
      'arg with spaces',
      '',
      join(place.root, 'core'),
      env['PLUGIN_DATA'],
      '${APC_UNKNOWN}',
      '$APC_VALUE',
      '${PLUGIN_ROOT_SUFFIX}',
    ])
  })
  it('passes mcp.stdio.command.single-token, mcp.stdio.command.plugin-relative-resolution', async () => {
    matches(await observe('token'), {
      argv: ['arg with spaces', '', 'literal-value'],
      cwd: join(place.root, 'core/probe-workdir'),
    })
  })
  it('passes filesystem.data.writable, .consistent-within-plugin, .distinct-across-plugins', async () => {
    matches(await vt.call('mcp__plugin_core_default__keep', {}), { ok: true })
    const [one, two, other] = [
      await observe('default'),
      await observe('data'),
      await observe('recovery-valid', 'recovery'),
    ].map(({ env }) => env['PLUGIN_DATA'])
    expect(one).toBe(two)
    expect(other).not.toBe(one)
  })
  it('passes mcp.streamable-http.tool-availability, .url.literal-route-and-query, .headers.literal-value', async () => {
    matches(await vt.call('mcp__plugin_core_http__echo', { text: 'x' }), { ok: true, text: '{"text":"x"}' })
    const asked = far.seen.filter(({ url, method }) => url.startsWith('/mcp') && method === 'POST')
    for (const { url, headers } of asked)
      matches(
        { url, headers },
        {
          url: '/mcp?value=$APC_HTTP_VALUE',
          headers: { 'x-apc-fixture': '${PLUGIN_ROOT}|fixture value with spaces', accept: 're:.*application/json.*' },
        },
      )
    expect(asked.length).toBeGreaterThan(2)
  })
  it('passes mcp.sse.tool-availability, .url.literal-route-and-query, .headers.literal-value, .headers.literal-post-value, .headers.generated-precedence', async () => {
    matches(await vt.call('mcp__plugin_core_sse__echo', { text: 'x' }), { ok: true, text: '{"text":"x"}' })
    const asked = far.seen.filter(({ url }) => url.startsWith('/sse?') || url === '/message')
    matches(asked[0], { method: 'GET', url: '/sse?value=$APC_SSE_VALUE', headers: { accept: 'text/event-stream' } })
    for (const { headers } of asked) expect(headers['x-apc-fixture']).toBe('${PLUGIN_ROOT}|fixture value with spaces')
    expect(asked.some(({ method, url }) => method === 'POST' && url === '/message')).toBe(true)
  })
  it('passes mcp.streamable-http.headers.cross-origin-redirect, mcp.sse.headers.cross-origin-redirect, .cross-origin-endpoint', () => {
    expect(['/away', '/sse-away', '/sse-endpoint'].every((path) => far.seen.some(({ url }) => url === path))).toBe(true)
    expect(far.strayed).toEqual([])
    const refused = vt.kernel
      .diagnostics()
      .filter(({ code }) => code === 'VT_MCP_START')
      .map(({ message }) => message)
      .join('\n')
    for (const name of ['http-redirect', 'sse-redirect', 'sse-endpoint-origin'])
      expect(refused).toContain(`core:${name}`)
  })
})

describe('agent-plugins conformance: recovery', () => {
  it.each([
    ['mcp.stdio.cwd.plugin-relative-escape', 'recovery-cwd-escape'],
    ['mcp.stdio.cwd.plugin-data-escape', 'recovery-cwd-data-escape'],
    ['filesystem.containment.cwd-symlink-escape', 'recovery-cwd-symlink-escape'],
    ['filesystem.containment.command-symlink-escape', 'recovery-command-symlink-escape'],
    ['mcp.stdio.config.unknown-field', 'recovery-unknown-field'],
    ['mcp.stdio.env.reserved-plugin-root', 'recovery-env-plugin-root'],
    ['mcp.stdio.env.reserved-plugin-data', 'recovery-env-plugin-data'],
    ['mcp.config.legacy-http-type', 'recovery-http-type'],
    ['mcp.stdio.cwd.invalid-form', 'recovery-cwd-form'],
    ['mcp.config.missing-type', 'recovery-no-type'],
    ...['streamable-http', 'sse'].flatMap((type) =>
      Object.keys(wrongAddresses('')).map((id) => [`mcp.${type}.${id}`, `recovery-${type}-${id}`]),
    ),
  ])('passes %s', (_, server) => {
    expect(servers()).not.toContain(server)
    const told = vt.kernel
      .diagnostics()
      .filter(
        ({ code, message }) => code === 'VT_FORMAT_INVALID' && message.includes(`the server ${server} is left out`),
      )
    expect(told).toHaveLength(1)
  })
  it('passes skills.recovery.valid-skill-available', () => {
    expect(
      skills()
        .filter((id) => id.startsWith('recovery:'))
        .sort(),
    ).toEqual(['recovery:recovery-key', 'recovery:recovery-valid'])
    const told = vt.kernel.inspection
      .skills()
      .diagnostics.filter(({ code }) => code === 'VT_FORMAT_INVALID')
      .map(({ message }) => message)
    expect(told.join('\n')).toMatch(/recovery-invalid[\s\S]*recovery-misnamed/)
  })
  it('passes mcp.stdio.recovery.valid-server-available', async () => {
    matches(await observe('recovery-valid', 'recovery'), { argv: ['valid'] })
    const told = vt.kernel
      .diagnostics()
      .map(({ message }) => message)
      .join('\n')
    expect(told).toContain('conformanceUnknown')
    expect(told).toContain("'extensions' is not an object")
  })
  it('passes skills.recovery.invalid-mcp-document', () => {
    expect(skills()).toContain('invalid:invalid-mcp-valid')
    expect(servers().some((name) => name.startsWith('invalid'))).toBe(false)
  })
})

// Cases that the coverage page of the suite leaves out.
describe('agent-plugins beyond the conformance suite', () => {
  const boot = async (files: Record<string, string>, link?: [to: string, at: string]) => {
    const own = await tempWorkspace(
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
    )
    if (link) await symlink(link[0], join(own.root, link[1]))
    const booted = await bootKernel({ manifests: [join(own.root, 'pack')] })
    const end = async () => void (await booted[Symbol.asyncDispose](), await own[Symbol.asyncDispose]())
    const told = () =>
      [...booted.kernel.diagnostics(), ...booted.kernel.inspection.skills().diagnostics]
        .filter(({ code }) => code === 'VT_FORMAT_INVALID')
        .map(({ message }) => message)
    return { kernel: booted.kernel, call: booted.call, own, told, [Symbol.asyncDispose]: end }
  }

  it('disables only a part whose file is of the wrong kind and accepts an absent one', async () => {
    await using wrong = await boot({ 'plugin.json': plugin('pack'), skills: 'a file', 'mcp.json/x': '' })
    expect(wrong.told().join('\n')).toMatch(/mcp\.json[\s\S]*skills is not a folder/)
    await using bare = await boot({ 'plugin.json': plugin('pack') })
    expect(bare.told()).toEqual([])
  })

  it('drops folders of skills and single skills that are links out of the package', async () => {
    const outside = await tempWorkspace({ 'skills/far/SKILL.md': skill('far') })
    await using all = await boot({ 'plugin.json': plugin('pack') }, [join(outside.root, 'skills'), 'pack/skills'])
    expect(all.kernel.inspection.skills().all.some(({ id }) => id.startsWith('pack:'))).toBe(false)
    expect(all.told().join()).toMatch(/leads out of the package/)
    await using one = await boot({ 'plugin.json': plugin('pack'), 'skills/near/SKILL.md': skill('near') }, [
      join(outside.root, 'skills/far'),
      'pack/skills/far',
    ])
    expect(one.kernel.inspection.skills().all.flatMap(({ id }) => (id.startsWith('pack:') ? [id] : []))).toEqual([
      'pack:near',
    ])
    await outside[Symbol.asyncDispose]()
  })

  it('loads native manifests from dev.vtcode/ only, with the version range and options of the extension', async () => {
    const files = {
      'vtcode.yaml': 'name: stray\ndescription: Stray.\nrun: [echo]\n',
      'dev.vtcode/greet.yaml':
        'name: greet\ndescription: Greets.\noptions: { properties: { word: { type: string, default: hello } } }\nrun: [echo, "{$option.word}"]\n',
    }
    const extension = (value: unknown) => ({ extensions: { 'dev.vtcode': value, 'com.example': { any: 'thing' } } })
    await using made = await boot({
      ...files,
      'plugin.json': plugin('pack', extension({ vtcode: '>=0', options: { greet: { word: 'ahoy' } } })),
    })
    matches(await made.call('greet', {}), { ok: true, output: { stdout: 'ahoy\n' } })
    expect(made.kernel.inspection.contributions().some(({ id }) => id === 'pack:stray')).toBe(false)
    expect(made.told().join()).toMatch(/vtcode\.yaml is not read/)
    await using late = await boot({ ...files, 'plugin.json': plugin('pack', extension({ vtcode: '>=99' })) })
    matches(
      late.kernel.inspection.contributions().find(({ id }) => id === 'pack:greet'),
      { state: 'inactive', reason: 're:.*>=99.*' },
    )
    await using wrong = await boot({ ...files, 'plugin.json': plugin('pack', extension({ options: 3 })) })
    expect(wrong.kernel.inspection.contributions().some(({ id }) => id === 'pack:greet')).toBe(false)
    expect(wrong.told().join('\n')).toMatch(/'extensions\.dev\.vtcode'/)
  })
})
