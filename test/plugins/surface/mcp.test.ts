import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { holdForFile } from '../../support/held.js'
import { keepCompiledOf } from '../../support/compiled.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

const manifest = `name: probe
description: Does what a test asks of it.
effects: [read]
input:
  properties:
    act: { enum: [say, progress, wait, print, big, late] }
    text: { type: string }
module: ./probe.js
`
const code = `import { writeFileSync } from 'node:fs'
export default async ({ input }, context) => {
  if (input.act === 'print') console.log('noise on stdout')
  if (input.act === 'progress') for (let i = 1; i <= 50; i++) { context.progress({ done: i, total: 50, text: 'step ' + i }); await new Promise((r) => setTimeout(r, 20)) }
  if (input.act === 'late') {
    context.progress({ text: 'waiting' })
    await new Promise((resolve) => process.stdin.once('end', () => setTimeout(resolve, 1050)))
  }
  if (input.act === 'wait') {
    context.progress({ text: 'waiting' })
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    writeFileSync(context.workspace.root + '/told', 'to stop')
  }
  return { ok: true, output: { said: input.text ?? '' }, text: 'said ' + input.text, notices: [{ code: 'X_NOTE', message: 'a remark' }], content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }
}`

async function workspace(files: Record<string, string> = {}): Promise<TempWorkspace> {
  const made = await tempWorkspace({ 'a.txt': 'hello\n', ...files })
  await made.write('../home/probe/probe.yaml', manifest)
  await made.write('../home/probe/probe.js', code)
  await made.write(
    '../home/.vtcode/vtcode.config.yaml',
    `manifests: [builtin, '${made.home}/probe']\nsandbox: { plugins: off }\n`,
  )
  return made
}

interface Connected extends AsyncDisposable {
  client: Client
}
async function connect(
  made: TempWorkspace,
  flags: string[] = [],
  options: ConstructorParameters<typeof Client>[1] = {},
): Promise<Connected> {
  const client = new Client({ name: 'test', version: '1' }, options)
  const env = surroundings(made)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, ...flags, 'mcp'],
    cwd: made.root,
    env,
  })
  await client.connect(transport)
  return { client, [Symbol.asyncDispose]: () => client.close().then(() => keepCompiledOf(['mcp'], env)) }
}

