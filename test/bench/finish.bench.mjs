// An agent that finishes: what deciding costs, what it adds to a conversation, what a tracker and proved work add to a turn.
import { decide } from '../../build/plugins/agent/finish/index.js'
import { estimateTokens } from '../../build/plugins/agent/model/index.js'
import { finishPart } from '../../build/plugins/agent/task/index.js'
import { inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const TURNS = 200
const ITEMS = 20
const CALLS = 20_000
const words = [
  'Read the client and its tests',
  'Add a retry to the client',
  'Cover the retry by tests',
  'Say it in the documents',
  'Look at the error messages',
]
const steps = (count, status) =>
  Array.from({ length: count }, (_, at) => ({
    description: `${words[at % words.length]} ${at + 1}`,
    status,
    ...(at % 3 === 0 && { verify: ['true'] }),
  }))
const state = (items) => ({
  ...finishPart.begin(),
  tracker: { title: 'Add retry to client', items },
  changes: 9,
  files_changed: true,
  unread_refusals: [],
})
const around = { refusalsRead: false, on: true, waiting: false, evaluated: false }

export default () =>
  inFolder(async (folder) => {
    const { port, worker } = await modelServer(answer)
    try {
      const at = place(
        folder,
        withModel(port, {
          policy: { allow: ['Bash(true)'] },
          sandbox: { mode: 'off' },
          automation: { full_auto: { max_turns: 0 } },
        }),
      )
      const { plain, tracked, bytes, grown } = await measuredIn(at, program)
      const open = decide(state(steps(100, 'pending')), around).text
      return [
        {
          name: '`decide`',
          goal: 50,
          ratio: deciding(),
          unit: 'µs',
          detail: `best of 7 × ${CALLS} calls with 100 steps, all completed, and a third of them with a command`,
        },
        {
          name: 'what a continuation adds',
          goal: 400,
          ratio: estimateTokens(open),
          unit: 'tokens',
          detail: `100 open steps, ${Buffer.byteLength(open)} bytes; what a failed command printed comes on top, at most 4 KiB`,
        },
        {
          name: 'an answer of the tracker, an item',
          goal: 60,
          ratio: bytes,
          unit: 'bytes',
          detail: `${ITEMS} steps of 25 to 32 characters, a third of them with a command`,
        },
        {
          name: 'a turn with a tracker and proved work, beyond one without',
          goal: 1,
          ratio: tracked - plain,
          unit: 'ms',
          detail: `median of ${TURNS} in turn: ${tracked.toFixed(2)} ms and ${plain.toFixed(2)} ms; ${ITEMS} steps, nothing changed since the commands passed`,
        },
        {
          name: 'what an unchanged tracker adds to the requests of ten turns',
          goal: 0,
          ratio: grown,
          unit: 'bytes',
          detail: 'what the messages of the journal grew by, with a tracker and without',
        },
      ]
    } finally {
      await worker.terminate()
    }
  })

function deciding() {
  const full = state(steps(100, 'completed'))
  let best = Infinity
  for (let round = 0; round < 7; round++) {
    const began = performance.now()
    for (let index = 0; index < CALLS; index++) decide(full, around)
    best = Math.min(best, performance.now() - began)
  }
  return (best * 1000) / CALLS
}

/** A model that answers at once: with a tracker where it is asked for one. */
const answer = `(messages, response, chunk) => {
  const last = messages.at(-1)
  if (last.role === 'user' && last.content === 'track') {
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'task_tracker', arguments: JSON.stringify({ action: 'create', title: 'Add retry to client', items: ${JSON.stringify(steps(ITEMS, 'completed'))} }) } }
    response.end(chunk({ role: 'assistant', tool_calls: [call] }) + chunk({}, 'tool_calls') + 'data: [DONE]\\n\\n')
  } else response.end(chunk({ role: 'assistant', content: 'Done.' }) + chunk({}, 'stop') + 'data: [DONE]\\n\\n')
}`

const program = `
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
const timed = async (what) => { const began = performance.now(); await what(); return performance.now() - began }
const facts = (agent) => readFileSync(join(kernel.workspace, '.vtcode/sessions', agent.session_id, 'messages.jsonl'), 'utf8').split('\\n').filter(Boolean).map((line) => JSON.parse(line))
const size = (agent) => facts(agent).reduce((sum, { kind, message, input }) => sum + (kind === 'message' ? JSON.stringify(message).length : kind === 'turn_start' ? JSON.stringify(input).length : 0), 0)
const [one, other] = [await createAgent(kernel, { surface: 'exec' }), await createAgent(kernel, { surface: 'exec' })]
const first = await one.run('track')
if (first.verified !== true) throw new Error(JSON.stringify(first))
await other.run('hello')
const { text } = facts(one).find(({ kind }) => kind === 'call_end')
const before = [size(one), size(other)]
const times = { tracked: [], plain: [] }
let grown
for (let turn = 1; turn <= ${TURNS}; turn++) {
  const ways = [['tracked', one], ['plain', other]]
  for (const [name, agent] of turn % 2 ? ways : ways.reverse()) times[name].push(await timed(() => agent.run('go on')))
  if (turn === 10) grown = size(one) - before[0] - (size(other) - before[1])
}
await one.close()
await other.close()
await kernel.close()
console.log(JSON.stringify({ tracked: share(times.tracked), plain: share(times.plain), bytes: Buffer.byteLength(text) / ${ITEMS}, grown }))
`
