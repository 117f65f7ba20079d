import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect as tcp, type Socket } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { processesWith } from '../../support/exec.js'
import { serveMcp } from '../../support/mcp_http.js'
import { bin, surroundings } from '../../support/program.js'

const busy = `import { setImmediate } from 'node:timers/promises'
export default async ({ input }, context) => {
  const until = Date.now() + input.ms
  for (let i = 1; Date.now() < until; i++) {
    context.progress({ done: i, text: 'at ' + i })
    if (i % 100 === 0) await setImmediate()
  }
  return { ok: true, output: { done: true } }
}`
const manifest =
  'name: busy\ndescription: Reports all the time.\neffects: [read]\ntimeout_secs: 1\ninput: { properties: { ms: { type: integer } } }\nmodule: ./busy.js\n'
const wide =
  'name: wide\nkind: resource\ndescription: A template of several parts.\ntemplate: "wide://{a}-{b}-{c}.x"\nmodule: ./wide.js\n'

async function workspace(): Promise<TempWorkspace> {
  const made = await tempWorkspace({ 'a.txt': 'hello\n' })
  await made.write('../home/p/busy.yaml', manifest)
  await made.write('../home/p/busy.js', busy)
  await made.write('../home/p/wide.yaml', wide)
  await made.write('../home/p/wide.js', 'export default () => ({ ok: true, output: {} })')
  await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/p']\n`)
  return made
}
const read = { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } }
const gone = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}

// The server over HTTP and two senders that never end their head, from the start: they have 10 s.
let made: TempWorkspace
let child: ChildProcess
let url: URL
let authorization: string
const sockets: Socket[] = []
/** The ends of senders whose head never ends. */
let silent: Promise<unknown>[]
const open = (text: string) => {
  const socket = tcp(Number(url.port), '127.0.0.1', () => socket.write(text))
  socket.on('error', () => {}).resume()
  sockets.push(socket)
  return once(socket, 'close')
}
beforeAll(async () => {
  made = await workspace()
  ;({ child, url, authorization } = await serveMcp(made))
  silent = [open(''), open(`GET /mcp HTTP/1.1\r\nHost: ${url.host}\r\n`)]
})
afterAll(async () => {
  sockets.forEach((socket) => socket.destroy())
  const ended = once(child, 'close')
  child.kill()
  await ended
  await made[Symbol.asyncDispose]()
})

describe('hostile MCP clients over pipes', () => {
  it('throttles fast progress, answers two calls with one progress token, and ends a call at its time limit', async () => {
    await using made = await workspace()
    const child = spawn(process.execPath, [bin, 'mcp'], {
      cwd: made.root,
      env: surroundings(made),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const lines: { id?: unknown; method?: string; result?: { isError?: boolean; content?: { text: string }[] } }[] = []
    let rest = ''
    child.stdout.on('data', (chunk) => {
      const parts = (rest + chunk).split('\n')
      rest = parts.pop()!
      lines.push(...parts.map((line) => JSON.parse(line)))
    })
    const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const answer = (id: number) =>
      expect
        .poll(() => lines.find((line) => line.id === id))
        .toBeDefined()
        .then(() => lines.find((line) => line.id === id)!)
    send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    })
    await answer(0)
    const call = (id: number, ms: number, progressToken?: string) =>
      send({
        id,
        method: 'tools/call',
        params: { name: 'busy', arguments: { ms }, ...(progressToken && { _meta: { progressToken } }) },
      })
    call(1, 200)
    await answer(1)
    expect(lines.filter(({ method }) => method === 'notifications/progress')).toEqual([])
    call(2, 400, 'same')
    call(3, 400, 'same')
    await Promise.all([answer(2), answer(3)])
    const told = lines.filter(({ method }) => method === 'notifications/progress').length
    expect(told).toBeGreaterThan(1)
    expect(told).toBeLessThan(200)
    call(4, 60_000, 'long')
    expect((await answer(4)).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^VT_CALL_TIMEOUT: /) }],
    })
    const after = lines.length
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(lines.slice(after)).toEqual([])
    child.stdin.end()
    await once(child, 'close')
  })

  it('leaves no process when its client is killed during a call', async () => {
    await using made = await tempWorkspace()
    const client = `
      import { spawn } from 'node:child_process'
      const server = spawn(process.execPath, [${JSON.stringify(bin)}, '--mode', 'full-auto', '-c', 'automation.full_auto.enabled=true', 'mcp'], { stdio: ['pipe', 'pipe', 'ignore'] })
      const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
      send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } })
      send({ id: 2, method: 'tools/call', params: { name: 'unified_exec', arguments: { action: 'run', command: 'echo $$ > pid; exec sleep 600', timeout_secs: 900 } } })
      process.stdout.write(server.pid + '\\n')
    `
    const parent = spawn(process.execPath, ['--input-type=module', '-e', client], {
      cwd: made.root,
      env: surroundings(made),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const server = Number(await new Promise((resolve) => parent.stdout.once('data', (chunk) => resolve(String(chunk)))))
    await expect.poll(() => made.read('pid')).toMatch(/\d\n/)
    parent.kill('SIGKILL')
    await expect.poll(() => gone(server)).toBe(true)
    // In the sandbox the process has another number; outside, no other process sleeps that long in this folder.
    await expect.poll(() => sleepers(made.root)).toEqual([])
    await expect.poll(() => processesWith(made.root)).toEqual([])
  })
})

