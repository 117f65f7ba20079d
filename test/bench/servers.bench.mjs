// MCP servers of others in our client: what those that are only configured cost a call of our own, and how long all take to start side by side.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from '../../dist/core/index.js'
import { inTurn, median } from './measure.mjs'
import { bin, inFolder, place as placeIn } from './scene.mjs'

const SERVERS = 31
/** As many as published servers have on average. */
const TOOLS = 19
/** The slowest of the published servers takes about so long until it has listed its tools. */
const SLOWEST_MS = 3_000

export default () =>
  inFolder(async (folder) => {
    writeFileSync(join(folder, 'server.mjs'), server)
    const none = place(folder, 'none', {})
    const all = place(
      folder,
      'all',
      Object.fromEntries(Array.from({ length: SERVERS }, (_, at) => [`server_${at}`, started(folder, at, 0)])),
    )
    // Their tools are known from here on.
    await kernelAt(all).then((kernel) => kernel.close())
    const [bare, with_all] = await inTurn([() => called(none), () => called(all)], 15)
    // By processor time, which a busy machine changes less.
    const cold = with_all.spent / bare.spent
    const warm = await warmCalls(none, all)
    const together = await startTimes(folder)
    return [
      {
        name: `a call of a built-in tool, ${SERVERS} servers configured, against none`,
        goal: 1.1,
        ratio: cold,
        detail: `\`vtcode call unified_search list\`, ${SERVERS * TOOLS} tools known: processor time of 15 in turn; by the clock ${median(with_all.times).toFixed(0)} and ${median(bare.times).toFixed(0)} ms`,
      },
      {
        name: 'the same in a program that runs',
        goal: 1.1,
        ratio: warm.all / warm.none,
        detail: `median of 2,000 in turn: ${(warm.all * 1000).toFixed(0)} and ${(warm.none * 1000).toFixed(0)} µs`,
      },
      {
        name: `${SERVERS} servers started side by side, against the slowest of them`,
        goal: 1.5,
        ratio: together.all / together.slowest,
        detail: `until all have listed their tools: ${together.all.toFixed(0)} ms; the slowest alone ${together.slowest.toFixed(0)} ms`,
      },
    ]
  })

const started = (folder, at, delay) => ({
  command: process.execPath,
  args: [join(folder, 'server.mjs'), String(at), String(delay)],
})

function place(folder, name, servers) {
  const at = placeIn(join(folder, name), { mcp: { max_connections: SERVERS + 1, servers } })
  writeFileSync(join(at.workspace, 'a.txt'), 'one\n')
  return at
}

const kernelAt = ({ workspace, home, env }) => createKernel({ workspace, home, env, surface: 'bench' })

const called = ({ workspace, env }) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, 'call', 'unified_search', 'list'], {
      cwd: workspace,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`exit ${code}`))))
  })

async function warmCalls(none, all) {
  const kernels = { none: await kernelAt(none), all: await kernelAt(all) }
  const times = { none: [], all: [] }
  for (let round = 0; round < 2_500; round++) {
    for (const [name, kernel] of Object.entries(kernels)) {
      const began = performance.now()
      await kernel.call('unified_file', { action: 'read', path: 'a.txt' }, { session: `s${round}` })
      if (round >= 500) times[name].push(performance.now() - began)
    }
  }
  for (const kernel of Object.values(kernels)) await kernel.close()
  return { none: median(times.none), all: median(times.all) }
}

async function startTimes(folder) {
  const measured = { all: [], slowest: [] }
  for (let round = 0; round < 3; round++) {
    const delay = (at) => Math.round((SLOWEST_MS * (at + 1)) / SERVERS)
    const sorts = { all: Array.from({ length: SERVERS }, (_, at) => at), slowest: [SERVERS - 1] }
    for (const [name, chosen] of Object.entries(sorts)) {
      const fresh = place(
        folder,
        `${name}_${round}`,
        Object.fromEntries(chosen.map((at) => [`server_${at}`, started(folder, at, delay(at))])),
      )
      const began = performance.now()
      const kernel = await kernelAt(fresh)
      measured[name].push(performance.now() - began)
      const found = kernel.list().filter(({ slot }) => slot.startsWith('mcp__')).length
      await kernel.close()
      if (found !== chosen.length * TOOLS) throw new Error(`${found} tools of ${chosen.length} servers`)
    }
  }
  return { all: median(measured.all), slowest: median(measured.slowest) }
}

/** A server by hand, with tools as published ones have. */
const server = `import { createInterface } from 'node:readline'
const [at, delay] = process.argv.slice(2)
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const property = (name) => ({ type: 'string', description: 'The ' + name + ' of what is looked for, as the service knows it.', minLength: 1 })
const tools = Array.from({ length: ${TOOLS} }, (_, n) => ({ name: 'tool_' + n, description: 'Does what tool ' + n + ' of server ' + at + ' does. '.repeat(8), inputSchema: { type: 'object', properties: Object.fromEntries(['id', 'name', 'query', 'cursor', 'limit'].map((name) => [name, property(name)])), required: ['id'], additionalProperties: false, $schema: 'http://json-schema.org/draft-07/schema#' } }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') setTimeout(() => say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } }), Number(delay))
  else if (method === 'tools/list') say({ id, result: { tools } })
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'unknown' } })
})
`
