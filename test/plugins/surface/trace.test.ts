import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seriousFaults, startBrowser } from '../../support/browser_page.js'
import { eventually, lacks } from '../../support/exec.js'
import { home, vtcode, type Home } from '../../support/peer.js'
import { eventful, TraceLog } from '../../support/trace_log.js'

const evil = '</script><img src=x onerror="window.hit=1"><!-- \u202egnirts \u001b[2J'

describe.skipIf(lacks('chromium'))('the page of a trace in Chromium', () => {
  let place: Home
  let browser: Browser
  const requests: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    place = await home({ url: 'http://127.0.0.1:9' })
    const put = (id: string, text: string) => {
      mkdirSync(join(place.root, '.vtcode/sessions', id), { recursive: true })
      writeFileSync(join(place.root, '.vtcode/sessions', id, 'events.jsonl'), text)
    }
    put('ses_one', eventful().text)
    put(
      'ses_evil',
      new TraceLog('ses_evil')
        .begin(evil)
        .ask(evil)
        .say({ type: 'agent_message', text: evil, status: 'completed' })
        .call(evil, { evil }, { output: `${evil}${'x'.repeat(200_000)}` })
        .stepEnd()
        .turnEnd()
        .end({ result: evil }).text,
    )
    const other = new TraceLog('ses_two')
      .begin()
      .ask('Fix the parser of src/a.ts.')
      .call('unified_file', { action: 'read', path: 'src/a.ts' })
      .call('unified_search', { action: 'grep', pattern: 'b' })
      .stepEnd()
      .turnEnd()
      .end()
    put('ses_two', other.text)
    const large = new TraceLog('ses_large').begin()
    for (let turn = 0; turn < 20; turn++) {
      large.ask(`part ${turn}`)
      for (let step = 0; step < 50; step++) {
        for (let call = 0; call < 10; call++)
          large.call(
            'unified_exec',
            { action: 'run', command: `echo ${turn}-${step}-${call}` },
            turn === 19 && step === 49 && call === 9
              ? { error_code: 'VT_CALL_FAILED', output: 'lost' }
              : {
                  output: `line of ${turn} ${step} ${call}\n`.repeat(4),
                  command: `echo ${turn}-${step}-${call}`,
                  exit_code: 0,
                },
          )
        large.stepEnd()
      }
      large.turnEnd()
    }
    put('ses_large', large.end().text)
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await place?.[Symbol.asyncDispose]()
  })

  const make = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await vtcode(place, ['trace', ...args])
    expect([code, err]).toEqual([0, ''])
    return pathToFileURL(join(place.root, out.trim())).href
  }
  const open = async (url: string, how: Parameters<Browser['newContext']>[0] = {}): Promise<Page> => {
    const page = await (await browser.newContext(how)).newPage()
    requests.length = complaints.length = 0
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(url)
    return page
  }
  const focused = (page: Page) => page.evaluate('document.activeElement.closest("[id]").id')

  it('contacts no host, shows the run, jumps by keys to errors, changes and denials, and passes axe', async () => {
    const url = await make('ses_one')
    const page = await open(url, { colorScheme: 'light' })
    expect(await page.title()).toBe('ses_one: success, verified')
    expect(await page.locator('header').innerText()).toMatch(/0\.3060 USD[^]*10000 in[^]*npm test exit 0/)
    await page.keyboard.press('e')
    expect(await page.locator('.here').innerText()).toContain('VT_POLICY_DENIED')
    expect(await focused(page)).toMatch(/^call-c2-/)
    await page.keyboard.press('c')
    expect(await page.locator('.here').innerText()).toContain('src/a.ts')
    await page.keyboard.press('d')
    expect(await page.locator('.here').innerText()).toContain('b.ts')
    await page.keyboard.press('j')
    await page.keyboard.press('/')
    await page.keyboard.type('node x')
    expect(await page.locator('#status').innerText()).toBe('1 match')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await page.locator('#found a').allInnerTexts()).toEqual(['unified_exec node x.js'])
    await page.locator('#found a').click()
    expect(await page.locator('.here').innerText()).toContain('exit 3')
    expect(await seriousFaults(page)).toEqual([])
    expect([requests.filter((one) => one !== url), complaints]).toEqual([[], []])
    const dark = await open(`${url}#step-4`, { colorScheme: 'dark' })
    expect(await focused(dark)).toBe('step-4')
    expect(await seriousFaults(dark, { colors: true })).toEqual([])
  })

  it('works without its script, and makes no element from text', async () => {
    const url = await make('ses_evil')
    const plain = await open(url, { javaScriptEnabled: false })
    expect(await plain.locator('main').innerText()).toContain('Final answer')
    expect(await plain.locator('img').count()).toBe(0)
    const page = await open(url)
    expect([
      await page.evaluate('window.hit'),
      await page.locator('img').count(),
      requests.filter((one) => one !== url),
      complaints,
    ]).toEqual([undefined, 0, [], []])
    expect(await page.content()).not.toMatch(/[\u202e\u001b]/)
    const text = readFileSync(join(place.root, 'trace-ses_evil.html'), 'utf8')
    expect([text.length < 150_000, text.includes('more letters are in the log; --full shows it')]).toEqual([true, true])
    await make('ses_evil', '--full')
    expect(readFileSync(join(place.root, 'trace-ses_evil.html'), 'utf8').length).toBeGreaterThan(200_000)
  })

  it('shows two runs next to each other at the first call that differs', async () => {
    const page = await open(await make('ses_one', '--compare', 'ses_two'))
    expect(await page.locator('#difference').innerText()).toMatch(
      /^2 first difference[^]*"pattern":"a"[^]*"pattern":"b"/,
    )
    expect(await seriousFaults(page)).toEqual([])
  })

  it('stays under 10 MiB for 10,000 calls, and serves keys and filters from an index', async () => {
    const page = await open(await make('ses_large'))
    expect(readFileSync(join(place.root, 'trace-ses_large.html')).length).toBeLessThan(10 * 1024 * 1024)
    expect(await page.locator('details[open]').count()).toBe(0)
    await page.keyboard.press('e')
    expect(await page.locator('.here').innerText()).toContain('VT_CALL_FAILED')
    // Only the elements on the way to the match were opened.
    expect(await page.locator('details[open]').count()).toBe(2)
    await page.keyboard.press('/')
    await page.keyboard.type('echo 7-3-')
    expect(await page.locator('#status').innerText()).toBe('10 matches')
    expect(complaints).toEqual([])
  })
})

