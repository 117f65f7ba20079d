import type { ServerResponse } from 'node:http'
import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { serve } from '../../../support/server.js'
import { harness, hold, items, scene } from '../../../support/inside.js'
import { checkLog } from '../../../support/invariants.js'
import { call, formats, startPeer, type Answer, type Format } from '../../../support/peer.js'

const head = { 'content-type': 'text/event-stream' }
const write = (path: string, content: string) => call('unified_file', { action: 'write', path, content })
/** Ends of an answer on each wire; before the whole line with the end, the answer is incomplete. */
const ending = {
  'openai-chat': '"finish_reason":"tool_calls"',
  'openai-responses': '"type":"response.completed"',
  'anthropic-messages': '"type":"message_stop"',
  'google-generative-ai': '"finishReason":',
}

// The long suite cuts at every byte, the short one at steps on even and odd bytes.
const step = rounds(47, 1)

const shortAnswers = new Map<Format, Promise<Buffer>>()
/** Returns the bytes of a whole answer "ok", recorded once per wire. */
function bytesOfOk(format: Format): Promise<Buffer> {
  if (!shortAnswers.has(format))
    shortAnswers.set(
      format,
      bytesOf(format, [{ content: 'ok' }]).then(([ok]) => ok!),
    )
  return shortAnswers.get(format)!
}

/** Returns the bytes that a peer sends for these answers in order. */
async function bytesOf(format: Format, script: Answer[]): Promise<Buffer[]> {
  const peer = hold(await startPeer(script))
  const recorded: Buffer[] = []
  const between = hold(
    await serve(async (_, response, { method, path, body }) => {
      const init: RequestInit = { method, body, headers: { 'content-type': 'application/json' } }
      const answer = await fetch(`${peer.url}${path}`, init)
      recorded.push(Buffer.from(await answer.arrayBuffer()))
      response.writeHead(answer.status, head).end(recorded.at(-1))
    }),
  )
  const s = await scene([], { url: between.url, format })
  expect(await s.run()).toMatchObject({ outcome_code: 'success' })
  return recorded
}

