import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'
import { rawMcp, type RawLine } from '../../support/raw_mcp.js'

const manifest =
  'name: probe\ndescription: Does what a test asks of it.\neffects: [read]\ninput: { properties: { act: { enum: [say, show, wait, log] } } }\nmodule: ./probe.js\n'
const code = `import { writeFileSync } from 'node:fs'
export default async ({ input: { act } }, context) => {
  if (act === 'log') context.log('warn', 'heard')
  if (act === 'wait') {
    context.progress({ text: 'waiting' })
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    writeFileSync(context.workspace.root + '/told', 'to stop')
  }
  const content = act === 'show' ? [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] : undefined
  return { ok: true, output: { act }, text: 'did ' + act, notices: [{ code: 'X_NOTE', message: 'a remark' }], ...(content && { content }) }
}`
const protocol = 'io.modelcontextprotocol/'
// Only the library reads this member of a request.
const longWay = { [`${protocol}related-task`]: { taskId: 'none' } }

/** Starts a server with a tool that follows its input and a file that is read after an approval. */
async function rawServer() {
  const made = await tempWorkspace({ 'a.txt': 'hello\n' })
  await made.write('../home/probe/probe.yaml', manifest)
  await made.write('../home/probe/probe.js', code)
  await made.write(
    '../home/.vtcode/vtcode.config.yaml',
    `manifests: [builtin, '${made.home}/probe']\nsandbox: { plugins: off }\ntools: { max_repeated_tool_calls: 0 }\npolicy: { ask: ['Read(a.txt)'] }\n`,
  )
  const raw = rawMcp(made, ['mcp'])
  const { lines, send, line, call } = raw
  /** Checks that a cancelled call is aborted and not answered. */
  const cancels = async (meta: object) => {
    send({
      id: 'hangs',
      method: 'tools/call',
      params: { name: 'probe', arguments: { act: 'wait' }, _meta: { ...meta, progressToken: 1 } },
    })
    await line(({ method }) => method === 'notifications/progress')
    send({
      method: 'notifications/cancelled',
      params: { requestId: 'hangs', ...(Object.keys(meta).length > 0 && { _meta: meta }) },
    })
    await expect.poll(() => existsSync(`${made.root}/told`)).toBe(true)
    await call({ name: 'probe', arguments: { act: 'say' }, _meta: meta })
    expect(lines.some(({ id }) => id === 'hangs')).toBe(false)
  }
  return { ...raw, cancels, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() }
}

/** Calls, and the result of each on either path. */
const calls: [params: Record<string, unknown>, like: object][] = [
  [
    { name: 'probe', arguments: { act: 'say' } },
    {
      result: {
        content: [{ type: 'text', text: 'did say\n[X_NOTE] a remark' }],
        _meta: { 'vtcode/notices': [{ code: 'X_NOTE' }] },
      },
    },
  ],
  [
    { name: 'probe', arguments: { act: 'show' } },
    { result: { content: [{ type: 'text' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }] } },
  ],
  [{ name: 'probe' }, { result: { content: [{ text: 'did undefined\n[X_NOTE] a remark' }] } }],
  [
    { name: 'probe', arguments: { act: 'no' } },
    { result: { isError: true, content: [{ text: expect.stringMatching(/^VT_INPUT_INVALID: /) }] } },
  ],
  [
    { name: 'probe', arguments: { act: 'say' }, _meta: { 'dev.vtcode/structured': true } },
    { result: { structuredContent: { act: 'say' } } },
  ],
  [
    { name: 'nobody', arguments: {} },
    { error: { code: -32602, message: expect.stringMatching(/^Unknown tool: nobody\./) } },
  ],
  [{ name: 'probe', arguments: null }, { error: { code: -32602 } }],
  [
    { name: 'probe', arguments: { act: 'say' }, _meta: { 'dev.vtcode/structured': 'yes' } },
    { error: { code: -32602 } },
  ],
]

it('answers a call equally on the short path and through the MCP library, for every kind of answer', async () => {
  await using raw = await rawServer()
  const { lines, send, line, call } = raw
  send({
    id: 'open',
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { form: {} } },
      clientInfo: { name: 'raw', version: '1' },
    },
  })
  await line(({ id }) => id === 'open')
  send({ method: 'notifications/initialized' })
  for (const [params, like] of calls) {
    const [short, long] = [
      await call(params),
      await call({ ...params, _meta: { ...(params['_meta'] as object), ...longWay } }),
    ]
    expect(short).toMatchObject(like)
    expect(short).toEqual(long)
  }

  // A question is put once, and the approved call runs once.
  const read = { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } }
  for (const params of [read, { ...read, _meta: longWay }]) {
    const answered = call(params)
    const asked = await line(({ method }) => method === 'elicitation/create')
    lines.splice(lines.indexOf(asked), 1)
    expect(asked.params!.message).toContain('a.txt')
    send({ id: asked.id, result: { action: 'accept', content: { approve: true } } })
    expect((await answered).result!.content).toEqual([{ type: 'text', text: 'hello\n' }])
    expect(lines.filter(({ method }) => method === 'elicitation/create')).toEqual([])
  }

  // The level that a client sets counts for what its calls log.
  await call({ name: 'probe', arguments: { act: 'log' } })
  expect(lines.filter(({ method }) => method === 'notifications/message').map(({ params }) => params!.data)).toEqual([
    'heard',
  ])
  send({ id: 'level', method: 'logging/setLevel', params: { level: 'error' } })
  await line(({ id }) => id === 'level')
  await call({ name: 'probe', arguments: { act: 'log' } })
  expect(lines.filter(({ method }) => method === 'notifications/message')).toHaveLength(1)

  await raw.cancels({})
  expect(await raw.end()).toBe(0)
})

