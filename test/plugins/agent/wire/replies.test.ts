import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import { askModel, connect, type ModelAnswer } from '../../../../build/plugins/agent/model/index.js'
import { endReasons } from '../../../../build/plugins/agent/wire/index.js'
import { holdForFile } from '../../../support/held.js'
import { formats, settingsFor, type Format } from '../../../support/peer.js'
import { stream, wires, type Wire } from '../../../support/replies.js'

interface Reply {
  body: string
  status?: number
  type?: string
}
const toReply = (reply: string | Reply): Reply => (typeof reply === 'string' ? { body: reply } : reply)
type Ask = (...replies: Reply[]) => Promise<ModelAnswer>

/** Creates a function that asks a model whose server gives these replies, in the process of the test. */
async function createAsk(format: Format): Promise<Ask> {
  const provider = { retries: { request: 0, stream: 0 } }
  const config = settingsFor({ url: 'http://127.0.0.1:9' }, { format, provider })
  const { kernel } = holdForFile(await bootKernel({ config: config as never }))
  let queue: Reply[] = []
  const providers = {
    env: { PEER_API_KEY: 'key' },
    clock: { now: () => 0, sleep: async () => {} },
    random: { next: () => 0 },
    retry: { next: () => 0 },
    fetch: async () => {
      const { body, status = 200, type = 'text/event-stream' } = queue.length > 1 ? queue.shift()! : queue[0]!
      return new Response(body, { status, headers: { 'content-type': type } })
    },
  } as never
  const connection = await connect(kernel, 'peer/m', providers)
  const speech = { appendText: () => undefined, appendArguments() {}, findItemId: () => undefined, end: async () => [] }
  const request = {
    system: 'Answer.',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    tools: [],
    weight: { system: 1, tools: 0 },
    session_id: 's',
  }
  return (...replies) => {
    queue = replies
    const context = { providers, speech, onRetry: async () => {} } as never
    return askModel(connection, request as never, context, new AbortController().signal)
  }
}

const textOf = ({ parts }: ModelAnswer): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
const callsOf = ({ parts }: ModelAnswer): [string, unknown][] =>
  parts.flatMap((part) => (part.type === 'raw_call' ? [[part.name, JSON.parse(part.text)] as [string, unknown]] : []))

/** The texts of docs/server-errors.md. */
const errorTexts = readFileSync('docs/server-errors.md', 'utf8')
  .split('\n## Texts')[1]!
  .split('\n')
  .filter((line) => /^\| [^|]+ \| \d{3} \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, server, status, text, cause]) => ({ server: server!, status: Number(status), text: text!, cause: cause! }))

const codes: Record<string, string> = {
  context: 'VT_LLM_CONTEXT',
  output_limit: 'VT_LLM_REQUEST',
  rate: 'VT_LLM_RATE_LIMIT',
  quota: 'VT_LLM_QUOTA',
  auth: 'VT_LLM_AUTH',
  model: 'VT_LLM_REQUEST',
  tools: 'VT_LLM_REQUEST',
  loading: 'VT_LLM_REQUEST',
  busy: 'VT_LLM_REQUEST',
  safety: 'VT_LLM_REFUSED',
}
const hints: Record<string, RegExp> = {
  output_limit: /max_output_tokens/,
  model: /vtcode models/,
  tools: /supports tools/,
  loading: /loads the model/,
  busy: /try again later/,
}

const call = '{"path":"a.txt"}'
const odd = (change: (wire: Wire) => unknown[]) => (wire: Wire) => stream(change(wire)) + wire.done

