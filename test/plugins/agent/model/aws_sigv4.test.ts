import { createHash, createHmac } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { serve, type Seen } from '../../../support/server.js'
import { hold } from '../../../support/inside.js'
import { home, vtcode, type Format, type Home } from '../../../support/peer.js'

const hex = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** Computes the signature of a request by the public description of Signature Version 4. */
function signatureOf({ method, path, headers, body }: Seen, secret: string): string {
  const { credential = '', names = '' } =
    /Credential=(?<credential>[^,]+), SignedHeaders=(?<names>[^,]+),/.exec(headers.authorization ?? '')?.groups ?? {}
  const [, ...scope] = credential.split('/')
  const { pathname, searchParams } = new URL(path, 'http://x')
  const query = [...searchParams]
    .map((pair) => pair.map(encoded).join('='))
    .sort()
    .join('&')
  const said = names.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const canonical = [method, pathname.split('/').map(encoded).join('/'), query, said.join(''), names, hex(body)].join(
    '\n',
  )
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope.join('/'), hex(canonical)].join('\n')
  return hmac(
    scope.reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${secret}`),
    toSign,
  ).toString('hex')
}
const shownIn = ({ headers }: Pick<Seen, 'headers'>) =>
  /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1]

// From the public suite of AWS, https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-signing-examples.html
const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const token =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=='
it.each([
  ['get-vanilla', 'GET', '/', {}, '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-header-value-case',
    'POST',
    '/',
    { 'my-header1': 'VALUE1' },
    '',
    'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  ],
  [
    'post-sts-header-before',
    'POST',
    '/',
    { 'x-amz-security-token': token },
    '',
    '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { 'content-type': 'application/x-www-form-urlencoded' },
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
])('computes the AWS signature of the public examples: %s', (_, method, path, more, body, expected) => {
  const headers: IncomingHttpHeaders = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', ...more }
  headers.authorization = `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${Object.keys(headers).sort().join(';')}, Signature=`
  expect(signatureOf({ method, path, headers, body }, secret)).toBe(expected)
})

const chat = (choice: object) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\ndata: [DONE]\n\n`
const answers: Partial<Record<Format, string>> = {
  'openai-chat': chat({ delta: { content: 'ok' }, finish_reason: 'stop' }),
  'anthropic-messages': [
    {
      type: 'message_start',
      message: {
        id: 'x',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join(''),
}
const stream = { 'content-type': 'text/event-stream' }
const ok = answers['openai-chat']!
/** Starts a server that accepts only signed requests and makes a user with that server in their settings. */
const signedPlace = async (
  secretKey: string,
  { auth = {}, provider = {}, format = 'openai-chat' as Format, first = [] as string[] } = {},
) => {
  const texts = [...first]
  const server = hold(
    await serve((_, response, seen) => {
      if (shownIn(seen) !== signatureOf(seen, secretKey))
        return response
          .writeHead(403, { 'content-type': 'application/json' })
          .end('{"message":"The request signature we calculated does not match the signature you provided."}')
      return response.writeHead(200, stream).end(texts.shift() ?? answers[format])
    }),
  )
  return {
    server,
    at: hold(
      await home(
        server,
        {},
        { format, provider: { auth: { type: 'aws_sigv4', region: 'us-west-2', ...auth }, ...provider } },
      ),
    ),
  }
}
const mine = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: secret }
const aws = (at: Home, files: Record<string, string>) => {
  mkdirSync(join(at.home, '.aws'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at.home, '.aws', name), text)
}

describe('AWS signing', () => {
  it.each(['openai-chat', 'anthropic-messages'] as const)(
    'signs a request over %s with all entry headers and shows no key',
    async (format) => {
      const { server, at } = await signedPlace(secret, {
        format,
        provider: { headers: { 'x-team': 'a   b ü' }, query: { 'a b': 'c/d+é~*', A: '' } },
      })
      const { code, out, err } = await vtcode(at, ['exec', '--json', 'say "grüß\u2028dich" 🎉'], {
        env: { ...mine, AWS_SESSION_TOKEN: token },
      })
      expect([code, err]).toEqual([0, expect.any(String)])
      const { headers, path } = server.seen[0]!
      expect(headers.authorization).toMatch(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-west-2\/bedrock\/aws4_request, SignedHeaders=[\w;-]*host[\w;-]*x-amz-security-token;x-team, Signature=/,
      )
      expect([headers['x-amz-security-token'], headers['x-api-key'], headers['x-team']]).toEqual([
        token,
        undefined,
        expect.stringContaining('a   b'),
      ])
      expect(path).toContain('a+b=')
      const session = JSON.parse(out.split('\n')[0]!).session_id
      const kept = ['events.jsonl', 'messages.jsonl']
        .map((name) => readFileSync(join(at.root, '.vtcode/sessions', session, name), 'utf8'))
        .join('')
      for (const text of [out, err, kept]) expect(text).not.toMatch(/wJalrXUtnFEMI|AQoDYXdzEPT/)
    },
  )

  it('reports that the server refuses other keys', async () => {
    const { at } = await signedPlace('another secret')
    expect(await vtcode(at, ['ask', 'hi'], { env: mine })).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not match the signature'),
    })
  })

  it('signs for the service and region of the entry and signs again after a redirect to the same server', async () => {
    const server = hold(
      await serve((_, response, seen) => {
        if (seen.path === '/v1/chat/completions') return response.writeHead(307, { location: '/v2/elsewhere' }).end()
        return response.writeHead(shownIn(seen) === signatureOf(seen, secret) ? 200 : 403, stream).end(ok)
      }),
    )
    const at = hold(
      await home(
        server,
        {},
        { provider: { auth: { type: 'aws_sigv4', region: 'eu-central-1', service: 'bedrock-mantle' } } },
      ),
    )
    expect(await vtcode(at, ['ask', 'hi'], { env: mine })).toMatchObject({ code: 0, out: 'ok\n' })
    const [first, second] = server.seen.map(({ headers }) => headers.authorization!)
    expect(second).toContain('/eu-central-1/bedrock-mantle/aws4_request')
    expect(second).not.toBe(first)
  })

  it('sends no signature to another server after a redirect', async () => {
    const other = hold(await serve((_, response) => response.writeHead(200, stream).end(ok)))
    const server = hold(
      await serve((_, response) => response.writeHead(307, { location: `http://localhost:${other.port}/v1/x` }).end()),
    )
    const at = hold(await home(server, {}, { provider: { auth: { type: 'aws_sigv4', region: 'us-west-2' } } }))
    await vtcode(at, ['ask', 'hi'], { env: { ...mine, AWS_SESSION_TOKEN: token } })
    expect(Object.keys(other.seen[0]!.headers).filter((name) => /^(authorization|x-amz-)/.test(name))).toEqual([])
  })
})

describe('AWS keys', () => {
  it("reads the keys of a profile from the user's files, credentials first, before the environment", async () => {
    const { at } = await signedPlace('secret-of-the-profile', { auth: { profile: 'at work' } })
    aws(at, {
      credentials:
        '# mine\n[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other\n\n[at work]\r\naws_access_key_id=AKIDWORK\r\nAWS_SECRET_ACCESS_KEY =  secret-of-the-profile  \r\n',
      config: '[profile "at work"]\nregion = us-east-1\naws_secret_access_key = old\n',
    })
    expect(await vtcode(at, ['ask', 'hi'], { env: mine })).toMatchObject({ code: 0, out: 'ok\n' })
    const { at: second, server } = await signedPlace('other', {})
    aws(second, {
      credentials: '',
      config:
        '[profile x]\naws_access_key_id = a\naws_secret_access_key = b\n[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other\n',
    })
    expect(await vtcode(second, ['ask', 'hi'])).toMatchObject({ code: 0, out: 'ok\n' })
    expect(server.seen[0]!.headers.authorization).toContain('Credential=AKIDOTHER/')
  })

  /** A stub of the AWS program that records its arguments. */
  const program = (at: Home, answer: string, folder = join(at.home, '.local/bin')) => {
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'aws')
    writeFileSync(file, `#!/bin/sh\necho "$@ $AWS_PROFILE" >> ${at.home}/asked\n${answer}\n`)
    chmodSync(file, 0o755)
    return `${folder}:${process.env['PATH']}`
  }
  const lent = (end: number) =>
    `echo '${JSON.stringify({ Version: 1, AccessKeyId: 'ASIALENT', SecretAccessKey: 'secret-that-was-lent', SessionToken: token, Expiration: new Date(Date.now() + end).toISOString() })}'`

  it('gets keys of a role or a sign-in from the AWS program once for their lifetime', async () => {
    const list = chat({
      delta: {
        tool_calls: [
          { index: 0, id: 'c', type: 'function', function: { name: 'unified_search', arguments: '{"action":"list"}' } },
        ],
      },
      finish_reason: 'tool_calls',
    })
    for (const [end, times] of [
      [3_600_000, 1],
      [60_000, 2],
    ] as const) {
      const { at, server } = await signedPlace('secret-that-was-lent', { auth: { profile: 'sso' }, first: [list] })
      aws(at, {
        config:
          '[profile sso]\nrole_arn = arn:aws:iam::1:role/x\naws_access_key_id = AKIDBASE\naws_secret_access_key = base\n',
      })
      const PATH = program(at, lent(end))
      expect(await vtcode(at, ['exec', 'hi'], { env: { ...mine, PATH } })).toMatchObject({ code: 0, out: 'ok\n' })
      expect(server.seen.length).toBe(2)
      expect(readFileSync(join(at.home, 'asked'), 'utf8')).toBe(
        'configure export-credentials --format process --profile sso \n'.repeat(times),
      )
    }
  })

  it('reports each way to get missing keys and runs no program of the workspace', async () => {
    const { at } = await signedPlace('x', { auth: { profile: 'gone' } })
    const PATH = program(at, lent(60_000), join(at.root, 'node_modules/.bin')).replace(
      process.env['PATH']!,
      '/nonexistent',
    )
    const bare = await vtcode(at, ['ask', 'hi'], { env: { PATH } })
    expect(bare).toMatchObject({ code: 1, err: expect.stringContaining("the profile 'gone' has none") })
    expect(bare.err).toContain('is not on the search path')
    expect(bare.err).toContain('AWS_ACCESS_KEY_ID')
    expect(existsSync(join(at.home, 'asked'))).toBe(false)
    for (const [answer, says] of [
      ['exit 255', 'ended with exit code 255'],
      ['echo hello', 'printed no keys'],
      ['cat /dev/zero', 'printed more than 64 KiB'],
    ] as const) {
      expect(await vtcode(at, ['ask', 'hi'], { env: { PATH: program(at, answer) } }), answer).toMatchObject({
        code: 1,
        err: expect.stringContaining(says),
      })
    }
  })

  it('names missing or invalid keys and fields of the entry', async () => {
    const at = hold(await home({ url: 'http://127.0.0.1:9' }, {}, { provider: { auth: { type: 'aws_sigv4' } } }))
    expect(await vtcode(at, ['ask', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining("auth of the type 'aws_sigv4' needs region."),
    })
    const strange = hold(
      await home(
        { url: 'http://127.0.0.1:9' },
        {},
        { provider: { auth: { type: 'aws_sigv4', region: 'us-west-2', value: 'x' } } },
      ),
    )
    expect(await vtcode(strange, ['ask', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining("auth of the type 'aws_sigv4' has no value."),
    })
    const { at: device } = await signedPlace('x')
    mkdirSync(join(device.home, '.aws/credentials'), { recursive: true })
    expect(await vtcode(device, ['ask', 'hi'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not a regular file'),
    })
  })
})
