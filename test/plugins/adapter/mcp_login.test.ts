import { execFile } from 'node:child_process'
import type { IncomingMessage } from 'node:http'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { serve } from '../../support/server.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

const browser = new URL('../../support/browser.mjs', import.meta.url).pathname

it.each([
  ['file:///etc/passwd', false],
  ['/authorize', true],
])('opens the browser only on a web page, else on nothing: %s', async (page, opened) => {
  let origin = ''
  await using server = await serve((request, response) => {
    const json = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url!.includes('oauth-protected-resource'))
      return void json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (request.url!.includes('oauth-authorization-server')) {
      return void json({
        issuer: origin,
        authorization_endpoint: page.startsWith('/') ? origin + page : page,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      })
    }
    const { searchParams, pathname } = new URL(request.url!, origin)
    if (pathname === '/authorize')
      return void response
        .writeHead(302, {
          location: `${searchParams.get('redirect_uri')}?error=access_denied&state=${searchParams.get('state')}`,
        })
        .end()
    response
      .writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
      })
      .end()
  })
  origin = server.url
  await using made = await tempWorkspace({})
  await made.write('../home/browser', `#!/bin/sh\ntouch "$0.was-here"\nexec '${process.execPath}' '${browser}' "$1"\n`)
  chmodSync(`${made.home}/browser`, 0o755)
  const env = { ...process.env, BROWSER: `${made.home}/browser` }
  const servers = {
    hostile: { type: 'streamable-http' as const, url: `${origin}/mcp`, auth: { type: 'oauth', client_id: 'us' } },
  }
  await using booted = await bootKernel({ config: { mcp: { servers } }, env })
  expect(booted.kernel.diagnostics().find(({ code }) => code === 'VT_MCP_START')).toBeDefined()
  expect(existsSync(`${made.home}/browser.was-here`)).toBe(opened)
})

it('keeps the former token whole when the new one cannot be written', async () => {
  let origin = ''
  let issued = 0
  let accepted = ''
  await using server = await serve((request, response, { body, method }) => {
    const json = (value: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const { searchParams, pathname } = new URL(request.url!, origin)
    if (pathname.includes('oauth-protected-resource'))
      return json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (pathname.includes('oauth-authorization-server')) {
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    }
    if (pathname === '/authorize')
      return response
        .writeHead(302, {
          location: `${searchParams.get('redirect_uri')}?code=the-code&state=${searchParams.get('state')}`,
        })
        .end()
    if (pathname === '/token') {
      accepted = `${(issued += 1)}`.repeat(4000)
      return json({ access_token: accepted, refresh_token: `renewal-${issued}`, token_type: 'bearer' })
    }
    if (request.headers.authorization !== `Bearer ${accepted}`) {
      return response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
        })
        .end()
    }
    if (method !== 'POST') return response.writeHead(405).end()
    const { id, method: asked } = JSON.parse(body) as { id?: number; method: string }
    if (id === undefined) return response.writeHead(202).end()
    if (asked === 'initialize')
      return json({
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
      })
    if (asked === 'tools/list')
      return json({ jsonrpc: '2.0', id, result: { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] } })
    if (asked === 'tools/call')
      return json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'hello' }] } })
    return json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'not known' } })
  })
  origin = server.url
  await using made = await tempWorkspace({})
  await made.write('../home/browser', `#!/bin/sh\nexec '${process.execPath}' '${browser}' "$1"\n`)
  chmodSync(`${made.home}/browser`, 0o755)
  await made.write(
    '../home/.vtcode/vtcode.config.json',
    JSON.stringify({
      mcp: {
        servers: { s: { type: 'streamable-http', url: `${origin}/mcp`, auth: { type: 'oauth', client_id: 'us' } } },
      },
      automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } },
    }),
  )
  const env = { BROWSER: `${made.home}/browser` }
  const call = ['--mode', 'full-auto', 'call', 'mcp__s__hello']
  expect(JSON.parse((await vtcode(made, call, { env })).stdout)).toMatchObject({ ok: true, text: 'hello' })
  const folder = join(made.home, '.vtcode/mcp-logins')
  const file = join(folder, readdirSync(folder)[0]!)
  const before = readFileSync(file, 'utf8')
  expect([statSync(file).mode & 0o777, before.includes(accepted)]).toEqual([0o600, true])
  // The server requires a new token, and a file size limit makes the write of that token fail halfway.
  accepted = 'another'
  const limited = ['-c', 'ulimit -f 1; exec "$@"', 'sh', process.execPath, bin, ...call]
  const said = await new Promise<string>((resolve) =>
    execFile('sh', limited, { cwd: made.root, env: surroundings(made, env) }, (_, stdout) => resolve(stdout)),
  )
  expect(said).toContain('file too large')
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(readdirSync(folder)).toHaveLength(1)
  expect(JSON.parse((await vtcode(made, call, { env })).stdout)).toMatchObject({ ok: true, text: 'hello' })
})

