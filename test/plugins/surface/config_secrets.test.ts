import { expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const literal = {
  bearer: 'bearer-literal-0123456789',
  upper: 'UPPERCASE0123456789LITERAL',
  team: 'team-header-0123456789',
  query: 'query-literal-0123456789',
  user: 'user-of-url-0123456789',
  password: 'pass-of-url-0123456789',
  env: 'env-literal-0123456789',
  key: 'key-literal-0123456789',
  short: 'abc',
}
const settings = {
  mcp: {
    servers: {
      far: {
        url: `http://127.0.0.1:1/mcp?key=${literal.query}&n=\${N:-5}`,
        headers: {
          Authorization: `Bearer ${literal.bearer}`,
          'X-Team': literal.team,
          'X-Upper': literal.upper,
          'X-Api-Key': literal.short,
          Accept: 'application/json',
        },
        startup_timeout_secs: 2,
      },
      broken: { url: `http://${literal.user}:${literal.password}@127.0.0.1:1/mcp` },
      near: { command: 'no-such-program', env: { MY_TOKEN: literal.env, HOW: 'plain-value-0123456789' } },
    },
  },
  custom_providers: [
    {
      name: 'mine',
      base_url: `https://example.org/v1?sig=${literal.query}`,
      api_format: 'openai-chat',
      auth: { type: 'bearer', value: literal.key },
      models: ['m'],
    },
  ],
}
const every = Object.values(literal).filter((text) => text.length > 3)

it('redacts keys, headers and queries of the settings everywhere', async () => {
  await using made = await tempWorkspace({
    'a.txt': `one\n${literal.bearer}\n${literal.query}\n${literal.env}\nplain-value-0123456789 application/json\n`,
  })
  await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(settings))
  const lines = [
    ['config', 'show'],
    ['config', 'show', '--all', '--origins'],
    ['config', 'show', '--json', '--origins'],
    ['config', 'get', 'mcp.servers'],
    ['config', 'get', 'mcp.servers.far.headers.Authorization'],
    ['config', 'get', 'custom_providers'],
    ['doctor'],
    ['doctor', '--json'],
    ['tools'],
    ['trust', 'list'],
    ['plugins', 'list', '--json'],
    ['models', 'list'],
    ['call', 'mcp__far__x'],
    ['call', 'unified_file', '--input', '{"action":"read","path":"a.txt"}'],
  ]
  for (const argv of lines) {
    const { stdout, stderr } = await vtcode(made, argv)
    for (const text of every)
      expect([argv.join(' '), text, (stdout + stderr).includes(text)]).toEqual([argv.join(' '), text, false])
  }
  const shown = JSON.parse((await vtcode(made, ['config', 'show', '--json'])).stdout).settings.mcp.servers
  expect(shown.far).toMatchObject({
    url: 'http://127.0.0.1:1/mcp?key=[redacted]&n=${N:-5}',
    headers: {
      Authorization: '[redacted]',
      'X-Team': '[redacted]',
      'X-Api-Key': '[redacted]',
      Accept: 'application/json',
    },
  })
  expect(shown.near.env).toEqual({ MY_TOKEN: '[redacted]', HOW: 'plain-value-0123456789' })
  // A value that is no secret stays readable.
  expect(
    (await vtcode(made, ['call', 'unified_file', '--input', '{"action":"read","path":"a.txt"}'])).stdout,
  ).toContain('plain-value-0123456789 application/json')
})

it('redacts no text because a workspace declares it as a secret header', async () => {
  await using made = await tempWorkspace({
    'vtcode.config.json': JSON.stringify({
      mcp: { servers: { x: { url: 'https://example.org/', headers: { 'X-Api-Key': 'rm -rf important-0123456789' } } } },
    }),
    'a.txt': 'rm -rf important-0123456789\n',
  })
  const kernel = await createKernel({
    workspace: made.root,
    home: made.home,
    env: { HOME: made.home, PATH: process.env.PATH },
  })
  expect(await kernel.call('unified_file', { action: 'read', path: 'a.txt' })).toMatchObject({
    ok: true,
    output: { content: 'rm -rf important-0123456789\n' },
  })
  await kernel.close()
})
