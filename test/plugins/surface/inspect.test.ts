import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seriousFaults, startBrowser } from '../../support/browser_page.js'
import { lacks } from '../../support/exec.js'
import { home, vtcode, type Home } from '../../support/peer.js'
import { bin } from '../../support/program.js'
import { eventful, TraceLog } from '../../support/trace_log.js'

const evil = '</script><img src=x onerror="window.hit=1">\u202egnirts'
const lineOf = (event: object): string => `${JSON.stringify({ schema_version: '1.0.0', event })}\n`

let place: Home
let child: ChildProcess
let url = ''
let err = ''
const origin = () => url.split('/#')[0]!
const token = () => url.split('#')[1]!
const ask = async (path: string, how: RequestInit & { headers?: Record<string, string> } = {}) => {
  const response = await fetch(`${origin()}${path}`, {
    ...how,
    headers: { authorization: `Bearer ${token()}`, ...how.headers },
  })
  return { status: response.status, body: (await response.json()) as any }
}
const log = (session: string) => join(place.root, '.vtcode/sessions', session, 'events.jsonl')

beforeAll(async () => {
  const grep = 'name: team_grep\naction: unified_search/grep\nstage: override\nmodule: ./grep.mjs\n'
  place = await home(
    { url: 'http://127.0.0.1:9' },
    {
      'vtcode.config.yaml': 'policy: { ask: ["Edit(/docs/**)"] }\n',
      '.vtcode/plugins/team/vtcode.yaml': grep,
      '.vtcode/plugins/team/grep.mjs': 'export default async () => undefined\n',
      'secret/events.jsonl': lineOf({ type: 'error', code: 'x', message: 'outside' }),
    },
  )
  mkdirSync(join(place.root, '.vtcode/sessions/ses_one'), { recursive: true })
  mkdirSync(join(place.root, '.vtcode/sessions/mcp-editor'), { recursive: true })
  writeFileSync(log('ses_one'), eventful().text)
  symlinkSync('/etc', join(place.root, '.vtcode/sessions/ses_link'))
  child = spawn(process.execPath, [bin, 'inspect'], { cwd: place.root, env: place.env })
  child.stderr!.on('data', (chunk: Buffer) => (err += String(chunk)))
  const [first] = (await once(child.stdout!, 'data')) as [Buffer]
  url = String(first).trim()
})
afterAll(async () => {
  const over = once(child, 'close')
  child.kill('SIGINT')
  expect((await over)[0]).toBe(130)
  await place[Symbol.asyncDispose]()
})

