import { describe, expect, it } from 'vitest'
import {
  exportAtif,
  exportOpenResponses,
  exportOtel,
  formatOutline,
  readEvents,
  reduce,
  reduceLog,
  renderPage,
  RunReducer,
} from '../../../../build/plugins/agent/records/index.js'
import { checkAtif, checkResponses } from '../../../support/records.js'
import { eventful, TraceLog } from '../../../support/trace_log.js'

const bytes = async function* (text: string, size = 4096) {
  const all = Buffer.from(text)
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size)
}
const faults = () => ({ damaged: 0, torn: false }) as { damaged: number; torn: boolean; newer?: string }
const events = (text: string, size?: number, found = faults()) => readEvents(bytes(text, size), found)
const joined = async (pieces: AsyncIterable<string>) => {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}
const nothing = { read: async () => undefined }
const run = () => reduce(eventful().events)

describe('reduce', () => {
  it('builds turns, steps and calls from events and adds up their cost', () => {
    const { head, turns, totals } = run()
    expect(head).toMatchObject({ session_id: 'ses_one', thread_id: 'th_one', model: 'peer/m' })
    expect(
      turns.map(({ number, status, entries }) => [number, status, entries.map(({ kind }) => kind).join(' ')]),
    ).toEqual([
      [1, 'completed', 'message segment note step step own_call note'],
      [2, 'completed', 'boundary message child step step own_call note'],
    ])
    expect(totals).toMatchObject({
      runs: 1,
      turns: 2,
      steps: 4,
      calls: 7,
      failed_calls: 3,
      usage: { input_tokens: 10_000, output_tokens: 200 },
      unknown_events: 0,
    })
    expect(totals.cost_usd).toBeCloseTo(0.306, 9)
    expect(totals.files).toEqual([{ path: 'src/a.ts', kind: 'update', added_lines: 3, removed_lines: 1 }])
    const step = turns[0]!.entries.find(({ kind }) => kind === 'step')!
    expect(step).toMatchObject({
      attempts: 2,
      texts: [{ status: 'discarded' }, { type: 'reasoning' }, { type: 'text' }],
      calls: [{ tool: 'unified_file', output: 'export const a = 1\n' }, { tool: 'unified_search' }],
    })
  })
  it('records the question, answer and wait of a call, and a call that never ended', () => {
    const [first] = run().turns
    const calls = first!.entries.flatMap((entry) => (entry.kind === 'step' ? entry.calls : []))
    expect(calls[2]).toMatchObject({
      outcome: 'permission_rejected',
      asked: { policy: 'permission' },
      answered: { decision: 'deny', wait_ms: 500 },
    })
    const cut = reduce(
      new TraceLog().begin().ask('go').call('unified_exec', { command: 'sleep' }, { output: null }).events,
    )
    expect(cut.turns).toMatchObject([
      { status: 'open', entries: [{}, {}, { kind: 'step', status: 'cut', calls: [{ status: 'in_progress' }] }] },
    ])
    expect(cut.totals.end).toBeUndefined()
  })
  it('skips unknown events and counts them', () => {
    const log = eventful()
    const known = run()
    log.events.splice(
      5,
      0,
      { type: 'weather.changed', ts: '2026-01-01T00:00:00.500Z', sky: 'blue' },
      { type: 'item.completed', ts: '2026-01-01T00:00:00.500Z', item: { id: 'x', type: 'dream', about: 1 } },
    )
    for (const event of log.events) event.strange = { field: true }
    const { totals, turns } = reduce(log.events)
    expect([totals.unknown_events, totals.steps, turns.length]).toEqual([2, known.totals.steps, known.turns.length])
  })
  it('returns the same run for whole and byte-wise logs, also for cut ones, and keeps no finished step', async () => {
    const { text } = eventful()
    expect(await reduceLog(events(text, 7))).toEqual(run())
    for (let length = 0; length < text.length; length += 97) {
      const found = faults()
      const cut = await reduceLog(events(text.slice(0, length), 4096, found))
      expect([cut.totals.steps <= 4, found.damaged <= 1]).toEqual([true, true])
    }
    const reducer = new RunReducer()
    for (const event of eventful().events) reducer.add(event)
    expect(reducer.end()).toEqual([])
  })
  it('reads a log with lines that are no events, have an unknown version or a wrong shape', async () => {
    const found = faults()
    const wrong = [
      '{',
      'null',
      '[]',
      '{"type":"item.completed","ts":"x","item":{}}',
      '{"type":"item.completed","ts":"2026-01-01T00:00:00.000Z","item":{"type":"agent_message"}}',
      '{"type":"step.completed","ts":"2026-01-01T00:00:00.000Z"}',
      JSON.stringify({ ...eventful().events.find(({ type }) => type === 'turn.started'), turn_number: '<b>1</b>' }),
    ]
    const step = eventful().events.find(({ type }) => type === 'step.completed')
    const odd = JSON.stringify({ schema_version: '2.0.0', event: { ...step, duration_ms: 1e300, later: 'field' } })
    const read = await reduceLog(events(`${wrong.join('\n')}\n${odd}\n${eventful().text}`, 64, found))
    expect([found, read.totals.turns, read.totals.steps]).toEqual([{ damaged: 7, torn: false, newer: '2.0.0' }, 2, 5])
  })
})

