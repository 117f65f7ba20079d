import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createKernel, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../../support/program.js'
import { serve } from '../../../support/server.js'

// Real processes break the protocol: all other calls continue, and `vtcode doctor` names the server.
const fixture = fileURLToPath(new URL('../../../fixtures/mcp/hostile.mjs', import.meta.url))
const modern = fileURLToPath(new URL('../../../fixtures/mcp/modern.mjs', import.meta.url))
const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } }

type Opened = Kernel & AsyncDisposable
/** The program as a library of the user of a workspace. */
async function opened({ root, home }: TempWorkspace): Promise<Opened> {
  const env = { PATH: process.env['PATH'], HOME: home, VTCODE_HOME: `${home}/.vtcode` }
  const kernel = await createKernel({
    workspace: root,
    home,
    env,
    mode: 'full-auto',
    surface: 'test',
    timeouts: { restart: 20 },
  })
  return Object.assign(Object.create(kernel) as Kernel, { [Symbol.asyncDispose]: () => kernel.close() })
}

/** A user with one such server, and the program as a library of that user. */
async function place(
  how: string,
  at = '',
): Promise<
  TempWorkspace & { boot: () => Promise<Opened>; doctor: () => Promise<string>; asked: () => Promise<string[]> }
> {
  const made = await tempWorkspace({ 'a.txt': 'one\n' })
  const config = {
    automation,
    tools: { max_repeated_tool_calls: 0 },
    mcp: { servers: { s: { command: process.execPath, args: [fixture, made.home, how, at] } } },
  }
  await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(config))
  return Object.assign(made, {
    boot: () => opened(made),
    doctor: async () => (await vtcode(made, ['doctor'])).stdout,
    asked: async () => ((await made.read('../home/asked')) ?? '').split('\n'),
  })
}
const echo = (vt: Kernel, text = 'x') => vt.call('mcp__s__echo', { text })
const goesOn = async (vt: Kernel): Promise<void> =>
  expect(await vt.call('unified_file', { action: 'read', path: 'a.txt' })).toMatchObject({ ok: true, text: 'one\n' })
const isNamed = async ({ doctor }: { doctor: () => Promise<string> }, what: RegExp): Promise<void> =>
  expect(await doctor()).toMatch(what)