describe('the server of vtcode inspect', () => {
  it('answers requests with the token and a safe origin, reports 10,000 guesses and stays available', async () => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/)
    expect((await ask('/api/facts', { headers: { origin: 'http://evil.example' } })).status).toBe(403)
    expect((await ask('/api/facts', { headers: { authorization: '' } })).status).toBe(401)
    expect((await ask('/api/facts', { method: 'DELETE' })).status).toBe(405)
    expect((await ask('/trace?ticket=x', { headers: { authorization: '' } })).status).toBe(401)
    const page = await fetch(`${origin()}/`)
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringMatching(/^default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'$/),
    ])
    // The public part of the page names nothing of this workspace.
    expect(await page.text()).not.toContain(place.root)
    const socket = connect(Number(new URL(origin()).port), '127.0.0.1')
    let refused = 0
    let tail = ''
    socket.on('data', (bytes) => {
      const text = tail + bytes.toString('latin1')
      refused += text.split('HTTP/1.1 401').length - 1
      tail = text.slice(-11)
    })
    for (let guess = 0; guess < 10_000; guess++)
      socket.write(
        `GET /api/facts HTTP/1.1\r\nHost: ${new URL(origin()).host}\r\nAuthorization: Bearer guess${guess}\r\n${guess === 9_999 ? 'Connection: close\r\n' : ''}\r\n`,
      )
    await once(socket, 'close')
    expect(refused).toBe(10_000)
    expect((await ask('/api/facts')).status).toBe(200)
    expect(err).toContain('10000 requests came without the token')
    const foreign = connect(Number(new URL(origin()).port), '127.0.0.1')
    foreign.write(
      `GET /api/facts HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${token()}\r\nConnection: close\r\n\r\n`,
    )
    expect(String((await once(foreign, 'data'))[0])).toMatch(/^HTTP\/1\.1 403 /)
    foreign.destroy()
  })

  it('reports who serves each slot and why, plugins, diagnostics, and each setting with its origin', async () => {
    const { body } = await ask('/api/facts')
    const slot = body.slots.find((one: any) => one.slot === 'unified_search/grep')
    expect(slot.servers).toEqual([
      expect.objectContaining({
        id: 'builtin:unified_search_grep',
        stage: 'primary',
        layer: 'builtin',
        state: 'active',
        place: 1,
        why: 'called first: the primary of the slot; built in',
      }),
      expect.objectContaining({
        id: 'builtin:grep_javascript',
        stage: 'fallback',
        place: 2,
        why: expect.stringContaining('called when earlier handlers decline: a fallback comes after'),
      }),
      expect.objectContaining({
        stage: 'override',
        layer: 'workspace',
        state: 'untrusted',
        why: expect.stringMatching(/agree|trust/),
      }),
    ])
    expect(body.plugins.flatMap(({ parts }: any) => parts)).toEqual([
      expect.objectContaining({ slot: 'unified_search/grep', state: 'untrusted' }),
    ])
    expect(body.diagnostics.map(({ code }: any) => code)).toContain('VT_PLUGIN_UNTRUSTED')
    expect(body.settings.find(({ path }: any) => path === 'policy.ask')).toMatchObject({
      value: ['Edit(/docs/**)'],
      layer: 'workspace',
      file: join(place.root, 'vtcode.config.yaml'),
      line: 1,
    })
    writeFileSync(join(place.root, 'vtcode.config.yaml'), 'policy: { ask: ["Edit(/src/**)"] }\n')
    expect((await ask('/api/facts')).body.settings.find(({ path }: any) => path === 'policy.ask')).toMatchObject({
      value: ['Edit(/src/**)'],
    })
  })

  it('explains a typed call without making it, and rejects an invalid one with the reason', async () => {
    const typed = (body: unknown, headers = {}) =>
      ask('/api/explain', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
    expect(
      (await typed({ tool: 'unified_exec', input: { command: 'touch made.txt' }, mode: 'auto' })).body,
    ).toMatchObject({
      verdict: 'ask',
      mode: 'auto',
      decided_by: 'builtin:permission',
      call: { slot: 'unified_exec/run' },
      chain: expect.arrayContaining([expect.objectContaining({ policy: 'builtin:permission', verdict: 'ask' })]),
    })
    expect(
      (await typed({ tool: 'unified_file', input: { action: 'write', path: 'made.txt', content: 'x' }, mode: 'auto' }))
        .body,
    ).toMatchObject({ verdict: 'run' })
    expect(
      (await typed({ tool: 'unified_file/write', input: { path: '../out', content: 'x' }, mode: 'full-auto' })).body,
    ).toMatchObject({ verdict: 'refused', mode: 'auto', reason: expect.stringContaining('outside') })
    expect(existsSync(join(place.root, 'made.txt'))).toBe(false)
    for (const [body, status, says] of [
      ['{', 400, 'Invalid JSON'],
      ['null', 400, 'Name the tool'],
      [{ tool: 'x', mode: 'root' }, 400, 'plan, ask, auto, full-auto'],
      [`"${'x'.repeat(1024 * 1024)}"`, 413, 'larger than'],
    ] as const) {
      expect(await typed(body)).toEqual({ status, body: { error: expect.stringContaining(says) } })
    }
    expect((await typed('{}', { 'content-type': 'text/plain' })).status).toBe(415)
    // Only the earlier logs are there.
    expect(readdirSync(join(place.root, '.vtcode/sessions')).sort()).toEqual(['mcp-editor', 'ses_link', 'ses_one'])
  })
})

