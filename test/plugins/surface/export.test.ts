import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { reduce } from 'vtcode/trace'
import { call, home, logOf, startPeer, vtcode } from '../../support/peer.js'
import { checkAtif, checkResponses } from '../../support/records.js'
import { eventful } from '../../support/trace_log.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('exports a session in each format, equal to its record while it runs, and nothing of a flagged one', async () => {
  const read = (path: string) => call('unified_file', { action: 'read', path })
  const script = [
    { content: 'I look.', toolCalls: [read('a.txt'), read('b.txt')] },
    {
      toolCalls: [
        call('unified_file', { action: 'delete', path: 'b.txt' }),
        call('unified_file', { action: 'write', path: 'a.txt', content: 'one\ntwo\n', mode: 'overwrite' }),
      ],
    },
    { content: 'Changed.' },
    { content: 'Now it holds.' },
    { content: 'Second turn.' },
  ]
  const peer = await startPeer(script)
  const settings = {
    telemetry: { atif_enabled: true },
    agent: { model: 'peer/m', open_responses: { enabled: true } },
    policy: { deny: ['unified_file/delete'] },
    sandbox: { mode: 'off' },
  }
  const place = await home(peer, { 'a.txt': 'one\n', 'b.txt': 'b\n' }, { settings })
  held.push(peer, place)
  // The command fails the first time it runs, and passes from then on.
  const proof = `sh -c 'test -e proof || { touch proof; exit 1; }'`
  const first = await vtcode(place, ['exec', '--mode', 'auto', '--verify', proof, 'change a.txt'])
  const [{ session_id: id }] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
  await vtcode(place, ['resume', id, 'and now?'])
  const kept = (name: string) => readFileSync(join(place.root, '.vtcode/sessions', id, 'derived', name), 'utf8')

  const atif = await vtcode(place, ['export', 'atif', id])
  expect([first.code, atif.code, atif.err]).toEqual([0, 0, ''])
  expect(atif.out).toBe(kept('atif-trajectory.json'))
  const document = JSON.parse(atif.out)
  checkAtif(document)
  const run = reduce(logOf(place, id))
  const steps = document.steps.filter(({ source }: any) => source === 'agent')
  expect([steps.length, run.totals.steps, run.totals.turns, run.totals.runs]).toEqual([5, 5, 3, 2])
  expect(document.agent.tool_definitions.map(({ name }: any) => name)).toContain('unified_file')
  expect(steps[1].observation.results.map(({ extra }: any) => extra.error_code)).toEqual([
    'VT_POLICY_DENIED',
    undefined,
  ])
  expect(
    document.steps
      .filter(({ llm_call_count }: any) => llm_call_count === 0)
      .map(({ observation }: any) => observation.results[0].extra.exit_code),
  ).toEqual([1, 0])
  expect(document.steps.find(({ source }: any) => source === 'system').message).toContain('through tools')

  const responses = await vtcode(place, ['export', 'open-responses', id])
  expect(responses.out).toBe(kept('open-responses.jsonl'))
  expect(checkResponses(responses.out)).toHaveLength(5)

  const otel = await vtcode(place, ['export', 'otel', '--out', 'spans.json'])
  expect(otel).toMatchObject({ code: 0, out: 'spans.json\n' })
  expect(
    JSON.parse(readFileSync(join(place.root, 'spans.json'), 'utf8')).resourceSpans[0].scopeSpans[0].spans,
  ).toHaveLength(2 + 5 + 6)

  expect(await vtcode(place, ['export', 'folder', id, '--out', 'kept'])).toMatchObject({ code: 0, out: 'kept\n' })
  expect(
    reduce(
      readFileSync(join(place.root, 'kept/events.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event),
    ),
  ).toEqual(run)
  expect([
    readFileSync(join(place.root, 'kept/manifest.json'), 'utf8').includes(place.root),
    existsSync(join(place.root, 'kept/messages.jsonl')),
  ]).toEqual([false, false])

  await vtcode(place, ['sessions', 'flag', id, 'no-export'])
  const refused = await vtcode(place, ['export', 'atif', id, '--out', 'x.json'])
  expect([refused.code, refused.err.includes('VT_EXPORT_FLAGGED'), existsSync(join(place.root, 'x.json'))]).toEqual([
    1,
    true,
    false,
  ])
  expect((await vtcode(place, ['export', 'atif', id, '--force'])).code).toBe(0)
})