describe('hostile MCP clients over HTTP', () => {
  const connect = async (options: ConstructorParameters<typeof Client>[1] = {}) => {
    const client = new Client({ name: 'test', version: '1' }, options)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }))
    return client
  }
  const modern = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const
  const post = (headers: Record<string, string>, body: object) =>
    fetch(url, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    })

  it('answers fifty simultaneous connections of both revisions, each with its own results', async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, (_, i) => connect(i % 2 ? modern : {})))
    const answers = clients.flatMap((client, i) =>
      Array.from({ length: 4 }, (_, j) =>
        client
          .callTool({ name: 'unified_search', arguments: { action: 'tools', keyword: `nothing${i}x${j}` } })
          .then(({ isError }) => isError ?? false),
      ),
    )
    expect(await Promise.all(answers)).toEqual(Array(200).fill(false))
    const writes = clients.map((client, i) =>
      client.callTool({ name: 'unified_file', arguments: { action: 'write', path: `own/${i}.txt`, content: `${i}` } }),
    )
    await Promise.all(writes)
    const texts = await Promise.all(
      clients.map(
        async (client, i) =>
          (
            (await client.callTool({ name: 'unified_file', arguments: { action: 'read', path: `own/${i}.txt` } }))
              .content as { text: string }[]
          )[0]!.text,
      ),
    )
    expect(texts).toEqual(clients.map((_, i) => `${i}`))
    await Promise.all(
      clients.map(async (client) => {
        if (client.transport instanceof StreamableHTTPClientTransport && client.transport.sessionId)
          await client.transport.terminateSession()
        await client.close()
      }),
    )
  })

  it('limits the rate of a client that guesses session ids, and serves others', async () => {
    const statuses = []
    for (let i = 0; i < 150; i++)
      statuses.push(
        (
          await post(
            { 'mcp-session-id': crypto.randomUUID(), 'mcp-protocol-version': '2025-11-25' },
            { method: 'tools/list' },
          )
        ).status,
      )
    expect(new Set(statuses)).toEqual(new Set([404, 429]))
    const client = await connect()
    expect((await client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
    await client.close()
  })

  it('refuses an unknown revision, or answers with a known one', async () => {
    const begun = await post(
      {},
      {
        method: 'initialize',
        params: { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
      },
    )
    expect(await begun.text()).toMatch(/"protocolVersion":"20\d\d-\d\d-\d\d"/)
    const session = begun.headers.get('mcp-session-id')!
    expect(
      (await post({ 'mcp-session-id': session, 'mcp-protocol-version': '1999-01-01' }, { method: 'tools/list' }))
        .status,
    ).toBe(400)
    expect((await post({}, { method: 'tools/list' })).status).toBe(400)
  })

  it('refuses addresses that a template of several parts does not match', async () => {
    const client = await connect()
    for (const uri of ['wide://---', 'wide://a-b-c.y', 'wide://%-%.x']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 })
    }
    expect((await client.readResource({ uri: 'wide://a-b-c.x' })).contents).toHaveLength(1)
    await client.close()
  })

  it('serves calls despite three hundred listeners and requests that never end', async () => {
    const listeners = await Promise.all(Array.from({ length: 10 }, () => connect(modern)))
    const streams = await Promise.all(
      listeners.flatMap((client) => Array.from({ length: 30 }, () => client.listen({ toolsListChanged: true }))),
    )
    expect(streams).toHaveLength(300)
    for (let i = 0; i < 50; i++)
      void open(
        `POST /mcp HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"js`,
      )
    for (const options of [{}, modern]) {
      const client = await connect(options)
      expect((await client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
      await client.close()
    }
    await Promise.all(streams.map((stream) => stream.close()))
    await Promise.all(listeners.map((client) => client.close()))
  })
})

/** Lists commands below this folder that were made to outlive their server. */
function sleepers(root: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep\u0000600') &&
        readlinkSync(`/proc/${pid}/cwd`) === root
      )
    } catch {
      return false
    }
  })
}

describe('records of hostile MCP calls', () => {
  it('writes one short printable record a line, whatever a client sends', async () => {
    await using made = await tempWorkspace()
    const hostile = 'x\r\n{"forged":true}\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u2028'
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: hostile, capabilities: {}, clientInfo: { name: hostile, version: '1' } },
      },
      { id: 2, method: 'tools/call', params: { name: 'unified_file', arguments: { action: 'read', path: hostile } } },
      {
        id: 3,
        method: 'tools/call',
        params: { name: 'unified_file', arguments: { action: 'read', path: 'a', [hostile]: 1 } },
      },
      {
        id: 4,
        method: 'tools/call',
        params: { name: 'unified_search', arguments: { action: 'grep', pattern: 'y'.repeat(1_000_000) } },
      },
      { id: 5, method: hostile, params: {} },
    ]
    const child = spawn(process.execPath, [bin, 'mcp'], { cwd: made.root, env: surroundings(made) })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    await expect.poll(() => stdout.split('\n').length).toBe(messages.length + 1)
    child.stdin.end()
    await once(child, 'close')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id)
        .sort(),
    ).toEqual([1, 2, 3, 4, 5])
    const session = readdirSync(`${made.root}/.vtcode/sessions`).find((name) => name.startsWith('mcp-'))!
    const record = readFileSync(`${made.root}/.vtcode/sessions/${session}/calls.jsonl`, 'utf8')
    const lines = record.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).ok)).toEqual([false, false, false])
    expect(record.length).toBeLessThan(20_000)
    // oxlint-disable-next-line no-control-regex
    for (const text of [record, stderr]) expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]|\n\{"forged/)
  })
})

it('closes a connection whose request head never ends', async () => {
  await Promise.all(silent)
})