/** A client that writes bytes and reads lines. */
class Raw {
  readonly child: ChildProcessByStdio<Writable, Readable, null>
  readonly exit: Promise<number | null>
  readonly lines: { id?: unknown; method?: string; error?: { code: number; message: string }; result?: unknown }[] = []
  #rest = ''
  #waiting: (() => void)[] = []
  constructor(made: TempWorkspace, flags: string[] = []) {
    const env = surroundings(made)
    this.child = spawn(process.execPath, [bin, ...flags, 'mcp'], {
      cwd: made.root,
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.exit = new Promise((resolve) =>
      this.child.on('close', (code) => (keepCompiledOf(['mcp'], env), resolve(code))),
    )
    this.child.stdin.on('error', () => {})
    this.child.stdout.on('data', (chunk) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop()!
      this.lines.push(...lines.map((line) => JSON.parse(line)))
      for (const wake of this.#waiting.splice(0)) wake()
    })
  }
  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  /** Returns the first matching line, received already or later. */
  async line(like: (line: Raw['lines'][number]) => boolean): Promise<Raw['lines'][number]> {
    for (;;) {
      const found = this.lines.find(like)
      if (found) return found
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
  answer(id: unknown): Promise<Raw['lines'][number]> {
    return this.line((line) => line.id === id)
  }
  async open(): Promise<this> {
    this.send({
      id: 'open',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    })
    await this.answer('open')
    this.send({ method: 'notifications/initialized' })
    return this
  }
}
const read = { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } }

describe('vtcode mcp', () => {
  /** Serves the tests whose subject is neither the connection nor the settings. */
  let made: TempWorkspace
  let connected: Connected
  beforeAll(async () => {
    made = holdForFile(await workspace())
    connected = holdForFile(await connect(made))
  })

  it('lists every tool with its flat schema, and its own capabilities', async () => {
    const { tools } = await connected.client.listTools()
    expect(tools.find(({ name }) => name === 'probe')).toMatchObject({
      inputSchema: { type: 'object', properties: { act: {} } },
      annotations: { readOnlyHint: true },
    })
    expect(tools.map(({ name }) => name)).toContain('unified_file')
    // Our tools answer with text; a client that saw a schema would give a model the structure instead.
    expect(tools.filter(({ outputSchema }) => outputSchema).map(({ name }) => name)).toEqual([])
  })

  it('lists schemas that a client can compile unchanged', async () => {
    for (const { name, inputSchema } of (await connected.client.listTools()).tools) {
      expect(() => new Ajv2020({ strict: false, strictSchema: true }).compile(inputSchema), name).not.toThrow()
    }
  })

  it('answers with text, notices at its end and in _meta, then content blocks, and without the value', async () => {
    const result = await connected.client.callTool({ name: 'probe', arguments: { act: 'say', text: 'hi' } })
    expect(result).toMatchObject({
      content: [
        { type: 'text', text: 'said hi\n[X_NOTE] a remark' },
        { type: 'image', data: 'AAAA' },
      ],
      _meta: { 'vtcode/notices': [{ code: 'X_NOTE', message: 'a remark' }] },
    })
    expect(result.isError).toBeFalsy()
    expect(result).not.toHaveProperty('structuredContent')
  })

  it('answers a failed call with isError and the error, an unknown tool with a JSON-RPC error', async () => {
    const failed = await connected.client.callTool({
      name: 'unified_file',
      arguments: { action: 'read', path: '../secret' },
    })
    expect(failed).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: "VT_PATH_OUTSIDE: '../secret' leads outside the workspace.\nUse a path inside the workspace.",
        },
      ],
    })
    for (const name of ['nonsense', '__proto__', 'constructor', 'toString']) {
      await expect(connected.client.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32602 })
    }
    expect((await connected.client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
  })

  it('reports progress that grows, at most ten times a second, and none after the result', async () => {
    const seen: number[] = []
    let late = false
    let done = false
    const began = performance.now()
    await connected.client.callTool(
      { name: 'probe', arguments: { act: 'progress' } },
      { onprogress: ({ progress }) => (done ? (late = true) : seen.push(progress)) },
    )
    done = true
    const seconds = (performance.now() - began) / 1000
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(late).toBe(false)
    expect(seen.length).toBeGreaterThan(1)
    // Ten may come at once.
    expect(seen.length).toBeLessThanOrEqual(10 * seconds + 10)
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  })

  it('aborts a call that its client cancels, and answers the next one', async () => {
    const stop = new AbortController()
    const call = connected.client.callTool(
      { name: 'probe', arguments: { act: 'wait' } },
      { signal: stop.signal, onprogress: () => stop.abort() },
    )
    await expect(call).rejects.toThrow()
    expect((await connected.client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
    await expect.poll(() => existsSync(`${made.root}/told`)).toBe(true)
  })

  it('changes none of the files of a patch that its client cancels, and shows no answer for it', async () => {
    await using made = await workspace()
    const names = Array.from({ length: 120 }, (_, index) => `f${index}.txt`)
    for (const name of names) await made.write(name, 'old\n')
    const raw = await new Raw(made, ['--mode', 'auto']).open()
    const patch = `*** Begin Patch\n${names.map((name) => `*** Update File: ${name}\n@@\n-old\n+new\n`).join('')}*** End Patch\n`
    const calls = [
      { id: 1, method: 'tools/call', params: { name: 'apply_patch', arguments: { input: patch } } },
      { method: 'notifications/cancelled', params: { requestId: 1 } },
    ]
    // In one piece, so that the call is cancelled as soon as it began, however slow the client is.
    raw.child.stdin.write(calls.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
    // A call for one of the files waits for the unfinished one.
    raw.send({
      id: 2,
      method: 'tools/call',
      params: { name: 'unified_file', arguments: { action: 'copy', path: 'f7.txt', destination: 'copied' } },
    })
    expect((await raw.answer(2)).result).not.toHaveProperty('isError', true)
    expect(readFileSync(`${made.root}/copied`, 'utf8')).toBe('old\n')
    expect([...new Set(names.map((name) => readFileSync(`${made.root}/${name}`, 'utf8')))]).toEqual(['old\n'])
    raw.child.stdin.end()
    expect(await raw.exit).toBe(0)
    expect(raw.lines.some(({ id }) => id === 1)).toBe(false)
  })

  it('asks the client for approval when it can, and follows the answer', async () => {
    await using made = await workspace()
    const answers = ['decline', 'accept'] as const
    for (const action of answers) {
      await using connected = await connect(made, ['-c', 'policy.ask=["Read(a.txt)"]'], {
        capabilities: { elicitation: { form: {} } },
      })
      const asked: string[] = []
      connected.client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message)
        return action === 'accept' ? { action, content: { approve: true } } : { action }
      })
      const result = await connected.client.callTool(read)
      expect(asked).toHaveLength(1)
      expect(asked[0]).toContain('a.txt')
      expect(result.isError ?? false).toBe(action === 'decline')
    }
    await using mute = await connect(made, ['-c', 'policy.ask=["Read(a.txt)"]'])
    expect(await mute.client.callTool(read)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^VT_POLICY_NEEDS_APPROVAL: /) }],
    })
  })

  it('writes files of the workspace without approval, unless settings or a flag name another mode', async () => {
    await using made = await workspace()
    const write = {
      name: 'unified_file',
      arguments: { action: 'write', path: 'new.txt', content: 'x', mode: 'overwrite' },
    }
    await using connected = await connect(made)
    expect((await connected.client.callTool(write)).isError).toBeUndefined()
    await using strict = await connect(made, ['--mode', 'ask'])
    expect(await strict.client.callTool(write)).toMatchObject({
      content: [{ text: expect.stringMatching(/^VT_POLICY_NEEDS_APPROVAL: /) }],
    })
    await made.write('../home/.vtcode/vtcode.config.yaml', 'policy: { mode: plan }\n')
    await using planning = await connect(made)
    expect(await planning.client.callTool(write)).toMatchObject({
      content: [{ text: expect.stringMatching(/^VT_POLICY_DENIED: /) }],
    })
  })

  it('keeps stdout for the protocol whatever a plugin prints', async () => {
    await using made = await workspace()
    const raw = await new Raw(made).open()
    raw.send({ id: 1, method: 'tools/call', params: { name: 'probe', arguments: { act: 'print', text: 'x' } } })
    expect((await raw.answer(1)).result).toMatchObject({ content: [{ text: 'said x\n[X_NOTE] a remark' }, {}] })
    raw.child.stdin.end()
    expect(await raw.exit).toBe(0)
  })

  it('serves the 2026-07-28 revision', async () => {
    await using made = await workspace()
    await using connected = await connect(made, [], { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    expect((await connected.client.listTools()).tools.map(({ name }) => name)).toContain('probe')
    expect((await connected.client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
  })

  it('answers 1,000 concurrent calls, each with its own result', async () => {
    const calls = Array.from({ length: 1_000 }, (_, i) =>
      connected.client.callTool({ name: 'probe', arguments: { act: 'say', text: `${i}` } }),
    )
    const said = (await Promise.all(calls)).map(({ content }) => (content as { text: string }[])[0]!.text)
    expect(said).toEqual(Array.from({ length: 1_000 }, (_, i) => `said ${i}\n[X_NOTE] a remark`))
  })
})

describe('the MCP wire format', () => {
  /** One server takes all that is wrong on the wire, and lives until the last test has ended it. */
  let raw: Raw
  beforeAll(async () => {
    raw = await new Raw(holdForFile(await workspace())).open()
  })
  beforeEach(() => {
    raw.lines.length = 0
  })
  afterAll(async () => {
    raw.child.stdin.end()
    expect(await raw.exit).toBe(0)
  })

  it('answers garbage and what is no message with an error, and the next call as usual', async () => {
    for (const line of [
      'garbage',
      '42',
      'null',
      '[]',
      '{}',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '\u0000\u0001',
      '',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    ])
      raw.child.stdin.write(`${line}\n`)
    raw.child.stdin.write(Buffer.from([0xff, 0xfe, 10]))
    raw.send({ id: 9, method: 'tools/call', params: read })
    expect((await raw.answer(9)).result).toMatchObject({ content: [{ text: 'hello\n' }] })
    const codes = raw.lines.flatMap(({ error }) => error?.code ?? [])
    expect(codes.filter((code) => code === -32700)).toHaveLength(3)
    expect(codes.filter((code) => code === -32600)).toHaveLength(6)
  })

  it('answers a request with an invalid _meta with an error', async () => {
    const wrong = [
      5,
      'x',
      [],
      null,
      { progressToken: {} },
      { progressToken: 1.5 },
      { 'io.modelcontextprotocol/related-task': 5 },
      { 'io.modelcontextprotocol/related-task': { taskId: 1 } },
    ]
    wrong.forEach((_meta, id) => raw.send({ id, method: 'tools/call', params: { ...read, _meta } }))
    const codes = await Promise.all(wrong.map(async (_, id) => (await raw.answer(id)).error?.code))
    expect(codes).toEqual(wrong.map(() => -32602))
    raw.send({
      id: 'good',
      method: 'tools/call',
      params: { ...read, _meta: { progressToken: 7, 'com.example/other': [1] } },
    })
    expect((await raw.answer('good')).result).toMatchObject({ content: [{ text: 'hello\n' }] })
  })

  it('survives JSON that is deeper than an input may be', async () => {
    const deep = `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`
    raw.child.stdin.write(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"unified_file","arguments":${deep}}}\n`,
    )
    const { error, result } = await raw.answer(1)
    expect(error ?? (result as { isError?: boolean }).isError).toBeTruthy()
    raw.send({ id: 2, method: 'tools/call', params: read })
    expect((await raw.answer(2)).result).toBeDefined()
  })

  it.each([
    [
      'id first',
      (text: string) =>
        `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"probe","arguments":{"text":"${text}"}}}`,
    ],
    [
      'id last',
      (text: string) =>
        `{"method":"tools/call","params":{"name":"probe","arguments":{"text":"${text}"}},"jsonrpc":"2.0","id":7}`,
    ],
  ])('refuses a frame of 12 MB by its id (%s) and continues', async (_, frame) => {
    raw.child.stdin.write(`${frame('x'.repeat(12_000_000))}\n`)
    expect((await raw.answer(7)).error).toMatchObject({ code: -32600, message: expect.stringContaining('10485760') })
    raw.send({ id: 8, method: 'tools/call', params: read })
    expect((await raw.answer(8)).result).toBeDefined()
  })

  it('answers a line that never ends and keeps no more of it than the limit', async () => {
    await using made = await workspace()
    const raw = await new Raw(made).open()
    const before = memory(raw.child.pid!)
    const chunk = 'x'.repeat(1_000_000)
    for (let i = 0; i < 200; i++) if (!raw.child.stdin.write(chunk)) await drained(raw)
    expect((await raw.answer(null)).error).toMatchObject({ code: -32600 })
    expect(memory(raw.child.pid!) - before).toBeLessThan(100)
    raw.child.stdin.end()
    expect(await raw.exit).toBe(0)
  })

  it('reads a 9 MB frame that comes in small pieces in linear time', async () => {
    const frame = Buffer.from(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe","arguments":{"text":"${'y'.repeat(9_000_000)}"}}}\n`,
    )
    const started = performance.now()
    for (let at = 0; at < frame.length; at += 512)
      if (!raw.child.stdin.write(frame.subarray(at, at + 512))) await drained(raw)
    await raw.answer(1)
    expect(performance.now() - started).toBeLessThan(50_000)
  })

  it('answers pending calls when its client closes the pipe, and ends with 0', async () => {
    await using made = await workspace()
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } },
      },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: read },
    ]
    const ran = await vtcode(made, ['mcp'], {
      stdin: messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
    })
    expect(ran.code).toBe(0)
    expect(JSON.parse(ran.stdout.trim().split('\n')[1]!)).toMatchObject({
      id: 2,
      result: { content: [{ text: 'hello\n' }] },
    })
  })

  it('writes an answer that is due within a second and a half after its client closed the pipe', async () => {
    await using made = await workspace()
    // In the process of the server, the plugin knows when its input ends.
    const raw = await new Raw(made, ['-c', 'plugins.isolate="inline"']).open()
    // The first call loads what every call needs.
    raw.send({ id: 0, method: 'tools/call', params: { name: 'probe', arguments: { act: 'say', text: 'early' } } })
    await raw.answer(0)
    raw.send({
      id: 1,
      method: 'tools/call',
      params: { name: 'probe', arguments: { act: 'late', text: 'late' }, _meta: { progressToken: 1 } },
    })
    await raw.line(({ method }) => method === 'notifications/progress')
    raw.child.stdin.end()
    expect(await raw.exit).toBe(0)
    expect(raw.lines.find(({ id }) => id === 1)).toMatchObject({
      result: { content: [{ text: expect.stringContaining('said late') }, {}] },
    })
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'stdin', 'stdout'] as const)(
    'ends within two seconds after %s, even when a call hangs',
    async (end) => {
      await using made = await workspace()
      const raw = await new Raw(made).open()
      raw.send({
        id: 1,
        method: 'tools/call',
        params: { name: 'probe', arguments: { act: 'wait' }, _meta: { progressToken: 1 } },
      })
      await raw.line(({ method }) => method === 'notifications/progress')
      const started = performance.now()
      if (end === 'stdin') raw.child.stdin.end()
      else if (end === 'stdout') {
        raw.child.stdout.destroy()
        raw.send({ id: 2, method: 'ping' })
      } else raw.child.kill(end)
      expect(await raw.exit).toBe(end === 'stdin' ? 0 : 130)
      expect(performance.now() - started).toBeLessThan(10_000)
    },
  )
})

/** Resident memory in MB. */
function memory(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

const drained = ({ child }: Raw): Promise<void> => new Promise((resolve) => child.stdin.once('drain', () => resolve()))

describe('vtcode mcp --doctor', () => {
  it('queries the server in both revisions, and reports its answers or what does not start', async () => {
    await using made = await workspace()
    const { code, stdout } = await vtcode(made, ['mcp', '--doctor'])
    expect(stdout).toMatch(/^ok +2025-11-25 .*tools.*one call answered\nok +2026-07-28 .*one call answered\n$/)
    expect(code).toBe(0)
  })
})
