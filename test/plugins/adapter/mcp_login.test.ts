import { chmodSync, existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { serve } from '../../fixtures/server.js'

const browser = new URL('../../conformance/browser.mjs', import.meta.url).pathname

it.each([
  ['file:///etc/passwd', false],
  ['/authorize', true],
])('sends the browser to a page of the web and nowhere else: %s', async (page, opened) => {
  let origin = ''
  await using server = await serve((request, response) => {
    const json = (body: object) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url!.includes('oauth-protected-resource')) return void json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (request.url!.includes('oauth-authorization-server')) {
      return void json({ issuer: origin, authorization_endpoint: page.startsWith('/') ? origin + page : page, token_endpoint: `${origin}/token`, response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] })
    }
    const { searchParams, pathname } = new URL(request.url!, origin)
    if (pathname === '/authorize') return void response.writeHead(302, { location: `${searchParams.get('redirect_uri')}?error=access_denied&state=${searchParams.get('state')}` }).end()
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` }).end()
  })
  origin = server.url
  await using made = await tempWorkspace({})
  await made.write('../home/browser', `#!/bin/sh\ntouch "$0.was-here"\nexec '${process.execPath}' '${browser}' "$1"\n`)
  chmodSync(`${made.home}/browser`, 0o755)
  const env = { ...process.env, BROWSER: `${made.home}/browser` }
  const servers = { hostile: { type: 'streamable-http' as const, url: `${origin}/mcp`, auth: { type: 'oauth', client_id: 'us' } } }
  await using booted = await bootKernel({ config: { mcp: { servers } }, env })
  expect(booted.kernel.diagnostics().find(({ code }) => code === 'VT_MCP_START')).toBeDefined()
  expect(existsSync(`${made.home}/browser.was-here`)).toBe(opened)
})
