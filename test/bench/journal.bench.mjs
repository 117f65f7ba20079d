// A session with a long journal is taken up again: until its first request, against a program that reads the journal and parses its lines.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './measure.mjs'
import { bin, inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const TURNS = 500
const ROUNDS = 7

export default () =>
  inFolder(async (folder) => {
    const { port, worker } = await modelServer(answer)
    // Where nobody listens, what the thread says is kept for the next who does.
    worker.on('message', () => {})
    try {
      const settings = {
        agent: { model: 'peer/m', harness: { auto_compaction_threshold_tokens: 100_000 } },
        automation: { full_auto: { max_turns: 0 } },
      }
      const at = place(folder, withModel(port, { ...settings, provider: { context_window: 400_000 } }))
      await measuredIn(at, program)
      const [journal] = readdirSync(join(at.workspace, '.vtcode/sessions'), { recursive: true }).filter((name) =>
        name.endsWith('messages.jsonl'),
      )
      const file = join(at.workspace, '.vtcode/sessions', journal)
      const { ours, bare } = await times(at, worker, file)
      const mb = (statSync(file).size / 2 ** 20).toFixed(0)
      return [
        {
          name: `resume of a journal of ${mb} MB to its first request`,
          goal: 3,
          ratio: ours / bare,
          detail: `median of ${ROUNDS} in turn: ${ours.toFixed(0)} ms; a Node program that reads it by lines and parses each ${bare.toFixed(0)} ms`,
        },
      ]
    } finally {
      await worker.terminate()
    }
  })

/** A model that says a lot, and little where it is to summarize. */
const answer = `(messages, response, chunk) => {
  const content = /summar/i.test(JSON.stringify(messages.at(-1).content).slice(0, 2000)) ? 'Much was said.' : 'Done as you said. '.repeat(12_000)
  response.end(chunk({ role: 'assistant', content }) + chunk({}, 'stop') + 'data: [DONE]\\n\\n')
}`

const program = `
const agent = await createAgent(kernel, { surface: 'exec' })
for (let turn = 1; turn <= ${TURNS}; turn++) await agent.run('say something about ' + turn)
await agent.close()
await kernel.close()
console.log('{}')
`

async function times({ workspace, home, env }, server, file) {
  const reader = join(home, 'reader.mjs')
  writeFileSync(
    reader,
    `
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
let facts = 0
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) facts += JSON.parse(line).kind ? 1 : 0
`,
  )
  const found = { ours: [], bare: [] }
  for (let round = 0; round < ROUNDS; round++) {
    let began = performance.now()
    await once(spawn(process.execPath, [reader, file]), 'exit')
    found.bare.push(performance.now() - began)
    began = performance.now()
    const asked = once(server, 'message')
    const child = spawn(process.execPath, [bin, 'resume', '--last', 'go on'], { cwd: workspace, env, stdio: 'ignore' })
    await asked
    found.ours.push(performance.now() - began)
    await once(child, 'exit')
  }
  return { ours: median(found.ours), bare: median(found.bare) }
}
