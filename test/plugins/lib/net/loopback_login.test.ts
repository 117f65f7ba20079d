import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { addForeignRoot } from '../../../../build/core/system/index.js'
import { LoopbackListener, openInBrowser } from '../../../../build/plugins/lib/net/index.js'
import { eventually } from '../../../support/exec.js'

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

it('accepts the browser while another program holds as many idle connections as are allowed', async () => {
  const way = await LoopbackListener.open()
  const idle = Array.from({ length: 65 }, () => connect(way.port, '127.0.0.1').on('error', () => {}))
  await Promise.all(
    idle.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
  )
  const state = way.state()
  const back = way.answer(new AbortController().signal)
  const target = get(`/callback?state=${state}&code=right`, `127.0.0.1:${way.port}`)
  expect(await said(way.port, target)).toMatch(/^HTTP\/1\.1 200 /)
  expect((await back).get('code')).toBe('right')
  idle.forEach((socket) => void socket.destroy())
  way.close()
})

it('opens no program of the repository as a browser, and passes no folder of it to the browser', async () => {
  await using place = await tempWorkspace({})
  const { root, home } = place
  const marker = join(home, 'marker')
  const opened = join(home, 'opened')
  await mkdir(join(root, '.git'))
  await place.write('bin/xdg-open', `#!/bin/sh\necho ran >>${marker}\n`)
  await place.write('bin/open', `#!/bin/sh\necho ran >>${marker}\n`)
  await place.write('../own/viewer', `#!/bin/sh\nprintf '%s' "$PATH" >${opened}.part && mv ${opened}.part ${opened}\n`)
  for (const name of ['bin/xdg-open', 'bin/open', '../own/viewer']) await chmod(join(root, name), 0o755)
  const workspace = join(root, 'sub')
  await mkdir(workspace)
  addForeignRoot(workspace)
  const bin = join(root, 'bin')
  const { PATH } = process.env
  process.env['PATH'] = `${bin}:${PATH}`
  try {
    const open = (env: Record<string, string>): boolean => openInBrowser('https://example.org/', { env, workspace })
    expect([open({ PATH: bin }), open({ PATH: '', BROWSER: join(bin, 'open') })]).toEqual([false, false])
    expect(open({ PATH: `${bin}:${join(root, '../own')}`, BROWSER: 'viewer' })).toBe(true)
    expect(await eventually(() => existsSync(opened))).toBe(true)
    expect(readFileSync(opened, 'utf8')).not.toContain(bin)
    expect(existsSync(marker)).toBe(false)
  } finally {
    process.env['PATH'] = PATH
  }
})