describe.each(formats)('wire robustness over %s', (format) => {
  it(
    'repeats a request whose answer stops at any byte before its end and runs none of its calls',
    { timeout: 300_000 },
    async () => {
      const [asking, whole] = await bytesOf(format, [
        { content: 'I will – 写 – it.', toolCalls: [write('a.txt', 'né\n')] },
        { content: 'whole' },
      ])
      const end = asking!.indexOf('\n', asking!.indexOf(ending[format]))
      expect(end).toBeGreaterThan(100)
      const most = 100
      const cuts = Array.from({ length: end + 1 }, (_, at) => at).filter((at) => at % step === 0 || at > end - 5)
      let queue: number[] = []
      let requests = 0
      // Every other answer is torn off instead of ended.
      const cut = (response: ServerResponse, at: number) => {
        response.writeHead(200, head)
        if (at % 2 === 0) response.end(asking!.subarray(0, at))
        else response.write(asking!.subarray(0, at), () => response.destroy())
      }
      const server = hold(
        await serve((_, response) => {
          requests += 1
          const at = queue.shift()
          if (at === undefined) response.writeHead(200, head).end(whole)
          else cut(response, at)
        }),
      )
      const s = await scene([], {
        url: server.url,
        format,
        provider: { retries: { stream: most, request: most }, timeouts: { total_ms: 1_000_000_000 } },
      })
      for (let from = 0; from < cuts.length; from += most) {
        queue = cuts.slice(from, from + most)
        const expected = queue.length + 1
        requests = 0
        expect(await s.run('go', { providers: { session: 'memory' } }), `from ${from}`).toMatchObject({
          outcome_code: 'success',
          text: 'whole',
        })
        expect(requests, `from ${from}`).toBe(expected)
      }
      expect(items(s.events, 'tool_invocation')).toEqual([])
      expect(await s.booted.read('a.txt')).toBeUndefined()
      // One line more completes the answer.
      queue = [2 * asking!.length]
      await s.run()
      expect(await s.booted.read('a.txt')).toBe('né\n')
    },
  )

  it('runs a finished call once, however often the next answer fails', async () => {
    const counter = join(mkdtempSync(join(tmpdir(), 'vtcode-count-')), 'n')
    appendFileSync(counter, '')
    const count = call('unified_exec', { action: 'run', command: `printf x >> ${counter}` })
    const busy = { error: { message: 'busy' }, status: 503 }
    const cut = { content: 'half of a long answer '.repeat(20), how: { chunkSize: 20, truncateAfterChunks: 4 } }
    const s = await scene(
      [{ toolCalls: [count] }, busy, { ...busy, status: 529 }, cut, { ...busy, status: 500 }, { content: 'done' }],
      { format, boot: { config: { sandbox: { mode: 'off' } } as never } },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'done' })
    expect(readFileSync(counter, 'utf8')).toBe('x')
    expect(harness(s.events, 'model_retry').map(({ error_category }) => error_category)).toEqual([
      'http 503',
      'http 529',
      'cut',
      'http 500',
    ])
    checkLog(s.events)
  })

  it('keeps the order and the ids of parallel calls', async () => {
    const list = (path: string) => call('unified_search', { action: 'list', path })
    const s = await scene(
      [{ toolCalls: [list('a'), list('b'), write('c.txt', 'c\n'), list('d')] }, { content: 'ok' }],
      { format, boot: { files: { 'a/1': '', 'b/2': '', 'd/4': '' } } },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    const sent = JSON.stringify(s.peer.bodies[1])
    const places = ['a/1', 'b/2', 'created c.txt', 'd/4'].map((text) => sent.lastIndexOf(text))
    expect(places.every((place) => place > 0)).toBe(true)
    expect([...places].sort((a, b) => a - b)).toEqual(places)
    checkLog(s.events)
  })

  it('waits for slow tokens as long as they arrive', async () => {
    const s = await scene([{ content: 'one two three four', how: { chunkSize: 4, latency: 50 } }], {
      format,
      provider: { timeouts: { first_token_ms: 5000, idle_ms: 5000, total_ms: 60_000 } },
    })
    expect(await s.run()).toMatchObject({ text: 'one two three four' })
    expect(harness(s.events, 'model_retry')).toEqual([])
  })

  it.each([
    ['seconds', () => '3', 3000],
    ['a date', () => new Date(Date.now() + 60_000).toUTCString(), 60_000],
    ['ten days', () => '864000', undefined],
    ['nonsense', () => 'soon', 0],
  ])('honors a retry-after of %s within sensible limits', async (_, after, wait) => {
    const ok = await bytesOfOk(format)
    const statuses = [429, 408, 200]
    const server = hold(
      await serve((_request, response) => {
        const status = statuses.shift() ?? 200
        if (status === 200) response.writeHead(200, head).end(ok)
        else
          response
            .writeHead(status, { 'content-type': 'application/json', 'retry-after': after() })
            .end('{"error":{"message":"wait"}}')
      }),
    )
    const s = await scene([], { url: server.url, format })
    const outcome = await s.run()
    if (wait === undefined) {
      expect(outcome.error).toMatchObject({ code: 'VT_LLM_RATE_LIMIT' })
      expect([server.seen.length, s.waits]).toEqual([1, []])
    } else {
      expect(outcome).toMatchObject({ outcome_code: 'success', text: 'ok' })
      expect(s.waits.length).toBe(2)
      // Without a header the wait is random and short; the server's clock does not skip with the test clock.
      const [first] = s.waits
      expect(wait === 0 ? first! < 30_000 : Math.abs(first! - wait) <= 2500).toBe(true)
    }
  })
})

