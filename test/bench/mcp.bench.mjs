// The MCP server: how soon it lists its tools, what a call costs over the wire, what it weighs while nobody calls.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Peer } from './mcp_peer.mjs'
import { byNode, median } from './measure.mjs'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')
const ROUNDS = 25
const WARM_UP = 3_000
const CALLS = 2_000

export default async function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  try {
    writeFileSync(join(folder, 'echo.mjs'), echo)
    const home = join(folder, '..', `${basename(folder)}-home`)
    const programs = {
      ours: [join(project, 'dist/core/bin.cjs'), 'mcp', '--workspace', folder, '--home', home],
      echo: [join(folder, 'echo.mjs')],
    }
    plant(folder)
    const start = await startTimes(programs)
    const idle = await idleMemory(programs)
    const bytes = await answerBytes(folder)
    const tool = [
      '-c',
      `manifests=["builtin", ${JSON.stringify(join(folder, 'echo_text.yaml'))}]`,
      '-c',
      'plugins.isolate=inline',
    ]
    const warm = await callTimes({ ...programs, ours: [...programs.ours, ...tool] })
    const flight = await inFlight({ ...programs, ours: [...programs.ours, ...tool] })
    writeFileSync(join(folder, 'echo_http.mjs'), echoHttp)
    const http = await httpTimes({
      ours: [...programs.ours, ...tool, '--http', '0', '--no-token'],
      echo: [join(folder, 'echo_http.mjs')],
    })
    return [
      {
        name: 'cold start to tools/list, against bare node',
        goal: byNode(1.7, 2.4),
        ratio: start.ours / start.bare,
        detail: `median of ${ROUNDS} in turn: ${start.ours.toFixed(0)} ms, \`node -e 0\` ${start.bare.toFixed(0)} ms, an echo server on the same SDK ${start.echo.toFixed(0)} ms`,
      },
      {
        name: 'warm call p50, against an echo server on the same SDK',
        goal: 1.4,
        ratio: warm.ours / warm.echo,
        detail: `${CALLS} calls of each in turn after ${WARM_UP}, ${warm.together ? 'on one processor' : 'wherever the system puts them'}: ${warm.ours.toFixed(3)} ms and ${warm.echo.toFixed(3)} ms`,
      },
      {
        name: '64 calls in flight, time of a call against an echo server on the same SDK',
        goal: 1.43,
        ratio: flight.ours / flight.echo,
        detail: `median of 9 × ${CALLS} calls: ${(1000 / flight.ours).toFixed(0)} and ${(1000 / flight.echo).toFixed(0)} calls a second`,
      },
      {
        name: 'warm call over HTTP p50, against an echo server on the SDK with its own HTTP',
        goal: 1.3,
        ratio: http.ours / http.echo,
        detail: `${CALLS} calls of each in turn after ${WARM_UP}, one session: ${http.ours.toFixed(3)} ms and ${http.echo.toFixed(3)} ms`,
      },
      {
        name: 'idle server',
        goal: 60,
        ratio: idle.ours,
        unit: 'MB',
        detail: `resident after tools/list; the echo server ${idle.echo.toFixed(0)} MB`,
      },
      ...bytes,
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
    rmSync(`${folder}-home`, { recursive: true, force: true })
  }
}

/** A server of a few lines on the public SDK: the least that anybody's could cost. */
const echo = `import { createRequire } from 'node:module'
const require = createRequire(${JSON.stringify(join(project, 'package.json'))})
const { Server } = require('@modelcontextprotocol/server')
const { serveStdio } = require('@modelcontextprotocol/server/stdio')
serveStdio(() => {
  const server = new Server({ name: 'echo', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'echo_text', inputSchema: { type: 'object' } }] }))
  server.setRequestHandler('tools/call', ({ params }) => ({ content: [{ type: 'text', text: params.arguments.text }] }))
  return server
})
`