it('prints an outline with vtcode trace, reads logs and folders by path, and reports errors', async () => {
  await using place = await home(
    { url: 'http://127.0.0.1:9' },
    { 'log.jsonl': eventful().text.slice(0, -40), 'kept/events.jsonl': eventful().text },
  )
  const outline = await vtcode(place, ['trace', 'kept', '--format', 'text'])
  expect([outline.code, outline.out.includes('success, verified: 2 turns, 4 steps, 7 calls (3 failed)')]).toEqual([
    0,
    true,
  ])
  const cut = await vtcode(place, ['trace', 'log.jsonl', '--out', 'p.html'])
  expect([cut.code, cut.out, cut.err.includes('the last line was cut off')]).toEqual([0, 'p.html\n', true])
  for (const [args, text] of [
    [['ses_none'], 'VT_SESSION_NOT_FOUND'],
    [[], 'VT_SESSION_NOT_FOUND'],
    [['kept', '--out', '../p.html'], 'leads outside'],
    [['none.jsonl'], 'none.jsonl'],
    [['kept', '--turn', 'x'], 'pass the number of a turn'],
    [['kept', '--format', 'pdf'], 'html'],
  ] as const) {
    const { code, err } = await vtcode(place, ['trace', ...args])
    expect([code !== 0, err.includes(text)], `${args.join(' ')}: ${err}`).toEqual([true, true])
  }
})