describe('arguments that are not an object', () => {
  const frame = (event: Record<string, unknown>) =>
    `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
  /** Returns an answer of Anthropic's wire that calls a tool with this text as its arguments. */
  const messages = (text: string) =>
    [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'unified_file', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ]
      .map(frame)
      .join('')
  const google = (args: unknown) =>
    frame({
      candidates: [
        {
          content: { role: 'model', parts: [{ functionCall: { name: 'unified_file', args } }] },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    })
  const run = async (format: Format, answer: string) => {
    const ok = await bytesOfOk(format)
    const answers: (string | Buffer)[] = [answer]
    const server = hold(await serve((_, response) => response.writeHead(200, head).end(answers.shift() ?? ok)))
    const s = await scene([], { url: server.url, format, provider: { retries: { stream: 1 } } })
    const outcome = await s.run()
    checkLog(s.events)
    return { outcome, s, server, told: items(s.events, 'tool_output').map(({ output }) => output as string) }
  }
  const good = '{"action":"write","path":"a.txt","content":"x"}'
  it.each([
    ['cut in the middle', good.slice(0, -6), 'VT_LLM_BAD_JSON'],
    ['text after them', `${good} and more`, 'VT_LLM_BAD_JSON'],
    ['NaN among them', '{"action":"write","path":"a.txt","content":NaN}', 'VT_LLM_BAD_JSON'],
    ['a list', '["write","a.txt"]', 'VT_LLM_BAD_JSON'],
    ['lone halves of a character', '{"action":"write","path":"a\\ud800.txt","content":"x"}', undefined],
    [
      'five megabytes without end',
      `{"action":"write","path":"a.txt","content":"${'y'.repeat(5_000_000)}`,
      'VT_LLM_BAD_JSON',
    ],
  ])('changes no file for %s over anthropic-messages and reports that to the model', async (_, text, code) => {
    const { outcome, s, server, told } = await run('anthropic-messages', messages(text))
    expect(outcome).toMatchObject({ outcome_code: 'success', text: 'ok' })
    expect(told).toHaveLength(1)
    if (code) expect(told[0]).toContain(code)
    // A server refuses the whole conversation for half a character in the arguments.
    else expect(JSON.parse(server.seen[1]!.body.toString()).messages[1].content[0].input.path).toBe('a\ufffd.txt')
    expect(await s.booted.read('a.txt')).toBeUndefined()
  })
  it('unwraps an object inside a text and uses the last of two equal keys over anthropic-messages', async () => {
    const wrapped = await run('anthropic-messages', messages(JSON.stringify(good)))
    expect(await wrapped.s.booted.read('a.txt')).toBe('x')
    const twice = await run(
      'anthropic-messages',
      messages('{"action":"write","path":"a.txt","path":"b.txt","content":"x"}'),
    )
    expect(await twice.s.booted.read('a.txt')).toBeUndefined()
    expect(await twice.s.booted.read('b.txt')).toBe('x')
  })
  it('answers a malformed patch that comes as a common call over openai-responses', async () => {
    const s = await scene(
      [
        { toolCalls: [call('apply_patch', '{"input":"*** Begin Patch')] },
        { content: 'ok' },
        { content: 'Nothing was patched.' },
      ],
      { format: 'openai-responses' },
    )
    expect(await s.run()).toMatchObject({
      outcome_code: 'success',
      text: 'Nothing was patched.',
      not_applied: [{ tool: 'apply_patch', target: '', code: 'VT_LLM_BAD_JSON' }],
    })
    expect(harness(s.events, 'model_retry')).toEqual([])
    expect(items(s.events, 'tool_output').map(({ output }) => output)).toEqual([
      expect.stringContaining('VT_LLM_BAD_JSON'),
    ])
  })
  it.each([
    ['a text', 'write a.txt'],
    ['a list', ['write']],
    ['a number', 7],
  ])('changes no file for %s over google-generative-ai', async (_, args) => {
    const { outcome, s } = await run('google-generative-ai', google(args))
    expect(outcome.outcome_code).toMatch(/success|failed/)
    expect(await s.booted.read('a.txt')).toBeUndefined()
  })
})
