import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { LoopbackListener } from '../../../../build/plugins/lib/net/index.js'

/** Returns the answer of a listener to exactly these bytes. */
const said = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket
      .on('data', (chunk) => (text += chunk))
      .on('error', () => {})
      .on('close', () => resolve(text))
  })
const get = (target: string, host: string): string => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`

it('survives every request to the sign-in listener, accepts only the expected one and closes connections', async () => {
  const way = await LoopbackListener.open()
  const own = `127.0.0.1:${way.port}`
  const state = way.state()
  const back = `/callback?state=${state}&code=`
  const hostile = [
    '//',
    '///',
    '/\\',
    '*',
    'http://',
    'http://[',
    `http://evil.example${back}x`,
    '/callback?state=',
    '/callback?state=undefined&code=x',
    '/callback',
    `//callback?state=${state}&code=x`,
  ]
  for (const target of hostile)
    expect(await said(way.port, get(target, own)), target).toMatch(/^(?:HTTP\/1\.1 4\d\d [^]*[cC]onnection: close|$)/)
  for (const host of ['evil.example', `evil.example:${way.port}`, `localhost:${way.port}`, '127.0.0.1'])
    expect(await said(way.port, get(`${back}stolen`, host)), host).toMatch(/^HTTP\/1\.1 404/)
  expect(await said(way.port, `POST ${back}x HTTP/1.1\r\nHost: ${own}\r\nContent-Length: 0\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 404/,
  )
  for (let n = 0; n < 40; n++) {
    await new Promise<void>((resolve) => {
      const socket = connect(way.port, '127.0.0.1', () => {
        socket.write(n % 2 ? 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n' : 'GET /')
        setTimeout(() => socket.resetAndDestroy(), n % 3)
      })
      socket.on('error', () => {}).on('close', () => resolve())
    })
  }
  const answer = way.answer(new AbortController().signal)
  expect(await said(way.port, get(`${back}right`, own))).toMatch(/^HTTP\/1\.1 200 [^]*signed in/)
  expect((await answer).get('code')).toBe('right')
  // An answer counts once.
  expect(await said(way.port, get(`${back}again`, own))).toMatch(/^HTTP\/1\.1 404/)
  way.close()
})
