// What benches of the agent have in common: a folder with a workspace and a home, a model in a thread, and programs in processes of their own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')
export const bin = join(project, 'dist/core/bin.cjs')

/** A new folder for as long as `bench` runs. */
export async function inFolder(bench) {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  try {
    return await bench(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** A workspace and a home with settings, and the environment that a program there has. */
export function place(folder, settings) {
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace, { recursive: true })
  mkdirSync(join(home, '.vtcode'), { recursive: true })
  writeFileSync(join(home, '.vtcode/vtcode.config.json'), JSON.stringify(settings))
  return { workspace, home, env: { PATH: process.env.PATH, HOME: home, VTCODE_HOME: join(home, '.vtcode') } }
}

/** Settings for an agent whose model answers at `port`. */
export const withModel = (port, { provider, ...more } = {}) => ({
  custom_providers: [
    {
      name: 'peer',
      api_format: 'openai-chat',
      base_url: `http://127.0.0.1:${port}/v1`,
      models: ['m'],
      api_key_env: 'none',
      ...provider,
    },
  ],
  agent: { model: 'peer/m' },
  tools: { max_conversation_turns: 0 },
  ...more,
})

/**
 * A model in a thread of its own. `answer` is the source of a function of the messages, the response and `chunk`, which makes a part of a
 * stream; the thread says `asked` for each request.
 */
export async function modelServer(answer) {
  const worker = new Worker(
    `
const { createServer } = require('node:http')
const { parentPort } = require('node:worker_threads')
const chunk = (delta, finish_reason = null) => 'data: ' + JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] }) + '\\n\\n'
const answer = ${answer}
const server = createServer((request, response) => {
  parentPort.postMessage({ asked: true })
  let body = ''
  request.on('data', (data) => (body += data))
  request.on('end', () => answer(JSON.parse(body).messages, response.writeHead(200, { 'content-type': 'text/event-stream' }), chunk))
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
`,
    { eval: true },
  )
  const [{ port }] = await once(worker, 'message')
  return { port, worker }
}

/** What a program prints as JSON that runs an agent in a process of its own, whose memory and processor time are its own. `kernel` is open in it. */
export async function measuredIn({ workspace, home, env }, program) {
  const file = join(home, 'program.mjs')
  writeFileSync(
    file,
    `
import { createKernel } from ${JSON.stringify(join(project, 'dist/core/index.js'))}
import { createAgent } from ${JSON.stringify(join(project, 'dist/plugins/agent/index.js'))}
const kernel = await createKernel({ workspace: ${JSON.stringify(workspace)}, mode: 'auto' })
const share = (all, part = 0.5) => all.sort((a, b) => a - b)[Math.floor(all.length * part)]
${program}`,
  )
  const child = spawn(process.execPath, ['--expose-gc', file], {
    cwd: workspace,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (data) => (out += data))
  await once(child, 'close')
  return JSON.parse(out)
}