describe('mcp client: hostile server', () => {
  it('ends a call as it began when the server changes its tools meanwhile, and then refuses the change', async () => {
    await using made = await place('changing')
    await using vt = await made.boot()
    expect(await echo(vt)).toMatchObject({ ok: true, text: 'again x' })
    await expect
      .poll(() =>
        vt
          .diagnostics()
          .map(({ message }) => message)
          .join(),
      )
      .toContain('The tool echo of the MCP server s has changed since you agreed to it')
    expect(await echo(vt)).toMatchObject({ ok: false, error: { code: 'VT_MCP_TOOL_CHANGED' } })
    await goesOn(vt)
    await isNamed(made, /VT_MCP_TOOL_CHANGED.* echo of the MCP server s has changed since you agreed to it/)
  })

  it('refreshes a list that changes 10,000 times a second only a few times and delays no other call', async () => {
    await using made = await place('storm')
    await using vt = await made.boot()
    expect(await echo(vt)).toMatchObject({ ok: true })
    for (let n = 0; n < 30; n++) {
      await goesOn(vt)
      expect(await echo(vt, String(n))).toMatchObject({ ok: true, text: `again ${n}` })
    }
    const lists = (await made.asked()).filter((method) => method === 'tools/list').length
    expect(lists).toBeLessThan(12)
    await isNamed(made, /VT_MCP_NOTED.*announced changed lists faster than they can be read/)
  })

  it('offers no tool of a server that lists 10,000, and keeps the old tools of one that grows to that', async () => {
    await using made = await place('many')
    await using vt = await made.boot()
    expect(vt.list().filter(({ slot }) => slot.startsWith('mcp__s'))).toEqual([])
    await goesOn(vt)
    await isNamed(made, /it offers 10000 tools; at most 2000 are allowed/)
    await using growing = await place('grows')
    await using other = await growing.boot()
    expect(await echo(other)).toMatchObject({ ok: true })
    await expect.poll(growing.doctor).toMatch(/its changed list cannot be used: it offers 10000 tools/)
    expect(await echo(other, 'y')).toMatchObject({ ok: true, text: 'again y' })
  })

  it('matches answers to calls when a server answers out of order or without a question', async () => {
    await using made = await place('disorder')
    await using vt = await made.boot()
    const results = await Promise.all(['a', 'b', 'c'].map((text) => echo(vt, text)))
    expect(results).toMatchObject(['a', 'b', 'c'].map((text) => ({ ok: true, text: `again ${text}` })))
  })

  it('fails the call whose server closes its pipe inside a message and starts the server for the next call', async () => {
    await using made = await place('halfway')
    await using vt = await made.boot()
    for (let n = 0; n < 2; n++)
      expect(await echo(vt)).toMatchObject({
        ok: false,
        error: { code: 'VT_MCP_DISCONNECTED', message: expect.stringContaining('in the middle of a message') },
      })
    await goesOn(vt)
    await isNamed(made, /VT_MCP_NOTED.*it closed its pipe in the middle of a message/)
  })

  it('cuts off a server that sends 64 MB', async () => {
    await using made = await place('large')
    await using vt = await made.boot()
    expect(await echo(vt)).toMatchObject({
      ok: false,
      error: { code: 'VT_MCP_DISCONNECTED', message: expect.stringContaining('more than 32 MiB') },
    })
    await goesOn(vt)
    await isNamed(made, /VT_MCP_NOTED.*it sent a message of more than 32 MiB/)
  })

  it.each([
    ['initialize', /cannot be started/],
    ['tools/list', /cannot be started/],
    ['notifications/initialized', /cannot be started/],
    ['prompts/list', /cannot be started/],
  ])('names a server that dies at %s, with its output, and serves everything else', async (at, named) => {
    await using made = await place('dies', at)
    await using vt = await made.boot()
    expect(await echo(vt)).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
    await goesOn(vt)
    await isNamed(made, named)
    await made.write('../home/healed', '')
    await vt.reload()
    expect(await echo(vt)).toMatchObject({ ok: true })
  })

  it.each([
    ['tools/call', 'mcp__s__echo', { text: 'x' }],
    ['resources/list', 'mcp__s__resources', {}],
    ['resources/read', 'mcp__s__resources', { uri: 'a://b' }],
    ['prompts/get', 'prompt/mcp__s__ask', {}],
  ])(
    'fails the call of a server that dies at %s, names the server and starts it again for the next call',
    async (at, slot, input) => {
      await using made = await place('dies', at)
      await using vt = await made.boot()
      expect(await vt.call(slot, input)).toMatchObject({
        ok: false,
        error: { code: 'VT_MCP_DISCONNECTED', retryable: true },
      })
      await goesOn(vt)
      await isNamed(made, /VT_MCP_NOTED.*it ended in the middle of a call/)
      await made.write('../home/healed', '')
      expect(await vt.call(slot, input)).toMatchObject({ ok: true })
    },
  )

  it('skips invalid entries of a tool list, names each with its field and offers the rest', async () => {
    await using made = await place('faulty')
    await using vt = await made.boot()
    expect(await echo(vt)).toMatchObject({ ok: true })
    const said = vt
      .diagnostics()
      .filter(({ code }) => code === 'VT_MCP_NOTED')
      .map(({ message }) => message)
    expect(said).toEqual([
      'The MCP server s lists an unusable entry: tools[1] (broken): inputSchema.type is "string" instead of "object".',
      'The MCP server s lists an unusable entry: tools[2]: name is a number; use a string.',
      'The MCP server s lists an unusable entry: tools[3] (lists): inputSchema is a list instead of an object.',
      'The MCP server s lists an unusable entry: tools[4]: it is a string instead of an object.',
      'The MCP server s lists an unusable entry: tools[5] (echo): name is used by an earlier tool.',
    ])
    await isNamed(made, /tools\[1\] \(broken\): inputSchema\.type is "string"/)
  })

  it('skips invalid entries of a tool list of the newest revision and ignores unknown fields', async () => {
    await using made = await tempWorkspace()
    await made.write(
      '../home/.vtcode/vtcode.config.json',
      JSON.stringify({ automation, mcp: { servers: { s: { command: process.execPath, args: [modern, 'faulty'] } } } }),
    )
    await using vt = await opened(made)
    expect(await vt.call('mcp__s__slow', {})).toMatchObject({ ok: true, text: 'done after 3' })
    expect(await vt.call('mcp__s__odd', {})).toMatchObject({ ok: true, output: { odd: true } })
    expect(
      vt
        .diagnostics()
        .filter(({ code }) => code.startsWith('VT_MCP'))
        .map(({ message }) => message),
    ).toEqual([
      'The MCP server s lists an unusable entry: tools[1] (bad): inputSchema.type is "string" instead of "object".',
      'The MCP server s lists an unusable entry: tools[2]: it is a string instead of an object.',
      'The MCP server s lists an unusable entry: tools[3] (nameless): inputSchema is null instead of an object.',
      'The MCP server s lists an unusable entry: tools[4]: name is missing; use a string.',
    ])
  })

  it('skips tools of an HTTP server whose headers are invalid and names them', async () => {
    const given = (properties: object) => ({ type: 'object', properties })
    const place = { type: 'string', 'x-mcp-header': 'Place' }
    const tools = [
      {
        name: 'good',
        inputSchema: given({
          place,
          more: given({ rows: { type: 'integer', 'x-mcp-header': 'Rows' }, 'x-mcp-header': { type: 'string' } }),
        }),
      },
      { name: 'spaced', inputSchema: given({ place: { ...place, 'x-mcp-header': 'a b\r\nc' } }) },
      { name: 'twice', inputSchema: given({ place, other: { ...place, 'x-mcp-header': 'PLACE' } }) },
      { name: 'list', inputSchema: given({ places: { type: 'array', items: place } }) },
      { name: 'number', inputSchema: given({ place: { ...place, type: 'number' } }) },
    ]
    const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
    const answers: Record<string, object> = {
      'server/discover': { ...cached, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      'tools/list': { ...cached, tools },
      'tools/call': { resultType: 'complete', content: [{ type: 'text', text: 'done' }] },
    }
    await using web = await serve((request, response, { body }) => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      const result = answers[method!]
      if (request.method !== 'POST' || !result) return response.writeHead(405).end()
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    await using made = await tempWorkspace()
    await made.write(
      '../home/.vtcode/vtcode.config.json',
      JSON.stringify({ automation, mcp: { servers: { s: { type: 'streamable-http', url: `${web.url}/mcp` } } } }),
    )
    await using vt = await opened(made)
    expect(await vt.call('mcp__s__good', { place: 'Oslo', more: { rows: 3 } })).toMatchObject({
      ok: true,
      text: 'done',
    })
    expect(
      web.seen
        .filter(({ headers }) => headers['mcp-method'] === 'tools/call')
        .map(({ headers }) => [headers['mcp-param-place'], headers['mcp-param-rows']]),
    ).toEqual([['Oslo', '3']])
    const named = vt
      .diagnostics()
      .filter(({ code }) => code === 'VT_MCP_NOTED')
      .map(({ message }) => /an unusable entry: (.*)\.$/.exec(message)?.[1])
    expect(named).toEqual([
      'tools[1] (spaced): inputSchema.properties.place.x-mcp-header: "a b\\r\\nc" is not a valid header name',
      'tools[2] (twice): inputSchema.properties.other.x-mcp-header: an earlier property uses the header PLACE',
      'tools[3] (list): inputSchema.properties.places.items.x-mcp-header: only a property may have a header',
      'tools[4] (number): inputSchema.properties.place.x-mcp-header: a value of type "number" cannot be sent in a header',
    ])
  })
})

it('closes servers that were only listed when too many are configured, and doctor gives the limit as reason', async () => {
  await using made = await tempWorkspace({ 'a.txt': 'one\n' })
  const server = (name: string) => ({ command: process.execPath, args: [fixture, made.home, name] })
  const servers = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, server(name)]))
  const config = { automation, mcp: { max_connections: 2, servers } }
  await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(config))
  await using vt = await opened(made)
  const call = (name: string) => vt.call(`mcp__${name}__echo`, { text: name })
  expect(await call('a')).toMatchObject({ ok: true })
  expect(await call('b')).toMatchObject({ ok: true })
  expect(await call('c')).toMatchObject({
    ok: false,
    error: {
      code: 'VT_MCP_START',
      message: expect.stringContaining('2 servers are connected already, the limit of mcp.max_connections'),
    },
  })
  expect(await call('a')).toMatchObject({ ok: true })
  expect((await vtcode(made, ['doctor'])).stdout).toMatch(
    /MCP server c .*it could not be connected: 2 servers are connected already/,
  )
})