it('reads ATIF of vtcode and of other programs, and refuses invalid ATIF with its position', async () => {
  const foreign = {
    schema_version: 'ATIF-v1.8',
    session_id: 'other',
    agent: { name: 'other', version: '9', model_name: 'vendor/large' },
    steps: [
      { step_id: 1, source: 'system', message: 'Be careful.' },
      {
        step_id: 2,
        source: 'user',
        message: [
          { type: 'text', text: 'List the files.' },
          { type: 'image', source: {} },
        ],
      },
      {
        step_id: 3,
        timestamp: '2026-02-01T00:00:00Z',
        source: 'agent',
        message: 'I list them.',
        tool_calls: [{ tool_call_id: 'x', function_name: 'shell', arguments: { cmd: 'ls' } }],
        observation: { results: [{ source_call_id: 'x', content: 'a.txt' }] },
        metrics: { prompt_tokens: 11, completion_tokens: 7 },
      },
      { step_id: 4, source: 'user', message: 'Thanks.' },
    ],
  }
  const files = {
    'kept/events.jsonl': eventful().text,
    'foreign.json': JSON.stringify(foreign),
    'wrong.json': JSON.stringify({ ...foreign, steps: [{ source: 'robot' }] }),
    'cut.json': JSON.stringify(foreign, null, 1).slice(0, -9),
  }
  await using place = await home({ url: 'http://127.0.0.1:9' }, files)
  mkdirSync(join(place.root, '.vtcode/sessions/ses_one'), { recursive: true })
  writeFileSync(join(place.root, '.vtcode/sessions/ses_one/events.jsonl'), eventful().text)
  expect((await vtcode(place, ['export', 'atif', 'ses_one', '--out', 'own.json'])).code).toBe(0)
  const outline = async (path: string) => (await vtcode(place, ['trace', path, '--format', 'text'])).out
  const [own, again] = [await outline('ses_one'), await outline('own.json')]
  expect([own, again].map((text) => /success, verified: 2 turns, 4 steps, 7 calls/.test(text))).toEqual([true, true])
  for (const said of [
    '10000 tokens in',
    'VT_POLICY_DENIED',
    '5000 tokens became 900',
    'Done: the parser is fixed.',
    '0.3060 USD',
  ])
    expect([said, own.includes(said), again.includes(said)]).toEqual([said, true, true])
  const other = await outline('foreign.json')
  expect(other).toMatch(
    /2 turns, 1 steps, 1 calls [^]*Be careful\.[^]*List the files\.[^]*11 tokens in, 7 out[^]*shell[^]*Thanks\./,
  )
  for (const [path, says] of [
    ['wrong.json', 'steps[0].source has to be system, user or agent'],
    ['cut.json', 'invalid JSON'],
  ] as const) {
    expect(await vtcode(place, ['trace', path])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(new RegExp(`VT_EXPORT_INVALID: [^]*${says.replace(/[[\]]/g, '\\$&')}`)),
    })
  }
})

it("opens the page in the user's browser with vtcode trace --open, and reports a missing browser", async () => {
  await using place = await home({ url: 'http://127.0.0.1:9' }, { 'kept/events.jsonl': eventful().text })
  const browser = join(place.home, 'browser')
  writeFileSync(browser, `#!/bin/sh\necho "$1" > ${place.home}/opened\n`, { mode: 0o755 })
  expect(
    await vtcode(place, ['trace', 'kept', '--out', 'größe 1.html', '--open'], { env: { BROWSER: browser } }),
  ).toMatchObject({ code: 0, out: 'größe 1.html\n', err: '' })
  await eventually(() => existsSync(join(place.home, 'opened')))
  expect(readFileSync(join(place.home, 'opened'), 'utf8').trim()).toBe(
    pathToFileURL(join(place.root, 'größe 1.html')).href,
  )
  const none = await vtcode(place, ['trace', 'kept', '--open'], { env: { PATH: '/nonexistent' } })
  expect([none.code, none.err]).toEqual([0, 'vtcode: info: No browser found. Open the file yourself.\n'])
})