it('reports a missing session or folder, a cut log and a path outside to vtcode export', async () => {
  const peer = await startPeer([])
  const place = await home(peer)
  held.push(peer, place)
  const folder = join(place.root, '.vtcode/sessions/ses_x')
  mkdirSync(folder, { recursive: true })
  const started = {
    type: 'thread.started',
    seq: 1,
    ts: '2026-01-01T00:00:00.000Z',
    thread_id: 'th_x',
    session_id: 'ses_x',
    model: 'm',
    mode: 'auto',
    cwd: '/',
    version: '1',
  }
  writeFileSync(
    join(folder, 'events.jsonl'),
    `${JSON.stringify({ schema_version: '9.9.9', event: started })}\n{"schema_version":"1.0.0","event":{"type":"turn.sta`,
  )
  const cut = await vtcode(place, ['export', 'atif', 'ses_x'])
  expect([cut.code, JSON.parse(cut.out).trajectory_id]).toEqual([0, 'th_x'])
  expect(cut.err).toMatch(/version 9\.9\.9[^]*1 line is no event and was left out; the last line was cut off/)
  for (const [args, code] of [
    [['atif', 'ses_none'], 'VT_SESSION_NOT_FOUND'],
    [['atif', '../../etc'], 'VT_SESSION_NOT_FOUND'],
    [['atif'], 'VT_SESSION_NOT_FOUND'],
    [['otel', 'ses_x', '--out', '../x.json'], "'../x.json' leads outside the workspace"],
    [['otel', 'ses_x', '--out', 'none/x.json'], "'none'"],
  ] as const)
    expect((await vtcode(place, ['export', ...args])).err, args.join(' ')).toContain(code)
  expect((await vtcode(place, ['export', 'yaml', 'ses_x'])).code).toBe(2)
  expect((await vtcode(place, ['export', 'folder', 'ses_x'])).err).toContain('--out')
})

it("sends spans only to the collector that a flag or the user's settings name", async () => {
  const taken: { url: string; type: string; body: any }[] = []
  let reply: [number, string] = [200, '{}']
  const collector = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    taken.push({
      url: request.url!,
      type: request.headers['content-type']!,
      body: JSON.parse(Buffer.concat(parts).toString()),
    })
    response
      .writeHead(reply[0], { 'content-type': 'application/json', ...(reply[0] === 302 && { location: '/elsewhere' }) })
      .end(reply[1])
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  held.push({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void collector.close(() => resolve())) })
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const place = await home(
    { url: 'http://127.0.0.1:9' },
    {},
    { settings: { agent: { model: 'peer/m' }, telemetry: { otel_endpoint: `${url}/own` } } },
  )
  held.push(place)
  mkdirSync(join(place.root, '.vtcode/sessions/ses_one'), { recursive: true })
  writeFileSync(join(place.root, '.vtcode/sessions/ses_one/events.jsonl'), eventful().text)
  expect(await vtcode(place, ['export', 'otel', 'ses_one', '--endpoint', url])).toEqual({
    code: 0,
    out: `${url}/v1/traces\n`,
    err: '',
  })
  reply = [200, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}']
  expect(await vtcode(place, ['export', 'otel', 'ses_one', '--endpoint'])).toEqual({
    code: 0,
    out: `${url}/own\n`,
    err: 'vtcode: warning: The collector rejected 2 spans: "too old"\n',
  })
  expect(taken.map(({ url, type }) => [url, type])).toEqual([
    ['/v1/traces', 'application/json'],
    ['/own', 'application/json'],
  ])
  const file = JSON.parse((await vtcode(place, ['export', 'otel', 'ses_one'])).out)
  expect(taken.map(({ body }) => body)).toEqual([file, file])
  expect(JSON.stringify(file)).not.toContain('the parser')
  for (const [status, says] of [
    [503, 'rejected the spans: status 503, busy'],
    [302, 'could not be reached: [^]*redirect'],
  ] as const) {
    reply = [status, 'busy']
    expect(await vtcode(place, ['export', 'otel', 'ses_one', '--endpoint', url])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(new RegExp(`VT_EXPORT_REFUSED: ${url} ${says}`)),
    })
  }
  for (const [address, code, says] of [
    ['http://127.0.0.1:9', 1, 'VT_EXPORT_REFUSED: http://127.0.0.1:9 could not be reached: '],
    ['ftp://x', 3, "'ftp://x' is not an http or https address"],
    ['http://u:p@x', 3, 'must not contain a user or password'],
  ] as const) {
    const told = await vtcode(place, ['export', 'otel', 'ses_one', '--endpoint', address])
    expect([told.code, told.err.includes(says)], told.err).toEqual([code, true])
  }
  expect((await vtcode(place, ['export', 'otel', 'ses_one', '--endpoint', url, '--out', 'x'])).code).toBe(2)
})