it("answers a 2026-07-28 call equally on both paths, once the library has read the client's data", async () => {
  await using raw = await rawServer()
  const { lines, send, line, call } = raw
  const envelope = {
    [`${protocol}protocolVersion`]: '2026-07-28',
    [`${protocol}clientInfo`]: { name: 'raw', version: '1' },
    [`${protocol}clientCapabilities`]: { elicitation: { form: {} } },
  }
  send({ id: 'open', method: 'server/discover', params: { _meta: envelope } })
  await line(({ id }) => id === 'open')
  // The library reads the first request; its data of the client counts for later ones.
  expect(await call({ name: 'probe', arguments: { act: 'say' }, _meta: envelope })).toMatchObject({
    result: { resultType: 'complete', _meta: { [`${protocol}serverInfo`]: { name: 'vtcode' } } },
  })
  for (const [params, like] of calls) {
    const _meta = { ...(params['_meta'] as object), ...envelope }
    const [short, long] = [await call({ ...params, _meta }), await call({ ...params, _meta: { ..._meta, ...longWay } })]
    expect(short).toMatchObject(like)
    expect(short).toEqual(long)
  }

  // Data of a client counts for one call: without forms, a call is refused that others are asked about. Wrong data is
  // still refused.
  const read = { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } }
  const asked = async (_meta: object) =>
    (await call({ ...read, _meta })).result as { resultType?: string; inputRequests?: object } | undefined
  const bare = { ...envelope, [`${protocol}clientCapabilities`]: {} }
  expect(await asked(bare)).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^VT_POLICY_/) }] })
  expect(await asked(bare)).toMatchObject({ isError: true })
  const first = await asked(envelope)
  expect(first).toMatchObject({ resultType: 'input_required' })
  expect(await asked(envelope)).toEqual(first)
  const inputResponses = Object.fromEntries(
    Object.keys(first!.inputRequests!).map((key) => [key, { action: 'accept', content: { approve: true } }]),
  )
  expect(await call({ ...read, inputResponses, _meta: envelope })).toMatchObject({
    result: { content: [{ type: 'text', text: 'hello\n' }] },
  })
  for (const wrong of [
    { ...envelope, [`${protocol}clientInfo`]: { name: 7 } },
    { ...envelope, [`${protocol}clientCapabilities`]: 'all' },
    {},
  ])
    expect(await call({ name: 'probe', arguments: { act: 'say' }, _meta: wrong })).toHaveProperty('error.code')

  // A client asks for log messages in the call itself.
  await call({ name: 'probe', arguments: { act: 'log' }, _meta: envelope })
  expect(lines.filter(({ method }) => method === 'notifications/message')).toEqual([])
  await call({ name: 'probe', arguments: { act: 'log' }, _meta: { ...envelope, [`${protocol}logLevel`]: 'info' } })
  expect(lines.filter(({ method }) => method === 'notifications/message').map(({ params }) => params!.data)).toEqual([
    'heard',
  ])
  await raw.cancels(envelope)
  expect(await raw.end()).toBe(0)
})

it('refuses a message that the library would not answer, and the second of two calls with one id', async () => {
  await using made = await tempWorkspace({})
  await made.write(
    '../home/probe/probe.yaml',
    'name: probe\ndescription: Counts.\neffects: [read]\ninput: { properties: { act: { type: string } } }\nmodule: ./probe.js\n',
  )
  await made.write(
    '../home/probe/probe.js',
    `import { appendFileSync } from 'node:fs'
export default ({ input: { act } }, context) => {
  appendFileSync(context.workspace.root + '/made', act + ' ')
  return { ok: true, output: {}, text: act, content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }
}`,
  )
  await made.write(
    '../home/.vtcode/vtcode.config.yaml',
    `manifests: [builtin, '${made.home}/probe']\nsandbox: { plugins: off }\n`,
  )
  const call = (id: string, act: string, more = '') =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"probe","arguments":{"act":"${act}"}}${more}}`
  const lines = [
    `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
    call('9007199254740993', 'unsafe'),
    call('2', 'more', ',"foo":1'),
    call('3', 'both', ',"result":{}'),
    call('4', 'proto', ',"__proto__":{"id":1}'),
    '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"probe","_meta":{"progressToken":9007199254740993}}}',
    call('6', 'one'),
    call('6', 'two'),
    // Only a notification cancels.
    '{"jsonrpc":"2.0","id":7,"method":"notifications/cancelled","params":{"requestId":6}}',
  ]
  const { stdout, code } = await vtcode(made, ['mcp'], { stdin: `${lines.join('\n')}\n`, lines: 9 })
  expect(code).toBe(0)
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RawLine)
    .filter(({ id }) => id !== 0)
  expect(answers.filter(({ error }) => error)).toMatchObject([
    { id: null, error: { code: -32600 } },
    {
      id: 2,
      error: {
        code: -32600,
        message: "Invalid request: unknown member 'foo'; a request has jsonrpc, id, method and params.",
      },
    },
    { id: 3, error: { code: -32600 } },
    { id: 4, error: { code: -32600 } },
    { id: 5, error: { code: -32602, message: expect.stringContaining('_meta.progressToken') } },
    {
      id: null,
      error: {
        code: -32600,
        message: 'Invalid request: the id 6 belongs to a request without an answer; use another id.',
      },
    },
    { id: 7, error: { code: -32601 } },
  ])
  expect(answers.find(({ id }) => id === 6)!.result!.content[0]!.text).toBe('one')
  expect(readFileSync(`${made.root}/made`, 'utf8')).toBe('one ')
})