it('sends a client secret only to the issuer of the first login or of the settings', async () => {
  let origin = ''
  const grants: { to: string; body: string; authorization: string | undefined }[] = []
  const keys = new Map<string, Set<unknown>>()
  const heard = (to: string, { headers }: IncomingMessage) =>
    keys.set(to, (keys.get(to) ?? new Set()).add(headers['x-api-key']))
  /** A server that signs in, and gives tokens that the MCP server takes until it names another issuer. */
  const issuer = async () => {
    let own = ''
    const server = await serve((request, response, { body }) => {
      const json = (value: object) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      const { searchParams, pathname } = new URL(request.url!, own)
      heard(own, request)
      if (pathname.includes('.well-known'))
        return json({
          issuer: own,
          authorization_endpoint: `${own}/authorize`,
          token_endpoint: `${own}/token`,
          registration_endpoint: `${own}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
        })
      if (pathname === '/authorize')
        return response
          .writeHead(302, {
            location: `${searchParams.get('redirect_uri')}?code=the-code&state=${searchParams.get('state')}`,
          })
          .end()
      grants.push({ to: own, body, authorization: request.headers.authorization })
      if (pathname === '/register') return json({ client_id: 'fresh', redirect_uris: [] })
      return json({ access_token: `token-of-${own}`, token_type: 'bearer' })
    })
    own = server.url
    return server
  }
  await using right = await issuer()
  await using wrong = await issuer()
  let named = right.url
  await using server = await serve((request, response, { body, method }) => {
    const json = (value: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    heard('the server', request)
    if (request.url!.includes('oauth-protected-resource'))
      return json({ resource: `${origin}/mcp`, authorization_servers: [named] })
    if (request.headers.authorization !== `Bearer token-of-${named}`)
      return response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
        })
        .end()
    if (method !== 'POST') return response.writeHead(405).end()
    const { id, method: asked } = JSON.parse(body) as { id?: number; method: string }
    if (id === undefined) return response.writeHead(202).end()
    if (asked === 'initialize')
      return json({
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
      })
    if (asked === 'tools/list')
      return json({ jsonrpc: '2.0', id, result: { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] } })
    return json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'not known' } })
  })
  origin = server.url
  await using made = await tempWorkspace({})
  await made.write('../home/browser', `#!/bin/sh\nexec '${process.execPath}' '${browser}' "$1"\n`)
  chmodSync(`${made.home}/browser`, 0o755)
  const secret = 'a-client-secret-0123456789'
  const reasons = async (more: object = {}) => {
    const servers = {
      s: {
        type: 'streamable-http',
        url: `${origin}/mcp`,
        lazy: false,
        headers: { 'x-api-key': 'a-key-of-the-server' },
        auth: { type: 'oauth', client_id: 'us', client_secret: { env: 'OUR_SECRET' }, ...more },
      },
    }
    const env = { PATH: process.env.PATH, HOME: made.home, BROWSER: `${made.home}/browser`, OUR_SECRET: secret }
    const kernel = await createKernel({
      workspace: made.root,
      home: made.home,
      env,
      config: { mcp: { servers } } as never,
    })
    const failed = kernel.diagnostics().filter(({ code }) => code === 'VT_MCP_START')
    await kernel.close()
    return failed.map(({ message }) => message).join()
  }
  expect(await reasons()).toBe('')
  expect(grants.map(({ to }) => to)).toEqual([right.url])
  expect(grants[0]!.body).toContain(secret)
  named = wrong.url
  expect(await reasons()).toContain(`its client secret belongs to ${right.url}`)
  expect(await reasons({ issuer: right.url })).toContain(`its client secret belongs to ${right.url}`)
  expect(grants.filter(({ to }) => to === wrong.url)).toEqual([])
  // The user names the new issuer in the settings.
  expect(await reasons({ issuer: wrong.url })).toBe('')
  expect(grants.filter(({ to }) => to === wrong.url)).toHaveLength(1)
  // Headers for the server must not reach its login pages.
  expect(Object.fromEntries([...keys].map(([to, heard]) => [to, [...heard]]))).toEqual({
    'the server': ['a-key-of-the-server'],
    [right.url]: [undefined],
    [wrong.url]: [undefined],
  })
})
