import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { serve, type TestServer } from '../../../support/server.js'
import { hold } from '../../../support/inside.js'
import { home, vtcode, type Home } from '../../../support/peer.js'

const browser = new URL('../../../support/browser.mjs', import.meta.url).pathname

/** Starts a server that signs users in and answers as a model for its latest token. */
async function signing(
  how: { expires_in?: number; refuse?: string; pending?: number } = {},
): Promise<{ server: TestServer; tokens: string[]; challenge: () => string }> {
  const tokens: string[] = []
  let challenge = ''
  let pending = how.pending ?? 0
  const server: TestServer = hold(
    await serve((request, response, { path, body }) => {
      const json = (status: number, value: object) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      const { pathname, searchParams } = new URL(path, server.url)
      if (pathname === '/authorize') {
        challenge = searchParams.get('code_challenge')!
        const said = how.refuse ? `error=access_denied&error_description=${how.refuse}` : 'code=the-code'
        return response
          .writeHead(302, {
            location: `${searchParams.get('redirect_uri')}?${said}&state=${searchParams.get('state')}`,
          })
          .end()
      }
      if (pathname === '/device')
        return json(200, {
          device_code: 'dev',
          user_code: 'WDJB-MJHT',
          verification_uri: 'https://example.org/device',
          interval: 1,
        })
      if (pathname === '/token') {
        if (pending-- > 0) return json(400, { error: 'authorization_pending' })
        const verifier = new URLSearchParams(body).get('code_verifier')
        if (verifier !== null && createHash('sha256').update(verifier).digest('base64url') !== challenge)
          return json(400, { error: 'invalid_grant' })
        tokens.push(`token-of-the-user-${tokens.length + 1}-abcdef`)
        return json(200, {
          access_token: tokens.at(-1),
          refresh_token: `renewal-${tokens.length}-abcdef`,
          token_type: 'bearer',
          ...(how.expires_in !== undefined && { expires_in: how.expires_in }),
        })
      }
      if (request.headers.authorization !== `Bearer ${tokens.at(-1)}`)
        return json(401, { error: { message: `not ${request.headers.authorization}` } })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return response.end(
        'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"welcome"},"finish_reason":null}]}\n\ndata: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      )
    }),
  )
  return { server, tokens, challenge: () => challenge }
}

async function place({ url }: TestServer, auth: object = { authorization_url: `${url}/authorize` }): Promise<Home> {
  const at = hold(
    await home(
      { url },
      {},
      {
        provider: {
          auth: { type: 'oauth', token_url: `${url}/token`, client_id: 'us', scopes: ['models', 'more'], ...auth },
        },
      },
    ),
  )
  writeFileSync(join(at.home, 'browser'), `#!/bin/sh\nexec '${process.execPath}' '${browser}' "$1"\n`)
  chmodSync(join(at.home, 'browser'), 0o755)
  return at
}
// The sign-in address goes to the real stderr, so this needs its own process.
const login = (at: Home, ...more: string[]) =>
  vtcode(at, ['models', 'login', 'peer', ...more], { process: true, env: { BROWSER: join(at.home, 'browser') } })
const keptOf = (at: Home): string =>
  join(at.home, '.vtcode/model-logins', readdirSync(join(at.home, '.vtcode/model-logins'))[0]!)

describe('provider sign-in', () => {
  it('signs in through the browser and keeps the token readable by the user alone and out of output', async () => {
    const { server, tokens } = await signing()
    const at = await place(server)
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('`vtcode models login peer`'),
    })
    expect(await login(at)).toMatchObject({ code: 0, out: '', err: expect.stringContaining('Signed in to peer.') })
    expect(server.seen.find(({ path }) => path.startsWith('/authorize'))!.path).toMatch(
      /client_id=us.*scope=models\+more/,
    )
    const ran = await vtcode(at, ['exec', '--json', 'hi'])
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('welcome') })
    expect(JSON.stringify(ran)).not.toContain(tokens[0])
    expect([statSync(keptOf(at)).mode & 0o777, statSync(join(at.home, '.vtcode/model-logins')).mode & 0o777]).toEqual([
      0o600, 0o700,
    ])
    expect(await login(at, '--forget')).toMatchObject({ code: 0, err: expect.stringContaining('Signed out') })
    expect((await vtcode(at, ['ask', 'hi'])).code).toBe(3)
  })

  it('signs in with a device code without a browser', async () => {
    const { server } = await signing({ pending: 1 })
    const at = await place(server, { device: `${server.url}/device` })
    expect(await login(at)).toMatchObject({
      code: 0,
      err: expect.stringContaining('type WDJB-MJHT at https://example.org/device'),
    })
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({ code: 0, out: 'welcome\n' })
  })

  it('renews a token that expires or is refused and saves the new one', async () => {
    const { server, tokens } = await signing({ expires_in: 30 })
    const at = await place(server)
    await login(at)
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({ code: 0, out: 'welcome\n' })
    expect(tokens.length).toBe(2)
    expect(
      new URLSearchParams(server.seen.filter(({ path }) => path === '/token').at(-1)!.body).get('refresh_token'),
    ).toBe('renewal-1-abcdef')
    // The server no longer knows its token: one renewal, then the request again.
    const kept = JSON.parse(readFileSync(keptOf(at), 'utf8'))
    writeFileSync(
      keptOf(at),
      JSON.stringify({ ...kept, access_token: 'stale-token-abcdef', expires_at: Date.now() + 3_600_000 }),
    )
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({ code: 0, out: 'welcome\n' })
    expect(tokens.length).toBe(3)
  })

  it('sends no token that was granted for another address or by another server', async () => {
    const { server } = await signing()
    const at = await place(server)
    await login(at)
    const other = await signing()
    const file = join(at.home, '.vtcode/vtcode.config.json')
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(`"base_url":"${server.url}`, `"base_url":"${other.server.url}`),
    )
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('no user has signed in yet'),
    })
    expect(other.server.seen).toEqual([])
  })

  it('reports objections of the server and faults of the auth settings', async () => {
    const { server } = await signing({ refuse: 'not+today' })
    const at = await place(server)
    expect(await login(at)).toMatchObject({ code: 3, err: expect.stringContaining('the server says not today') })
    const away = hold(await serve((_, response) => response.writeHead(307, { location: `${server.url}/token` }).end()))
    const sent = await place(server, { device: `${away.url}/device` })
    expect(await login(sent)).toMatchObject({ code: 3, err: expect.stringContaining('cannot be asked') })
    for (const [auth, says] of [
      [
        { authorization_url: 'http://example.org/authorize' },
        "auth.authorization_url 'http://example.org/authorize' is neither https nor http to this machine",
      ],
      [{}, 'needs authorization_url or device, one of them'],
      [{ device: 'https://a.example', value: 'x' }, "auth of the type 'oauth' has no value"],
    ] as const) {
      expect(await vtcode(await place(server, auth), ['models']), says).toMatchObject({
        code: 3,
        err: expect.stringContaining(says),
      })
    }
    const plain = hold(await home(server))
    expect(await login(plain)).toMatchObject({ code: 3, err: expect.stringContaining('has no auth of the type oauth') })
  })
})
