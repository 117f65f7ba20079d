import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCredential, signIn, type Auth, type SignIn } from '../../../../build/plugins/agent/auth/index.js'

type Answer = [status: number, body: object, headers?: Record<string, string>]

const device: Auth = { type: 'oauth', token_url: 'https://example.com/token', device: 'https://example.com/device', client_id: 'us' }
const code = { device_code: 'dev', user_code: 'WDJB-MJHT', verification_uri: 'https://example.com/device', expires_in: 60, interval: 1 }

/** A sign-in to a server that gives these answers in turn. */
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
  const login = () => signIn({ provider: 'peer', base_url: '', auth: device, home, providers }, home, new AbortController().signal)
  return { sent, login, read, clock }
}

describe('createCredential', () => {
  it.each([
    [{ type: 'bearer', value: 'a-value' }, { headers: { authorization: 'Bearer a-value' } }],
    [{ type: 'header', name: 'x-key', value: 'a-value' }, { headers: { 'x-key': 'a-value' } }],
    [{ type: 'query', name: 'key', value: 'a-value' }, { query: { key: 'a-value' } }],
    [{ type: 'basic', username: 'us', password: 'a-value' }, { headers: { authorization: `Basic ${btoa('us:a-value')}` } }],
    [{ type: 'none' }, {}],
  ] as const)('authorizes a request as %o declares', async (auth, expected) => {
    expect(await prepare().read(auth)).toEqual(expected)
  })

  it('reports why a server does not renew a token', async () => {
    const token = { access_token: 'an-access-token', refresh_token: 'a-refresh-token', token_type: 'bearer', expires_in: 100 }
    const { login, read, clock } = prepare([200, code], [200, token], [400, { error: 'invalid_grant', error_description: 'too late' }])
    await login()
    expect(await read()).toEqual({ headers: { authorization: 'Bearer an-access-token' } })
    await clock.sleep(50_000)
    await expect(read()).rejects.toThrow('the server says too late (invalid_grant)')
  })
})

describe('signIn', () => {
  it('asks the server at its interval until the user has typed the code in', async () => {
    const pending: Answer = [400, { error: 'authorization_pending' }]
    const { sent, login, read, clock } = prepare([200, code], pending, [400, { error: 'slow_down' }], [200, { access_token: 'a-token', token_type: 'Bearer' }])
    await login()
    expect(clock.now()).toBe(1000 + 1000 + 6000)
    expect(await read()).toEqual({ headers: { authorization: 'Bearer a-token' } })
    expect(sent.map(({ url, redirect }) => [url, redirect])).toEqual([['device'], ['token'], ['token'], ['token']].map(([path]) => [`https://example.com/${path}`, 'error']))
    const grant = { client_id: 'us', grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'dev' }
    expect(Object.fromEntries(new URLSearchParams(sent.at(-1)!.body))).toEqual(grant)
  })

  it.each<[string, Answer[]]>([
    ['reports an error with status 200', [[200, code], [200, { error: 'authorization_pending' }], [200, { access_token: 'a-token', token_type: 'bearer' }]]],
    ['names no type of the token', [[200, code], [200, { access_token: 'a-token' }]]],
    ['sends an ID token of its issuer', [[200, code], [200, { access_token: 'a-token', token_type: 'bearer', id_token: 'a.b.c' }]]],
    ['sends null for what it does not give', [[200, code], [200, { access_token: 'a-token', token_type: 'bearer', refresh_token: null, scope: null, expires_in: null }]]],
    ['writes an interval as text', [[200, { ...code, interval: '1' }], [200, { access_token: 'a-token', token_type: 'bearer', expires_in: '3600' }]]],
    ['leaves out when the code ends', [[200, { ...code, expires_in: undefined }], [200, { access_token: 'a-token', token_type: 'bearer' }]]],
    ['sends a challenge with the token', [[200, code], [200, { access_token: 'a-token', token_type: 'bearer' }, { 'www-authenticate': 'Key realm="kong"' }]]],
  ])('accepts a server that %s', async (_, answers) => {
    const { login, read } = prepare(...answers)
    await login()
    expect(await read()).toEqual({ headers: { authorization: 'Bearer a-token' } })
  })

  it.each<[string, Answer[], string]>([
    ['no code', [[200, {}]], '"device_code" property must be a string'],
    ['no token', [[200, code], [200, {}]], '"access_token" property must be a string'],
    ['nothing to type in before the code ends', [[200, { ...code, expires_in: 1 }], [400, { error: 'authorization_pending' }]], 'nobody signed in'],
    ['more than 64 KiB', [[200, { ...code, padding: 'a'.repeat(70_000) }]], 'https://example.com cannot be asked (The answer is larger than 65536 bytes.)'],
  ])('refuses a server that gives %s', async (_, answers, reason) => {
    await expect(prepare(...answers).login()).rejects.toThrow(reason)
  })
})