describe('ATIF export', () => {
  const trajectory = async (text: string, files: Parameters<typeof exportAtif>[1] = nothing) =>
    JSON.parse(await joined(exportAtif(events(text), files)))

  it('writes valid ATIF with each step once and sums equal to the totals', async () => {
    const child = new TraceLog('ses_child', 'th_child')
      .begin()
      .ask('look')
      .say({ type: 'agent_message', text: 'Nothing.', status: 'completed' })
      .stepEnd()
      .turnEnd()
      .end()
    const tools = [{ name: 'unified_file', description: 'x', inputSchema: {} }]
    const files = {
      read: async (path: string) => (path.startsWith('prompts/') ? JSON.stringify(tools) : undefined),
      child: (thread: string) => (thread === 'th_child' ? { events: events(child.text), files: nothing } : undefined),
    }
    const document = await trajectory(eventful().text, files)
    checkAtif(document)
    expect(document).toMatchObject({
      schema_version: 'ATIF-v1.7',
      session_id: 'ses_one',
      trajectory_id: 'th_one',
      agent: { name: 'vtcode', tool_definitions: tools },
      subagent_trajectories: [{ trajectory_id: 'th_child' }],
      extra: { outcome_code: 'success', verified: true },
    })
    const agent = document.steps.filter(({ source }: any) => source === 'agent')
    expect(agent.map(({ tool_calls = [], llm_call_count }: any) => [tool_calls.length, llm_call_count])).toEqual([
      [2, 2],
      [2, 1],
      [1, 1],
      [0, 1],
    ])
    expect(agent[0]).toMatchObject({
      message: 'I read the file.',
      reasoning_content: 'The file first.',
      extra: { discarded_texts: 1 },
    })
    expect(
      document.steps
        .filter(({ llm_call_count }: any) => llm_call_count === 0)
        .map(({ observation }: any) => observation.results[0].content),
    ).toEqual(['1 failing', '12 passing'])
    expect(document.steps.find(({ extra }: any) => extra?.context_management).extra.context_management).toMatchObject({
      type: 'compaction',
      boundary: 'replace',
      tokens_before: 5000,
      tokens_after: 900,
    })
  })
  it('writes valid ATIF for a log without a beginning or an end and for an empty one', async () => {
    const { text } = eventful()
    for (const part of ['', text.split('\n').slice(3).join('\n'), text.slice(0, text.length / 2), 'x\n'.repeat(3)])
      checkAtif(await trajectory(part))
  })
  it('writes call arguments that are not an object as a value', async () => {
    const document = await trajectory(
      new TraceLog().begin().ask('go').call('t', 'text').call('t', [1]).call('t', null).stepEnd().turnEnd().end().text,
    )
    checkAtif(document)
    expect(document.steps.at(-1).tool_calls.map((call: any) => call.arguments)).toEqual([
      { value: 'text' },
      { value: [1] },
      { value: null },
    ])
  })
})

describe('Open Responses export', () => {
  it('writes one valid, linked Open Responses document for each step', async () => {
    const text = await joined(exportOpenResponses(events(eventful().text)))
    const ends = checkResponses(text)
    expect(ends.map(({ status, output }) => [status, output.map(({ type }: any) => type).join(' ')])).toEqual([
      ['completed', 'reasoning message function_call function_call'],
      ['completed', 'function_call function_call'],
      ['completed', 'function_call'],
      ['completed', 'message'],
    ])
    const inputs = text
      .split('\n')
      .filter((line) => line.includes('vtcode:input_item'))
      .map((line) => JSON.parse(line).item.type)
    expect(inputs).toEqual([
      'message',
      'function_call_output',
      'function_call_output',
      'function_call_output',
      'function_call_output',
      'message',
      'function_call_output',
    ])
    expect(text).toMatch(/"type":"vtcode:compact_boundary".*\n[^]*"type":"vtcode:thread_completed"/)
  })
  it('marks a cut step as failed', async () => {
    const [only] = checkResponses(
      await joined(exportOpenResponses(events(new TraceLog().begin().ask('go').call('t', {}, { output: null }).text))),
    )
    expect(only).toMatchObject({ status: 'failed', error: { code: 'server_error' }, usage: null })
  })
})

