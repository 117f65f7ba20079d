// What is said while it is said: how far deltas are behind the server, and what listening to them costs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')
const SECONDS = 5
const TIMES = 3
const TURNS = 21

export default async function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const server = new Worker(model, { eval: true })
  try {
    const [{ port }] = await once(server, 'message')
    plant(folder, port)
    const { late, heard, unheard, turns } = await listened(folder)
    const share = (microseconds) => microseconds / 10_000 / SECONDS
    return [
      { name: 'a delta behind the server, p95', goal: 50, ratio: late.p95, unit: 'ms', detail: `${late.count} words of 200 a second, each with the time it was sent; median ${late.median.toFixed(1)} ms, the latest ${late.most.toFixed(1)} ms` },
      { name: 'listening to 200 words a second, of a core', goal: 1, ratio: share(heard - unheard), unit: '%', detail: `processor time of ${SECONDS} s, median of ${TIMES} in turn, with a listener ${share(heard).toFixed(2)} % and without ${share(unheard).toFixed(2)} %` },
      { name: 'a turn with a listener against one without', goal: 1.05, ratio: turns.heard / turns.unheard, detail: `processor time, median of ${TURNS} in turn, 2,000 words at once: ${turns.heard.toFixed(1)} and ${turns.unheard.toFixed(1)} ms` },
    ]
  } finally {
    await server.terminate()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A model that says what the time is: 200 times a second, or 2,000 times at once. */
const model = `
const { createServer } = require('node:http')
const { parentPort } = require('node:worker_threads')
const chunk = (delta, finish_reason = null) => 'data: ' + JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] }) + '\\n\\n'
const now = () => performance.timeOrigin + performance.now()
const server = createServer((request, response) => {
  let body = ''
  request.on('data', (data) => (body += data))
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const end = () => response.end(chunk({}, 'stop') + 'data: [DONE]\\n\\n')
    if (JSON.parse(body).messages.at(-1).content === 'at once') {
      for (let word = 0; word < 2000; word++) response.write(chunk({ content: 'word ' }))
      return end()
    }
    let said = 0
    const began = now()
    const timer = setInterval(() => {
      const due = Math.min(${SECONDS} * 200, Math.floor((now() - began) / 5))
      for (; said < due; said++) response.write(chunk({ content: '@' + now().toFixed(1) + ' ' }))
      if (said < ${SECONDS} * 200) return
      clearInterval(timer)
      end()
    }, 5)
  })
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
`

function plant(folder, port) {
  mkdirSync(join(folder, 'home/.vtcode'), { recursive: true })
  mkdirSync(join(folder, 'work/.vtcode'), { recursive: true })
  const settings = {
    custom_providers: [{ name: 'peer', api_format: 'openai-chat', base_url: `http://127.0.0.1:${port}/v1`, models: ['m'], api_key_env: 'none', context_window: 1_000_000 }],
    agent: { model: 'peer/m' },
    tools: { max_conversation_turns: 0 },
  }
  writeFileSync(join(folder, 'home/.vtcode/vtcode.config.json'), JSON.stringify(settings))
}

/** The agent in a process of its own, whose processor time is its own. */
async function listened(folder) {
  const file = join(folder, 'listened.mjs')
  writeFileSync(file, program(folder))
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), VTCODE_HOME: join(folder, 'home/.vtcode') }
  const child = spawn(process.execPath, [file], { cwd: join(folder, 'work'), env, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (data) => (out += data))
  await once(child, 'close')
  return JSON.parse(out)
}

const program = (folder) => `
import { createKernel } from ${JSON.stringify(join(project, 'dist/core/index.js'))}
import { createAgent } from ${JSON.stringify(join(project, 'dist/plugins/agent/index.js'))}
const kernel = await createKernel({ workspace: ${JSON.stringify(join(folder, 'work'))}, mode: 'auto' })
const middle = (all, share = 0.5) => all.sort((a, b) => a - b)[Math.floor(all.length * share)]
const spent = async (agent, task) => {
  const before = process.cpuUsage()
  await agent.run(task)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
const late = []
let tail = ''
const onDelta = ({ kind, text }) => {
  if (kind !== 'text') return
  const now = performance.timeOrigin + performance.now()
  const words = (tail + text).split(' ')
  tail = words.pop()
  for (const word of words) if (word.startsWith('@')) late.push(now - Number(word.slice(1)))
}
const listening = () => createAgent(kernel, { onDelta })
const deaf = () => createAgent(kernel)
const once = async (open, task) => { const agent = await open(); try { return await spent(agent, task) } finally { await agent.close() } }
for (let warm = 0; warm < 5; warm++) { await once(listening, 'at once'); await once(deaf, 'at once') }
const slow = { heard: [], unheard: [] }
for (let time = 0; time < ${TIMES}; time++) {
  slow.unheard.push(await once(deaf, 'slowly'))
  slow.heard.push(await once(listening, 'slowly'))
}
const turns = { heard: [], unheard: [] }
for (let turn = 0; turn < ${TURNS}; turn++) {
  turns.heard.push(await once(listening, 'at once') / 1000)
  turns.unheard.push(await once(deaf, 'at once') / 1000)
}
await kernel.close()
const count = late.length
console.log(JSON.stringify({ late: { count, median: middle(late), p95: middle(late, 0.95), most: late.at(-1) }, heard: middle(slow.heard), unheard: middle(slow.unheard), turns: { heard: middle(turns.heard), unheard: middle(turns.unheard) } }))
`