/** The same over HTTP, with the transport for Node that the SDK ships; its sessions too. */
const echoHttp = `import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'
const require = createRequire(${JSON.stringify(join(project, 'package.json'))})
const { Server } = require('@modelcontextprotocol/sdk/server/index.js')
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js')
const { CallToolRequestSchema } = require('@modelcontextprotocol/sdk/types.js')
const sessions = new Map()
const http = createServer(async (request, response) => {
  let transport = sessions.get(request.headers['mcp-session-id'])
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: (id) => sessions.set(id, transport) })
    const server = new Server({ name: 'echo', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({ content: [{ type: 'text', text: params.arguments.text }] }))
    await server.connect(transport)
  }
  await transport.handleRequest(request, response)
}).listen(0, '127.0.0.1', () => process.stderr.write('http://127.0.0.1:' + http.address().port + '/mcp '))
`

/** The same tool as a plugin of ours. */
function plant(folder) {
  writeFileSync(
    join(folder, 'echo_text.yaml'),
    'name: echo_text\ndescription: Answers with its text.\neffects: [read]\ninput: { properties: { text: { type: string } } }\nmodule: ./echo_text.js\n',
  )
  writeFileSync(
    join(folder, 'echo_text.js'),
    'export default ({ input }) => ({ ok: true, output: { text: input.text }, text: input.text })',
  )
}

async function startTimes(programs) {
  const times = { bare: [], ours: [], echo: [] }
  // A start before has ended as clients end it.
  for (const argv of Object.values(programs)) {
    const server = new Peer(argv)
    await server.open()
    server.child.stdin.end()
    await once(server.child, 'exit')
  }
  for (let round = 0; round < ROUNDS; round++) {
    times.bare.push(await bareNode())
    for (const [name, argv] of Object.entries(programs)) {
      const started = performance.now()
      const server = new Peer(argv)
      await server.open()
      times[name].push(performance.now() - started)
      server.child.kill('SIGKILL')
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]))
}

function bareNode() {
  const started = performance.now()
  return new Promise((resolve) =>
    spawn(process.execPath, ['-e', '0']).on('exit', () => resolve(performance.now() - started)),
  )
}

async function idleMemory(programs) {
  const figures = {}
  for (const [name, argv] of Object.entries(programs)) {
    const server = new Peer(argv)
    await server.open()
    await new Promise((resolve) => setTimeout(resolve, 500))
    figures[name] = server.memory()
    server.child.kill('SIGKILL')
  }
  return figures
}

/** What a client is sent for one answer, in bytes of its line: what its model pays is in there. */
async function answerBytes(folder) {
  const root = join(folder, 'files')
  mkdirSync(root)
  const body = (i) =>
    Array.from({ length: 100 }, (_, line) => `  const value${line} = compute(${line}, 'of file ${i}') // wanted`).join(
      '\n',
    )
  for (let i = 0; i < 50; i++)
    writeFileSync(join(root, `module_${i}.ts`), `export function run${i}() {\n${body(i)}\n}\n`)
  const server = new Peer([join(project, 'dist/core/bin.cjs'), '--workspace', root, '--home', folder, 'mcp'])
  await server.open()
  const search = {
    grep: { action: 'grep', pattern: 'wanted', max_results: 100 },
    structural: { action: 'structural', pattern: 'compute($A, $B)', lang: 'ts', max_results: 100 },
    spooled: { action: 'grep', pattern: 'wanted', max_results: 5_000 },
  }
  const bytes = {}
  for (const [name, input] of Object.entries(search))
    bytes[name] = Buffer.byteLength(
      JSON.stringify((await server.ask('tools/call', { name: 'unified_search', arguments: input })).result),
    )
  server.child.kill('SIGKILL')
  const row = (name, kb, goal, detail) => ({
    name: `answer over MCP: ${name}`,
    goal,
    ratio: kb / 1000,
    unit: 'kB',
    detail,
  })
  return [
    row('grep with 100 hits', bytes.grep, 10, '19.2 kB while answers had their value next to the text'),
    row(
      'structural search with 100 hits',
      bytes.structural,
      10,
      '33.5 kB while answers had their value next to the text',
    ),
    row(
      'a grep that goes to a spool file',
      bytes.spooled,
      10,
      '5,000 hits; 585 kB while answers had their value next to the text',
    ),
  ]
}

