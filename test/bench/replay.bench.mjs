// A recorded session is replayed: the time of each turn beyond a start of the program, and what the journal keeps of each request.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './measure.mjs'
import { bin, inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const TURNS = 200
const ROUNDS = 5

export default () =>
  inFolder(async (folder) => {
    const { port, worker } = await modelServer(answer)
    worker.on('message', () => {})
    try {
      const settings = { automation: { full_auto: { max_turns: 0 } }, provider: { context_window: 1_000_000 } }
      const at = place(folder, withModel(port, settings))
      await measuredIn(at, program)
      const [journal] = readdirSync(join(at.workspace, '.vtcode/sessions'), { recursive: true }).filter((name) =>
        name.endsWith('messages.jsonl'),
      )
      const lines = readFileSync(join(at.workspace, '.vtcode/sessions', journal), 'utf8')
        .trim()
        .split('\n')
      const sizes = lines.flatMap((line) => {
        const { request } = JSON.parse(line)
        return request ? [JSON.stringify({ request }).length] : []
      })
      const time = (...args) => {
        const began = performance.now()
        const out = execFileSync(process.execPath, [bin, ...args], { cwd: at.workspace, env: at.env }).toString()
        return { ms: performance.now() - began, out }
      }
      const { status, requests } = JSON.parse(time('replay', '--json').out)
      if (status !== 'equal' || requests !== TURNS) throw new Error(`The replay is ${status} after ${requests}.`)
      const extra = Array.from(
        { length: ROUNDS },
        () => time('replay', '--json').ms - time('sessions', 'list', '--json').ms,
      )
      const ms = median(extra) / TURNS
      return [
        {
          name: `replay of a session of ${TURNS} turns, each turn beyond a start`,
          goal: 1,
          ratio: ms / 5,
          detail: `median of ${ROUNDS}: ${ms.toFixed(2)} ms a turn, of 5 ms; the journal keeps ${median(sizes)} bytes of each request`,
        },
      ]
    } finally {
      await worker.terminate()
    }
  })

const answer = `(messages, response, chunk) => {
  response.end(chunk({ role: 'assistant', content: 'Done as you said. '.repeat(100) }) + chunk({}, 'stop') + 'data: [DONE]\\n\\n')
}`

const program = `
const agent = await createAgent(kernel, { surface: 'exec' })
for (let turn = 1; turn <= ${TURNS}; turn++) await agent.run('say something about ' + turn)
await agent.close()
await kernel.close()
console.log('{}')
`
