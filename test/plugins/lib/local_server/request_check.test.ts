import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createRequestCheck, isLoopback } from '../../../../build/plugins/lib/local_server/index.js'

const guard = createRequestCheck({
  host: '127.0.0.1',
  port: 7420,
  token: 'right',
  routes: { '/': ['GET'], '/data': ['GET', 'POST'] },
  open: ['/'],
})
const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  guard({ url, method, headers: { host: '127.0.0.1:7420', ...headers } } as unknown as IncomingMessage)?.status
const token = { authorization: 'Bearer right' }

describe('createRequestCheck', () => {
  it.each([
    ['the open page', ask('/'), undefined],
    ['data with the token', ask('/data?x=1', token), undefined],
    ['data without it', ask('/data'), 401],
    ['a wrong token', ask('/data', { authorization: 'Bearer wrong' }), 401],
    ['another scheme', ask('/data', { authorization: 'Basic right' }), 401],
    ['another Host', ask('/data', { ...token, host: 'evil.example:7420' }), 403],
    ['another port of Host', ask('/data', { ...token, host: '127.0.0.1:80' }), 403],
    ['another name of this machine', ask('/data', { ...token, host: 'LOCALHOST:7420' }), undefined],
    ['a foreign Origin', ask('/data', { ...token, origin: 'http://evil.example' }), 403],
    ['the Origin null', ask('/data', { ...token, origin: 'null' }), 403],
    ['its own Origin', ask('/data', { ...token, origin: 'http://127.0.0.1:7420' }), undefined],
    ['a path that there is not', ask('/other', token), 404],
    ['a name that every object has', ask('toString', token), 404],
    ['a method of another path', ask('/', token, 'POST'), 405],
    ['a body that is no JSON', ask('/data', { ...token, 'content-type': 'text/plain' }, 'POST'), 415],
    [
      'a body that is',
      ask('/data', { ...token, 'content-type': 'application/json; charset=utf-8' }, 'POST'),
      undefined,
    ],
  ])('returns the expected status for %s', (_, status, expected) => expect(status).toBe(expected))

  it('recognises loopback addresses', () => {
    expect(
      ['localhost', '::1', '127.0.0.1', '127.9.9.9', '0.0.0.0', '127.0.0.1.example', '192.168.0.1'].map(isLoopback),
    ).toEqual([true, true, true, true, false, false, false])
  })
})