/** Details that do not change the meaning, on every wire. */
const repaired: [string, (wire: Wire) => string | Reply, { text?: string; calls?: unknown[] }][] = [
  ['a plain answer', odd((wire) => [...wire.text('Hello.'), ...wire.end()]), { text: 'Hello.' }],
  [
    'unknown events between the parts',
    odd((wire) => [{ type: 'x.unknown', n: 1 }, ...wire.text('Hello.'), { heartbeat: true }, ...wire.end()]),
    { text: 'Hello.' },
  ],
  ['a whole document instead of a stream', (wire) => JSON.stringify(wire.whole('Hello.'), null, 2), { text: 'Hello.' }],
  [
    'events without the empty line between them',
    (wire) =>
      [...wire.text('Hello.'), ...wire.end()].map((event) => `data: ${JSON.stringify(event)}\n`).join('') + '\n',
    { text: 'Hello.' },
  ],
  [
    'lines that end with carriage returns, and data without a space',
    (wire) => [...wire.text('Hello.'), ...wire.end()].map((event) => `data:${JSON.stringify(event)}\r\n\r\n`).join(''),
    { text: 'Hello.' },
  ],
  [
    'comments and other fields',
    (wire) =>
      `: ping\n\nid: 4\nretry: 9\n\n${[...wire.text('Hello.'), ...wire.end()].map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('')}`,
    { text: 'Hello.' },
  ],
  [
    'text that is no JSON between the events',
    odd((wire) => ['OK', ...wire.text('Hello.'), 'null', ...wire.end()]),
    { text: 'Hello.' },
  ],
  [
    'a call',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', call), ...wire.end(wire.reasons.calls)]),
    { text: 'I read.', calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a number as the id of a call',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', call, 7), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a name with a prefix of the model',
    odd((wire) => [...wire.text('I read.'), ...wire.call('functions.read', call), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a name with marks of a channel',
    odd((wire) => [
      ...wire.text('I read.'),
      ...wire.call('read<|channel|>commentary', call),
      ...wire.end(wire.reasons.calls),
    ]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a name with a count',
    odd((wire) => [...wire.text('I read.'), ...wire.call('functions.read:0', call), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  ['usage of zeros', odd((wire) => [...wire.text('Hello.'), ...wire.usage(0, 0)]), { text: 'Hello.' }],
  [
    'usage of texts',
    odd((wire) => [...wire.text('Hello.'), ...wire.usage('12' as never, 'many' as never)]),
    { text: 'Hello.' },
  ],
  [
    'thoughts within the text',
    odd((wire) => [...wire.text('<think>plan</think>\n\nHello.'), ...wire.end()]),
    { text: 'Hello.' },
  ],
  [
    'thoughts that name a call',
    odd((wire) => [...wire.text('<think>I use <tool_call></think>Hello.'), ...wire.end()]),
    { text: 'Hello.' },
  ],
  [
    'a block of code that quotes a call',
    odd((wire) => [...wire.text('```\n<tool_call>{"name":"read"}</tool_call>\n```'), ...wire.end()]),
    { text: '```\n<tool_call>{"name":"read"}</tool_call>\n```' },
  ],
  [
    'a text that quotes an error',
    odd((wire) => [...wire.text('{"error":{"message":"Rate limit","code":429}}'), ...wire.end()]),
    { text: '{"error":{"message":"Rate limit","code":429}}' },
  ],
  ['a byte order mark', (wire) => `\ufeff${stream([...wire.text('Hello.'), ...wire.end()])}`, { text: 'Hello.' }],
  [
    'empty lines before the first event',
    (wire) => `\n\n\r\n${stream([...wire.text('Hello.'), ...wire.end()])}`,
    { text: 'Hello.' },
  ],
  [
    'a stream with the type of a document',
    (wire) => ({ body: stream([...wire.text('Hello.'), ...wire.end()]), type: 'application/json' }),
    { text: 'Hello.' },
  ],
  [
    'a stream with the type of a plain text',
    (wire) => ({ body: stream([...wire.text('Hello.'), ...wire.end()]), type: 'text/plain; charset=utf-8' }),
    { text: 'Hello.' },
  ],
  [
    'a document with the type of a plain text',
    (wire) => ({ body: JSON.stringify(wire.whole('Hello.')), type: 'text/plain' }),
    { text: 'Hello.' },
  ],
  [
    'an event over several data lines',
    (wire) =>
      [...wire.text('Hello.'), ...wire.end()]
        .map((event) => `${JSON.stringify(event, null, 1).replace(/^/gm, 'data: ')}\n\n`)
        .join(''),
    { text: 'Hello.' },
  ],
  [
    'a comment after each event',
    (wire) =>
      [...wire.text('Hello.'), ...wire.end()].map((event) => `data: ${JSON.stringify(event)}\n\n: keep\n\n`).join(''),
    { text: 'Hello.' },
  ],
  [
    'a text of 200 kB',
    odd((wire) => [...wire.text('x'.repeat(200_000)), ...wire.end()]),
    { text: 'x'.repeat(200_000) },
  ],
  [
    'a call with the reason of a plain end',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', call), ...wire.end(wire.reasons.stop)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a call without an id',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', call, null), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'a call with an empty id',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', call, ''), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  [
    'blanks around the arguments',
    odd((wire) => [...wire.text('I read.'), ...wire.call('read', ` \n${call}\n `), ...wire.end(wire.reasons.calls)]),
    { calls: [['read', { path: 'a.txt' }]] },
  ],
  ['negative usage', odd((wire) => [...wire.text('Hello.'), ...wire.usage(-1, -1)]), { text: 'Hello.' }],
  [
    'a text cut at the length limit',
    odd((wire) => [...wire.text('I beg'), ...wire.end(wire.reasons.length)]),
    { text: 'I beg' },
  ],
]

/** Answers that broke, on every wire. */
const refused: [string, (wire: Wire) => string | Reply, string, RegExp][] = [
  [
    'an unknown reason for the end',
    odd((wire) => [...wire.text('I beg'), ...wire.end('network_error')]),
    'VT_LLM_CUT',
    /network_error/,
  ],
  ['an empty reason for the end', odd((wire) => [...wire.text('I beg')]).bind(undefined), 'VT_LLM_CUT', /broke off/],
  ['no end', (wire) => stream(wire.text('I beg')), 'VT_LLM_CUT', /broke off/],
  ['nothing', () => '', 'VT_LLM_CUT', /broke off/],
  ['an empty object', () => '{}', 'VT_LLM_CUT', /broke off/],
  ['a cut document', (wire) => JSON.stringify(wire.whole('Hello.')).slice(0, -5), 'VT_LLM_CUT', /is not JSON/],
  [
    'an event that is not JSON',
    (wire) => `${stream(wire.text('I beg'))}data: {"choices":[{"delta"\n\n`,
    'VT_LLM_CUT',
    /is not JSON/,
  ],
  [
    'an error as a text',
    () => JSON.stringify({ error: 'model requires more memory' }),
    'VT_LLM_REQUEST',
    /more memory/,
  ],
  ['an error as a detail', () => JSON.stringify({ detail: 'no such route' }), 'VT_LLM_REQUEST', /no such route/],
  [
    'an error in a list',
    () => JSON.stringify([{ error: { code: 400, message: 'bad field' } }]),
    'VT_LLM_REQUEST',
    /bad/,
  ],
  [
    'an error of vLLM',
    () => stream([{ object: 'error', message: 'bad field', code: 400 }]),
    'VT_LLM_REQUEST',
    /bad field/,
  ],
  [
    'an error of MiniMax',
    () => JSON.stringify({ base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }),
    'VT_LLM_QUOTA',
    /insufficient balance/,
  ],
  [
    'an error after some text',
    (wire) => stream([...wire.text('I beg'), wire.error('Rate limit', 429)]),
    'VT_LLM_RATE_LIMIT',
    /Rate limit/,
  ],
  [
    'a page for a sign-in',
    () => ({ body: '<html>Sign in</html>', type: 'text/html' }),
    'VT_LLM_REQUEST',
    /Sign in|page/,
  ],
  [
    'a page of a gateway',
    () => ({ body: '<html><h1>502 Bad Gateway</h1></html>', status: 502, type: 'text/html' }),
    'VT_LLM_REQUEST',
    /502|Bad Gateway/,
  ],
  ['a failure without a body', () => ({ body: '', status: 500 }), 'VT_LLM_REQUEST', /500|Internal/],
  [
    'a plain text with a status',
    () => ({ body: 'Too many requests, slow down.', status: 429, type: 'text/plain' }),
    'VT_LLM_RATE_LIMIT',
    /slow down/,
  ],
  [
    'a refused key',
    () => ({ body: JSON.stringify({ error: { message: 'User not found.' } }), status: 401, type: 'application/json' }),
    'VT_LLM_AUTH',
    /User not found/,
  ],
  [
    'a quota that is used up',
    () => ({ body: JSON.stringify({ error: 'Insufficient credits' }), status: 402, type: 'application/json' }),
    'VT_LLM_QUOTA',
    /Insufficient credits/,
  ],
  [
    'a server without resources',
    () => ({ body: JSON.stringify({ message: 'overloaded' }), status: 529, type: 'application/json' }),
    'VT_LLM_REQUEST',
    /overloaded/,
  ],
  [
    'a context that is too long',
    () => ({
      body: JSON.stringify({ error: { message: "This model's maximum context length is 8192 tokens." } }),
      status: 400,
      type: 'application/json',
    }),
    'VT_LLM_CONTEXT',
    /maximum context length/,
  ],
  [
    'an error with a list of errors',
    () => ({ body: JSON.stringify({ errors: [{ message: 'bad field' }] }), status: 400, type: 'application/json' }),
    'VT_LLM_REQUEST',
    /bad field/,
  ],
  [
    'an error with `msg`',
    () => ({ body: JSON.stringify({ code: 40001, msg: 'bad field' }), status: 400, type: 'application/json' }),
    'VT_LLM_REQUEST',
    /bad field/,
  ],
  [
    'an error with a document in its message',
    () => ({
      body: JSON.stringify({ error: { message: JSON.stringify({ error: { message: 'inner words' } }) } }),
      status: 400,
      type: 'application/json',
    }),
    'VT_LLM_REQUEST',
    /inner words/,
  ],
  ['an error as the first event', (wire) => stream([wire.error('bad field', 400)]), 'VT_LLM_REQUEST', /bad field/],
  [
    'a context that is too long, in the stream',
    (wire) => stream([wire.error("This model's maximum context length is 8192 tokens.", 400)]),
    'VT_LLM_CONTEXT',
    /maximum context length/,
  ],
  ['blanks only', odd((wire) => [...wire.text(' \n '), ...wire.end()]), 'VT_LLM_EMPTY', /peer.m answered/],
  [
    'thoughts only',
    odd((wire) => [...wire.text('<think>plan</think>'), ...wire.end()]),
    'VT_LLM_EMPTY',
    /peer.m answered/,
  ],
  ['an end without an answer', odd((wire) => wire.end()), 'VT_LLM_EMPTY', /peer.m answered/],
]

it('holds at least 60 rows for each wire', () => {
  expect(repaired.length + refused.length).toBeGreaterThanOrEqual(60)
})

describe.each(formats)('answers over %s', (format) => {
  const wire = wires[format]
  let ask: Ask
  beforeAll(async () => {
    ask = await createAsk(format)
  })

  it.each(repaired)('accepts %s', async (_, body, expected) => {
    const answer = await ask(toReply(body(wire)))
    if (expected.text !== undefined) expect(textOf(answer)).toBe(expected.text)
    expect(callsOf(answer)).toEqual(expected.calls ?? [])
  })

  // An end without a reason, as Responses and Gemini have none in a list of calls, is no case of its own there.
  const cases = refused.filter(([name]) => format !== 'openai-chat' || name !== 'an empty reason for the end')
  it.each(cases)('reports %s with the words of the server', async (_, body, code, words) => {
    await expect(ask(toReply(body(wire)))).rejects.toMatchObject({ code, message: expect.stringMatching(words) })
  })

  it('reads nothing after the end of an answer', async () => {
    const end = [...wire.text('Hello.'), ...wire.end()]
    if (format === 'google-generative-ai') return
    const body = `${stream(end)}${wire.done}${stream([...wire.text(' And more.'), ...wire.end()])}${wire.done}`
    expect(textOf(await ask({ body }))).toBe('Hello.')
  })

  it('keeps known usage when zeros follow', async () => {
    const counted = wire.usage(12, 3)
    const zeros = format === 'openai-chat' ? wire.usage(0, 0) : []
    const end = format === 'openai-chat' ? wire.end() : []
    const { usage } = await ask({ body: stream([...wire.text('Hello.'), ...counted, ...zeros, ...end]) + wire.done })
    expect(usage).toMatchObject({ input_tokens: 12, output_tokens: 3 })
  })

  it('maps each known reason to an end, and takes a reason of no table as broken', async () => {
    for (const [end, reasons] of Object.entries(endReasons[format]!))
      for (const reason of reasons) {
        const events = [
          ...wire.text('Hello.'),
          ...(end === 'tool-calls' ? wire.call('read', call) : []),
          ...wire.end(reason),
        ]
        const answer = ask({ body: stream(events) + wire.done })
        if (end === 'content-filter') await expect(answer, reason).rejects.toMatchObject({ code: 'VT_LLM_REFUSED' })
        else expect((await answer).finish, reason).toBe(end)
      }
  })

  it('names the cause of each known text, as a status, a document, an event and after some text', async () => {
    for (const { server, status, text, cause } of errorTexts) {
      const error = JSON.stringify({ error: { message: text } })
      const replies: Reply[] = [
        { body: error, status, type: 'application/json' },
        { body: error, type: 'application/json' },
        { body: stream([wire.error(text, status)]) },
        { body: stream([...wire.text('I beg'), wire.error(text, status)]) },
      ]
      for (const [place, reply] of replies.entries()) {
        // A document without a status cannot say that it means the server itself.
        if (place === 1 && ['busy', 'auth'].includes(cause)) continue
        const failure: any = await ask(reply, reply).catch((error: unknown) => error)
        expect([server, text, place, failure.code]).toEqual([server, text, place, codes[cause]])
        expect(failure.message).toContain(text.slice(0, 40))
        if (hints[cause]) expect(failure.hint ?? JSON.stringify(failure), text).toMatch(hints[cause])
      }
    }
  })
})

it('keeps the table of end reasons in docs/providers.md equal to that of the program', () => {
  const page = readFileSync('docs/providers.md', 'utf8')
  for (const [format, table] of Object.entries(endReasons))
    for (const [end, reasons] of Object.entries(table))
      if (reasons.length > 0)
        expect(page).toContain(`| \`${format}\` | ${end} | ${reasons.map((reason) => `\`${reason}\``).join(', ')} |`)
})