/**
 * Both servers are called in turn, so that whatever else the machine does falls on both; and on one processor with their client. A message to the
 * processor where its reader sleeps costs some 50 µs more than one that stays, and which of the two servers is so placed is the luck of its start.
 */
async function callTimes(programs) {
  const servers = Object.entries(programs).map(([name, argv]) => ({ name, server: new Peer(argv), times: [] }))
  for (const { server } of servers) await server.open()
  const release = onOneProcessor([process.pid, ...servers.map(({ server }) => server.child.pid)])
  for (let i = 0; i < WARM_UP + CALLS; i++) {
    for (const { server, times } of servers) {
      const started = performance.now()
      const answer = await server.ask('tools/call', { name: 'echo_text', arguments: { text: `call ${i}` } })
      if (i >= WARM_UP) times.push(performance.now() - started)
      if (answer.result?.content?.[0].text !== `call ${i}`) throw new Error(JSON.stringify(answer))
    }
  }
  release?.()
  for (const { server } of servers) server.child.kill('SIGKILL')
  return {
    ...Object.fromEntries(servers.map(({ name, times }) => [name, median(times)])),
    together: release !== undefined,
  }
}

/** Binds programs with all their threads to the first processor that this one may use, where the system can; returns what frees this one again. */
function onOneProcessor(pids) {
  const bind = (pid, list) => execFileSync('taskset', ['-acp', list, pid], { stdio: 'ignore' })
  try {
    const list = execFileSync('taskset', ['-cp', process.pid], { encoding: 'utf8' }).split(':').at(-1).trim()
    for (const pid of pids) bind(pid, /^\d+/.exec(list)[0])
    return () => bind(process.pid, list)
  } catch {
    return undefined
  }
}

/** Milliseconds a call where 64 are always under way, both servers in turn. */
async function inFlight(programs) {
  const servers = Object.entries(programs).map(([name, argv]) => ({ name, server: new Peer(argv), times: [] }))
  for (const { server } of servers) await server.open()
  for (let round = -2; round < 9; round++) {
    for (const { server, times } of servers) {
      let left = CALLS
      const worker = async () => {
        while (left-- > 0) await server.ask('tools/call', { name: 'echo_text', arguments: { text: `call ${left}` } })
      }
      const started = performance.now()
      await Promise.all(Array.from({ length: 64 }, worker))
      if (round >= 0) times.push((performance.now() - started) / CALLS)
    }
  }
  for (const { server } of servers) server.child.kill('SIGKILL')
  return Object.fromEntries(servers.map(({ name, times }) => [name, median(times)]))
}

async function httpTimes(programs) {
  const servers = []
  for (const [name, argv] of Object.entries(programs))
    servers.push({ name, server: await new HttpPeer().open(argv), times: [] })
  for (let i = 0; i < WARM_UP + CALLS; i++) {
    for (const { server, times } of servers) {
      const started = performance.now()
      const answer = await server.ask('tools/call', { name: 'echo_text', arguments: { text: `call ${i}` } })
      if (i >= WARM_UP) times.push(performance.now() - started)
      if (!answer.includes(`{"type":"text","text":"call ${i}"}`)) throw new Error(answer)
    }
  }
  for (const { server } of servers) server.close()
  return Object.fromEntries(servers.map(({ name, times }) => [name, median(times)]))
}

class HttpPeer {
  #id = 0
  #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  async open(argv) {
    this.child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] })
    for (let said = ''; !this.url;)
      this.url = /http:\S+\/mcp/.exec((said += (await once(this.child.stderr, 'data'))[0]))?.[0]
    await this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    })
    return this
  }
  async ask(method, params) {
    const call = request(this.url, { method: 'POST', agent: this.#agent, headers: this.#headers })
    call.end(JSON.stringify({ jsonrpc: '2.0', id: ++this.#id, method, params }))
    const [response] = await once(call, 'response')
    this.#headers['mcp-session-id'] ??= response.headers['mcp-session-id']
    let text = ''
    for await (const chunk of response) text += chunk
    return text
  }
  close() {
    this.#agent.destroy()
    this.child.kill('SIGKILL')
  }
}
