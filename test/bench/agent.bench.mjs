// The agent: what a turn costs beyond the model, how soon a first request is sent, what two hundred turns leave in memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')
const STARTS = 15
const TURNS = 200
const WARM_UP = 20

export default async function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const server = new Worker(model, { eval: true })
  try {
    const [{ port }] = await once(server, 'message')
    plant(folder, port)
    const starts = await startTimes(folder, server)
    const { text, call, bare, heaps } = await turns(folder, port)
    return [
      { name: 'cold exec to its first request, against bare node', goal: 3, ratio: starts.ours / starts.bare, detail: `median of ${STARTS} in turn: ${starts.ours.toFixed(0)} ms, \`node -e 0\` ${starts.bare.toFixed(0)} ms` },
      { name: 'a turn of text beyond the model', goal: 5, ratio: text - bare, unit: 'ms', detail: `median of ${TURNS}: ${text.toFixed(2)} ms, the same request by fetch ${bare.toFixed(2)} ms; journal and events on disk` },
      { name: 'a turn with a call beyond the model', goal: 5, ratio: call - 2 * bare, unit: 'ms', detail: `median of ${TURNS}: ${call.toFixed(2)} ms with two requests and a read of a file` },
      { name: `memory: growth from turn ${WARM_UP} to turn ${TURNS}, a turn`, goal: 20, ratio: (heaps.last - heaps.first) / 1024 / (TURNS - WARM_UP), unit: 'KiB', detail: `heap after collection ${(heaps.first / 2 ** 20).toFixed(1)} and ${(heaps.last / 2 ** 20).toFixed(1)} MB, shortened at 20,000 tokens` },
    ]
  } finally {
    await server.terminate()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A model that answers at once: a call where it is asked to, else a text. */
const model = `
const { createServer } = require('node:http')
const { parentPort } = require('node:worker_threads')
const chunk = (delta, finish_reason = null) => 'data: ' + JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] }) + '\\n\\n'
const server = createServer((request, response) => {
  parentPort.postMessage({ asked: true })
  let body = ''
  request.on('data', (data) => (body += data))
  request.on('end', () => {
    const { messages } = JSON.parse(body)
    const last = messages.at(-1)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (last.role === 'user' && last.content.startsWith('call')) {
      const call = { index: 0, id: 'c' + messages.length, type: 'function', function: { name: 'unified_file', arguments: JSON.stringify({ action: 'read', path: 'f' + last.content.split(' ')[1] + '.txt' }) } }
      response.end(chunk({ role: 'assistant', tool_calls: [call] }) + chunk({}, 'tool_calls') + 'data: [DONE]\\n\\n')
    } else response.end(chunk({ role: 'assistant', content: 'Done as you said. '.repeat(10) }) + chunk({}, 'stop') + 'data: [DONE]\\n\\n')
  })
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
`

function plant(folder, port) {
  mkdirSync(join(folder, 'home/.vtcode'), { recursive: true })
  mkdirSync(join(folder, 'work/.vtcode'), { recursive: true })
  for (let index = 0; index < TURNS; index++) writeFileSync(join(folder, 'work', `f${index}.txt`), `line of file ${index}\n`.repeat(100))
  const settings = {
    custom_providers: [{ name: 'peer', api_format: 'openai-chat', base_url: `http://127.0.0.1:${port}/v1`, models: ['m'], api_key_env: 'none' }],
    agent: { model: 'peer/m', harness: { auto_compaction_threshold_tokens: 20_000 } },
    automation: { full_auto: { max_turns: 0 } },
    tools: { max_conversation_turns: 0 },
  }
  writeFileSync(join(folder, 'home/.vtcode/vtcode.config.json'), JSON.stringify(settings))
}

const environment = (folder) => ({ PATH: process.env.PATH, HOME: join(folder, 'home'), VTCODE_HOME: join(folder, 'home/.vtcode') })

async function startTimes(folder, server) {
  const times = { ours: [], bare: [] }
  for (let round = 0; round < STARTS; round++) {
    let began = performance.now()
    await once(spawn(process.execPath, ['-e', '0']), 'exit')
    times.bare.push(performance.now() - began)
    began = performance.now()
    const asked = once(server, 'message')
    const child = spawn(process.execPath, [join(project, 'dist/core/bin.js'), 'exec', 'go'], { cwd: join(folder, 'work'), env: environment(folder), stdio: 'ignore' })
    await asked
    times.ours.push(performance.now() - began)
    await once(child, 'exit')
  }
  return { ours: median(times.ours), bare: median(times.bare) }
}

/** Turns in a process of their own, which can say how much memory they hold. */
async function turns(folder, port) {
  const file = join(folder, 'turns.mjs')
  writeFileSync(file, program(folder, port))
  const child = spawn(process.execPath, ['--expose-gc', file], { cwd: join(folder, 'work'), env: environment(folder), stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (data) => (out += data))
  await once(child, 'close')
  return JSON.parse(out)
}

const program = (folder, port) => `
import { createKernel } from ${JSON.stringify(join(project, 'dist/core/index.js'))}
import { createAgent } from ${JSON.stringify(join(project, 'dist/plugins/agent/index.js'))}
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]
const timed = async (what) => { const began = performance.now(); await what(); return performance.now() - began }
const kernel = await createKernel({ workspace: ${JSON.stringify(join(folder, 'work'))}, mode: 'auto' })
const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x'.repeat(40_000) }] })
const ask = async () => { for await (const _ of (await fetch('http://127.0.0.1:${port}/v1/chat/completions', { method: 'POST', body })).body); }
const times = { text: [], call: [], bare: [] }
const heaps = {}
const talk = await createAgent(kernel)
for (let turn = 1; turn <= ${TURNS}; turn++) {
  times.bare.push(await timed(ask))
  times.text.push(await timed(() => talk.run('say something about ' + turn)))
}
await talk.close()
const work = await createAgent(kernel)
for (let turn = 1; turn <= ${TURNS}; turn++) {
  times.call.push(await timed(() => work.run('call ' + (turn % ${TURNS}))))
  if (turn === ${WARM_UP} || turn === ${TURNS}) { await new Promise((resolve) => setTimeout(resolve, 200)); gc(); gc(); heaps[turn === ${TURNS} ? 'last' : 'first'] = process.memoryUsage().heapUsed }
}
await work.close()
await kernel.close()
console.log(JSON.stringify({ text: median(times.text), call: median(times.call), bare: median(times.bare), heaps }))
`

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]
