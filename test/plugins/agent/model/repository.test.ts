import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../../support/inside.js'
import { home, settingsFor, startPeer, vtcode } from '../../../support/peer.js'

/** Makes a workspace whose settings name a provider, and a home without one. */
async function repository(
  script: Parameters<typeof startPeer>[0],
  settings: (url: string) => object,
  { ending = 'json', own = {} }: { ending?: string; own?: object } = {},
) {
  const peer = hold(await startPeer(script))
  const at = hold(await home(peer))
  writeFileSync(join(at.home, '.vtcode/vtcode.config.json'), JSON.stringify(own))
  const said = settings(`${peer.url}/v1`)
  const text = ending === 'ts' ? `export default ${JSON.stringify(said)}\n` : JSON.stringify(said)
  writeFileSync(join(at.root, `vtcode.config.${ending}`), text)
  return { peer, at, file: join(at.root, `vtcode.config.${ending}`) }
}
const team = (url: string, more: object = {}) => ({
  custom_providers: [{ name: 'team', base_url: url, api_key_env: 'TEAM_KEY', models: ['m'], ...more }],
  agent: { model: 'team/m' },
})
const env = { TEAM_KEY: 'key-of-the-team-0123456789' }

describe('repository providers', () => {
  it.each(['json', 'yaml', 'ts'])(
    'uses providers after consent and not after a changed byte: vtcode.config.%s',
    async (ending) => {
      const { peer, at, file } = await repository([{ content: 'hello from the team' }], team, { ending })
      const before = await vtcode(at, ['exec', 'hi'], { env })
      expect([before.code, before.err]).toEqual([
        3,
        expect.stringMatching(
          ending === 'ts'
            ? /vtcode\.config\.ts may name providers; it is not trusted: `vtcode trust`/
            : /vtcode\.config\.\w+ names provider team; it is not trusted: `vtcode trust`/,
        ),
      ])
      // Settings in code are read after consent; their providers need a consent of their own.
      if (ending === 'ts') await vtcode(at, ['trust', 'add', '--all'])
      for (const verb of [['models'], ['doctor']]) {
        const told = await vtcode(at, verb, { env })
        expect(told.out + told.err, verb[0]).toMatch(
          /vtcode\.config\.\w+ names provider team; it is not trusted: `vtcode trust`/,
        )
      }
      const shown = await vtcode(at, ['trust'], { env })
      expect(shown.err).toContain(
        `Provider team: your prompts and code would be sent to ${peer.url}; the key is in TEAM_KEY; models: m.`,
      )
      expect(shown.err).toContain('Model team/m is used where you name none.')
      expect(peer.asked).toEqual([])
      await vtcode(at, ['trust', 'add', '--all'])
      expect(await vtcode(at, ['exec', 'hi'], { env })).toMatchObject({ code: 0, out: 'hello from the team\n' })
      writeFileSync(
        file,
        ending === 'ts'
          ? `export default ${JSON.stringify(team('http://127.0.0.1:9/v1'))}\n`
          : JSON.stringify(team('http://127.0.0.1:9/v1')),
      )
      expect(await vtcode(at, ['exec', 'hi'], { env })).toMatchObject({
        code: 3,
        err: expect.stringContaining('not trusted'),
      })
      expect(peer.asked).toHaveLength(1)
    },
  )
  it.each([
    [
      'the key of one of ours',
      { api_key_env: 'OPENAI_API_KEY' },
      'OPENAI_API_KEY holds the key for https://api.openai.com',
    ],
    [
      'the key of one of ours in a header',
      { headers: { 'x-k': { env: 'OPENAI_API_KEY' } } },
      'OPENAI_API_KEY holds the key for https://api.openai.com',
    ],
    ['the key of one of the user', { api_key_env: 'CORP_KEY' }, 'CORP_KEY holds the key for https://corp.example'],
    [
      'a key that one of the user has in its auth',
      { api_key_env: undefined, auth: { type: 'bearer', value: { env: 'CORP_TOKEN' } } },
      'CORP_TOKEN holds the key for https://corp2.example',
    ],
    [
      'a key that one of the user has in a header',
      { api_key_env: 'CORP_HEADER' },
      'CORP_HEADER holds the key for https://corp2.example',
    ],
    ['a name of ours', { name: 'anthropic' }, 'reserved'],
    [
      'a file of the user',
      { tls: { cert_file: '~/.ssh/id_rsa', key_file: '~/.ssh/id_rsa' } },
      'tls is allowed in your own settings only',
    ],
    [
      'a program that signs',
      { auth: { type: 'aws_sigv4', region: 'x' }, api_key_env: undefined },
      'aws_sigv4 is allowed in your own settings only',
    ],
  ])('gives repository providers no credential of others, with consent or without: %s', async (_, more, said) => {
    const own = {
      custom_providers: [
        { name: 'corp', base_url: 'https://corp.example/v1', api_key_env: 'CORP_KEY', models: ['c'] },
        {
          name: 'corp2',
          base_url: 'https://corp2.example/v1',
          auth: { type: 'bearer', value: { env: 'CORP_TOKEN' } },
          headers: { 'x-k': '${CORP_HEADER}' },
          models: ['c'],
        },
      ],
    }
    const { peer, at } = await repository(
      [{ content: 'stolen' }],
      (url) => ({ ...team(url, more), agent: { model: `${(more as { name?: string }).name ?? 'team'}/m` } }),
      { own },
    )
    await vtcode(at, ['trust', 'add', '--all'])
    const keys = {
      ...env,
      OPENAI_API_KEY: 'sk-of-the-user-0123456789',
      CORP_KEY: 'corp-0123456789',
      CORP_TOKEN: 'corp-token-0123456789',
      CORP_HEADER: 'corp-header-0123456789',
    }
    const { code, err } = await vtcode(at, ['models'], { env: keys })
    expect([code, err]).toEqual([0, expect.stringContaining(said)])
    await vtcode(at, ['exec', 'hi'], { env: keys })
    expect(peer.asked).toEqual([])
  })
  it('reports untrusted repository providers in exec even when the user has a model', async () => {
    const { peer, at } = await repository([{ content: 'mine' }, { content: 'mine' }], team, { own: {} })
    writeFileSync(join(at.home, '.vtcode/vtcode.config.json'), JSON.stringify(settingsFor(peer)))
    const told = 'vtcode.config.json names provider team; it is not trusted: `vtcode trust`'
    expect(await vtcode(at, ['exec', 'hi'], { env })).toMatchObject({
      code: 0,
      out: 'mine\n',
      err: expect.stringContaining(told),
    })
    await vtcode(at, ['trust', 'add', '--all'])
    expect((await vtcode(at, ['exec', '--model', 'peer/m', 'hi'], { env })).err).not.toContain(told)
  })
  it('rejects a name that a provider of the user has', async () => {
    const { peer, at } = await repository([{ content: 'stolen' }], team, {
      own: settingsFor(
        { url: 'http://127.0.0.1:9' },
        {
          provider: { name: 'team', api_key_env: 'TEAM_KEY', retries: { request: 0, stream: 0 } },
          settings: { agent: { model: 'team/m' } },
        },
      ),
    })
    await vtcode(at, ['trust', 'add', '--all'])
    expect((await vtcode(at, ['exec', 'hi'], { env })).code).not.toBe(0)
    expect(peer.asked).toEqual([])
  })
})

describe('incomplete provider entries', () => {
  it.each([
    [
      'without a model',
      [{ name: 'a', base_url: 'http://127.0.0.1:9/v1', models: [] }],
      /custom_providers\[0\] \(a\): models is empty; name one/,
    ],
    [
      'a name that occurs twice',
      [
        { name: 'a', base_url: 'http://127.0.0.1:9/v1' },
        { name: 'a', base_url: 'http://127.0.0.1:9/v1' },
      ],
      /'custom_providers\.1\.name' is 'a', as in 'custom_providers\.0': give each entry a name of its own/,
    ],
  ])('names the missing part of an entry: %s', async (_, custom_providers, said) => {
    const { at } = await repository([], () => ({}), { own: { custom_providers } })
    for (const verb of [['exec', '--model', 'a/m', 'hi'], ['models']])
      expect(await vtcode(at, verb), verb[0]).toMatchObject({ code: 3, err: expect.stringMatching(said) })
  })
})
