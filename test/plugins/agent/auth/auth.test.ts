import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCredential, signIn, type Auth, type SignIn } from '../../../../build/plugins/agent/auth/index.js'

type Answer = [status: number, body: object, headers?: Record<string, string>]

const device: Auth = {
  type: 'oauth',
  token_url: 'https://example.com/token',
  device: 'https://example.com/device',
  client_id: 'us',
}
const page = { verification_uri: 'https://example.com/device', expires_in: 60, interval: 1 }
const code = { device_code: 'dev', user_code: 'WDJB-MJHT', ...page }
const token = { access_token: 'a-token', token_type: 'bearer' }
const pending = { error: 'authorization_pending' }
const signedIn = { headers: { authorization: 'Bearer a-token' } }

/** Prepares a sign-in to a server that gives these answers in turn. */
function prepare(...answers: Answer[]) {
  let now = 0
  const sent: { url: string; body: string; redirect: string | undefined }[] = []
  const fetch = async (url: string, { body, redirect }: RequestInit) => {
    sent.push({ url, body: String(body), redirect })
    const [status, value, headers] = answers.shift()!
    return new Response(JSON.stringify(value), { status, ...(headers && { headers }) })
  }
  const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) }
  const providers = { fetch, clock, env: {} } as unknown as SignIn['providers']
  const home = mkdtempSync(join(tmpdir(), 'sign-in-'))
  const read = async (auth = device) => {
    const lookup = { resolve: async (value: unknown) => String(value), workspace: home, home }
    return (await createCredential({ name: 'peer' }, auth, providers as never, lookup)).read()
  }
  const peer = { provider: 'peer', base_url: '', auth: device, home, providers }
  const login = () => signIn(peer, home, new AbortController().signal)
  return { sent, login, read, clock }
}

describe('createCredential', () => {
  const basic = { type: 'basic', username: 'us', password: 'a-value' } as const
  it.each([
    [{ type: 'bearer', value: 'a-value' }, { headers: { authorization: 'Bearer a-value' } }],
    [{ type: 'header', name: 'x-key', value: 'a-value' }, { headers: { 'x-key': 'a-value' } }],
    [{ type: 'query', name: 'key', value: 'a-value' }, { query: { key: 'a-value' } }],
    [basic, { headers: { authorization: `Basic ${btoa('us:a-value')}` } }],
    [{ type: 'none' }, {}],
  ] as const)('authorizes a request as %o declares', async (auth, expected) => {
    expect(await prepare().read(auth)).toEqual(expected)
  })

  it('reports why a server does not renew a token', async () => {
    const short = { ...token, refresh_token: 'a-refresh-token', expires_in: 100 }
    const refusal = { error: 'invalid_grant', error_description: 'too late' }
    const { login, read, clock } = prepare([200, code], [200, short], [400, refusal])
    await login()
    expect(await read()).toEqual(signedIn)
    await clock.sleep(50_000)
    await expect(read()).rejects.toThrow('the server says too late (invalid_grant)')
  })
})

describe('signIn', () => {
  it('polls the server at its interval until the user has entered the code', async () => {
    const answers: Answer[] = [
      [200, code],
      [400, pending],
      [400, { error: 'slow_down' }],
      [200, token],
    ]
    const { sent, login, read, clock } = prepare(...answers)
    await login()
    expect(clock.now()).toBe(1000 + 1000 + 6000)
    expect(await read()).toEqual(signedIn)
    const asked = ['device', 'token', 'token', 'token'].map((path) => [`https://example.com/${path}`, 'error'])
    expect(sent.map(({ url, redirect }) => [url, redirect])).toEqual(asked)
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const fields = Object.fromEntries(new URLSearchParams(sent.at(-1)!.body))
    expect(fields).toEqual({ client_id: 'us', grant_type, device_code: 'dev' })
  })

  it.each<[string, Answer[]]>([
    [
      'reports an error with status 200',
      [
        [200, code],
        [200, pending],
        [200, token],
      ],
    ],
    [
      'names no type of the token',
      [
        [200, code],
        [200, { access_token: 'a-token' }],
      ],
    ],
    [
      'sends an ID token of its issuer',
      [
        [200, code],
        [200, { ...token, id_token: 'a.b.c' }],
      ],
    ],
    [
      'sends null for what is absent',
      [
        [200, code],
        [200, { ...token, refresh_token: null, expires_in: null }],
      ],
    ],
    [
      'lists its scopes',
      [
        [200, code],
        [200, { ...token, scope: ['all'] }],
      ],
    ],
    [
      'writes numbers as text',
      [
        [200, { ...code, interval: '1' }],
        [200, { ...token, expires_in: '3600' }],
      ],
    ],
    [
      'leaves out when the code ends',
      [
        [200, { ...code, expires_in: undefined }],
        [200, token],
      ],
    ],
    [
      'sends a challenge with the token',
      [
        [200, code],
        [200, token, { 'www-authenticate': 'Key realm="kong"' }],
      ],
    ],
  ])('accepts a server that %s', async (_, answers) => {
    const { login, read } = prepare(...answers)
    await login()
    expect(await read()).toEqual(signedIn)
  })

  const tooLong = 'https://example.com cannot be asked (The answer is larger than 65536 bytes.)'
  it.each<[string, Answer[], string]>([
    ['an error with an object', [[400, { error: 'no', error_description: { toString: 1 } }]], 'the server says (no)'],
    ['an error of its own form', [[400, { error: { message: 'no' } }]], 'unexpected HTTP status code'],
    ['no object', [[200, 'no' as never]], '"device_code" property must be a string'],
    ['no code', [[200, {}]], '"device_code" property must be a string'],
    [
      'no token',
      [
        [200, code],
        [200, {}],
      ],
      '"access_token" property must be a string',
    ],
    [
      'no token in time',
      [
        [200, { ...code, expires_in: 1 }],
        [400, pending],
      ],
      'the user did not sign in',
    ],
    ['more than 64 KiB', [[200, { ...code, padding: 'a'.repeat(70_000) }]], tooLong],
  ])('refuses a server that gives %s', async (_, answers, reason) => {
    await expect(prepare(...answers).login()).rejects.toThrow(reason)
  })
})