describe('OpenTelemetry export', () => {
  const spansOf = async (text: string, content = false): Promise<any[]> =>
    JSON.parse(await joined(exportOtel(events(text), { content }))).resourceSpans[0].scopeSpans[0].spans

  it('writes the same nested spans each time and no text unless requested', async () => {
    const { text } = eventful()
    const spans = await spansOf(text)
    expect(await spansOf(text)).toEqual(spans)
    const root = spans.find(({ parentSpanId }) => parentSpanId === undefined)
    expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1)
    for (const { spanId, traceId, parentSpanId, startTimeUnixNano, endTimeUnixNano } of spans) {
      expect([traceId, spanId]).toEqual([
        expect.stringMatching(/^[0-9a-f]{32}$/),
        expect.stringMatching(/^[0-9a-f]{16}$/),
      ])
      expect([parentSpanId ?? root.spanId, BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano)]).toEqual([
        root.spanId,
        true,
      ])
      expect([
        BigInt(root.startTimeUnixNano) <= BigInt(startTimeUnixNano),
        BigInt(endTimeUnixNano) <= BigInt(root.endTimeUnixNano),
      ]).toEqual([true, true])
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    expect(spans.map(({ name }) => name.split(' ')[0]).sort()).toEqual([
      ...Array(4).fill('chat'),
      ...Array(7).fill('execute_tool'),
      'invoke_agent',
    ])
    expect(JSON.stringify(spans)).not.toMatch(/export const a|parser/)
    expect(JSON.stringify(await spansOf(text, true))).toMatch(/export const a/)
  })
  it('ends an unfinished run with its last event', async () => {
    const spans = await spansOf(eventful().text.split('\n').slice(0, -3).join('\n'))
    expect(spans.at(-1)).toMatchObject({ name: 'invoke_agent vtcode' })
    expect(await spansOf('')).toEqual([])
  })
})

describe('page of a trace', () => {
  const evil = '<img src=x onerror="x">\'&'
  const kept = /^(?:type|ts|origin|call_id|seq|cost_usd|total_cost_usd|duration_ms|wait_ms|bytes)$/
  /** Replaces each text and number that a reader of the log does not compute with. */
  const poison = (value: unknown, key = ''): unknown => {
    if (Array.isArray(value)) return value.map((one) => poison(one, key))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poison(one, name)]))
    return kept.test(key) || typeof value === 'boolean' || value === null ? value : evil
  }

  it('escapes every value of a log, whatever its type', () => {
    const log = eventful().events.map((event) => poison(event)) as Parameters<typeof reduce>[0]
    const page = [...renderPage(reduce(log), { compare: run() })].join('')
    expect(page.split('&lt;img src=x onerror=&quot;x&quot;&gt;&apos;&amp;').length).toBeGreaterThan(50)
    expect(page).not.toContain('<img')
    // The index is JSON within a script.
    expect(page.replace(/<script type="application\/json"[^]*?<\/script>/, '')).not.toContain(evil)
  })
  it('lets the page load, send and frame nothing', () => {
    const [head = ''] = renderPage(run())
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(head)?.[1]
    expect(policy?.replace(/sha256-[^']+/, 'sha256-x').split('; ')).toEqual([
      "default-src 'none'",
      "style-src 'unsafe-inline'",
      "script-src 'sha256-x'",
      "base-uri 'none'",
      "form-action 'none'",
    ])
  })
})

it('lists turns, steps and calls in the outline and escapes terminal control characters', () => {
  const log = new TraceLog()
    .begin()
    .ask('\u001b[2Jgo \u202eback')
    .call('t', {}, { output: '\u001b]0;x\u0007' })
    .stepEnd()
    .turnEnd()
    .end()
  const text = formatOutline(reduce(log.events), { full: true })
  expect(text).not.toMatch(/[\u001b\u0007\u202e]/)
  expect(text).toMatch(/turn 1 {2}completed\n {2}prompt: [^]*segment [^]*step 1 [^]*✓ t \{\}/)
  expect(formatOutline(run())).toContain('success, verified: 2 turns, 4 steps, 7 calls (3 failed)')
})