describe.skipIf(lacks('chromium'))('the page of vtcode inspect in Chromium', () => {
  let browser: Browser
  const requests: string[] = []
  const complaints: string[] = []
  beforeAll(async () => void (browser = await startBrowser()))
  afterAll(() => browser?.close())
  const open = async (address: string, how: Parameters<Browser['newContext']>[0] = {}): Promise<Page> => {
    const page = await (await browser.newContext(how)).newPage()
    requests.length = complaints.length = 0
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(address)
    return page
  }

  it('shows live calls of agents and editors, explains them, contacts no other host and passes axe', async () => {
    const page = await open(url, { colorScheme: 'light' })
    await page.getByText('src/a.ts:1').waitFor({ state: 'detached' })
    await page.locator('#rows b', { hasText: 'unified_search' }).waitFor()
    expect(page.url()).toBe(`${origin()}/`)
    expect(await page.locator('#rows').innerText()).toMatch(/denied\s+unified_file\s+delete b\.ts[^]*VT_POLICY_DENIED/)
    expect(await page.locator('#rows').innerText()).not.toMatch(/outside|root:/)
    // A line of a log that grows, cut in the middle and then whole.
    const later = new TraceLog('ses_one')
      .begin()
      .ask('more')
      .call('unified_exec', { command: `echo ${evil}` }, { command: 'echo', exit_code: 0, output: evil }).text
    appendFileSync(log('ses_one'), later.slice(0, 300))
    appendFileSync(log('ses_one'), later.slice(300))
    const row = page.locator('#rows li', { hasText: 'img src=x' }).first()
    await row.waitFor()
    await row.locator('summary').click()
    expect(await row.innerText()).toContain('</script><img')
    expect([await page.locator('img').count(), await page.evaluate('window.hit')]).toEqual([0, undefined])
    const call = {
      time: new Date().toISOString(),
      session: 'mcp-editor',
      call: 'c1',
      slot: 'unified_file/edit',
      surface: 'mcp',
      depth: 0,
      mode: 'auto',
      ok: false,
      code: 'VT_FILE_STALE',
      bytes: 10,
      ms: 3,
    }
    appendFileSync(join(place.root, '.vtcode/sessions/mcp-editor/calls.jsonl'), `${JSON.stringify(call)}\n`)
    await page.locator('#rows li', { hasText: 'VT_FILE_STALE' }).waitFor()
    await page.fill('#live-find', 'stale')
    expect(await page.locator('#rows li:visible').count()).toBe(1)
    await page.click('[data-view=explain]')
    await page.fill('#tool', 'unified_exec')
    await page.fill('#input', '{"command": "touch made.txt"}')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('#verdict .card').waitFor()
    expect(await page.locator('#verdict').innerText()).toMatch(/would ask a person[^]*decided by builtin:permission/)
    expect(existsSync(join(place.root, 'made.txt'))).toBe(false)
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      for (const view of ['live', 'tools', 'explain', 'plugins', 'settings']) {
        await page.click(`[data-view=${view}]`)
        if (view === 'tools') await page.locator('#slots details').first().locator('summary').first().click()
        expect([scheme, view, await seriousFaults(page, { colors: scheme === 'dark' })]).toEqual([scheme, view, []])
      }
    }
    expect([requests.filter((one) => !one.startsWith(`${origin()}/`)), complaints]).toEqual([[], []])
    await page.close()
  })

  it('shows a session page in an isolated frame, and nothing to a browser without the token', async () => {
    const page = await open(url)
    // An agent's session is listed once it has a manifest.
    const manifest = {
      v: 1,
      session_id: 'ses_one',
      thread_id: 'th_one',
      workspace: place.root,
      model: 'm',
      mode: 'auto',
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      status: 'completed',
      turn_count: 2,
      step_count: 4,
      event_count: 1,
      first_prompt: evil,
      total_cost_usd: 0.3,
      vtcode_version: '0.1.0',
    }
    writeFileSync(join(place.root, '.vtcode/sessions/ses_one/manifest.json'), `${JSON.stringify(manifest)}\n`)
    writeFileSync(join(place.root, '.vtcode/sessions/ses_one/messages.jsonl'), '')
    await page.click('[data-view=sessions]')
    await page.getByRole('button', { name: 'Page' }).click()
    const frame = page.frameLocator('#frame')
    await frame.locator('h1').waitFor()
    await frame.locator('[data-go=e]').click()
    expect(await frame.locator('.here').innerText()).toContain('VT_POLICY_DENIED')
    const inner = page.frames().find((one) => one.url().includes('/trace?'))!
    expect(await inner.evaluate('try{parent.sessionStorage.length}catch(e){e.name}')).toBe('SecurityError')
    expect(await inner.evaluate("fetch('/api/facts').then(r => r.status, e => e.name)")).toBe('TypeError')
    // A ticket counts once.
    expect((await fetch(inner.url())).status).toBe(401)
    const stranger = await open(`${origin()}/`)
    expect(await stranger.locator('#state').innerText()).toBe(
      'Open the address that the terminal printed; this page has no token.',
    )
    expect(await stranger.locator('#rows li, #slots details, #values tr').count()).toBe(0)
    expect(requests.filter((one) => one.includes('/api/'))).toEqual([])
  })
})

it('rejects a port, session or flag that vtcode inspect cannot use, with the reason', async () => {
  const port = new URL(origin()).port
  for (const [args, code, text] of [
    [['--port', port], 1, `VT_INSPECT_PORT: Cannot listen on 127.0.0.1:${port}`],
    [['--port', '70000'], 2, 'a port is a number from 0 to 65535'],
    [['ses_none'], 1, "VT_SESSION_NOT_FOUND: Session not found: 'ses_none'"],
    [['../x'], 1, 'VT_SESSION_NOT_FOUND'],
    [['--last', '--all'], 2, 'cannot be used with'],
    [['--nonsense'], 2, "unknown option '--nonsense'"],
    [['--json'], 2, '--json has no place here'],
  ] as const) {
    const told = await vtcode(place, ['inspect', ...args])
    expect([told.code, told.out, told.err.includes(text)], `${args.join(' ')}: ${told.err}`).toEqual([code, '', true])
  }
})
