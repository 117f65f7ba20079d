// The agent: what a turn costs beyond the model, how soon a first request is sent, what two hundred turns leave in memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { byNode, median } from './measure.mjs'
import { bin, inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const STARTS = 15
const TURNS = 200
const WARM_UP = 20

export default () =>
  inFolder(async (folder) => {
    const { port, worker } = await modelServer(answer)
    try {
      const settings = {
        agent: { model: 'peer/m', harness: { auto_compaction_threshold_tokens: 20_000 } },
        automation: { full_auto: { max_turns: 0 } },
      }
      const at = place(folder, withModel(port, settings))
      for (let index = 0; index < TURNS; index++)
        writeFileSync(join(at.workspace, `f${index}.txt`), `line of file ${index}\n`.repeat(100))
      const starts = await startTimes(at, worker)
      const { text, call, bare, heaps } = await measuredIn(at, program(port))
      return [
        {
          name: 'cold exec to its first request, against bare node',
          goal: byNode(2.8, 4.2),
          ratio: starts.ours / starts.bare,
          detail: `median of ${STARTS} in turn: ${starts.ours.toFixed(0)} ms, \`node -e 0\` ${starts.bare.toFixed(0)} ms`,
        },
        {
          name: 'a turn of text beyond the model',
          goal: 4,
          ratio: text - bare,
          unit: 'ms',
          detail: `median of ${TURNS}: ${text.toFixed(2)} ms, the same request by fetch ${bare.toFixed(2)} ms; journal and events on disk`,
        },
        {
          name: 'a turn with a call beyond the model',
          goal: 7,
          ratio: call - 2 * bare,
          unit: 'ms',
          detail: `median of ${TURNS}: ${call.toFixed(2)} ms with two requests and a read of a file`,
        },
        {
          name: `memory: growth from turn ${WARM_UP} to turn ${TURNS}, a turn`,
          goal: 20,
          ratio: (heaps.last - heaps.first) / 1024 / (TURNS - WARM_UP),
          unit: 'KiB',
          detail: `heap after collection ${(heaps.first / 2 ** 20).toFixed(1)} and ${(heaps.last / 2 ** 20).toFixed(1)} MB, shortened at 20,000 tokens`,
        },
      ]
    } finally {
      await worker.terminate()
    }
  })

/** A model that answers at once: a call where it is asked to, else a text. */
const answer = `(messages, response, chunk) => {
  const last = messages.at(-1)
  if (last.role === 'user' && last.content.startsWith('call')) {
    const call = { index: 0, id: 'c' + messages.length, type: 'function', function: { name: 'unified_file', arguments: JSON.stringify({ action: 'read', path: 'f' + last.content.split(' ')[1] + '.txt' }) } }
    response.end(chunk({ role: 'assistant', tool_calls: [call] }) + chunk({}, 'tool_calls') + 'data: [DONE]\\n\\n')
  } else response.end(chunk({ role: 'assistant', content: 'Done as you said. '.repeat(10) }) + chunk({}, 'stop') + 'data: [DONE]\\n\\n')
}`

async function startTimes({ workspace, env }, server) {
  const times = { ours: [], bare: [] }
  for (let round = 0; round < STARTS; round++) {
    let began = performance.now()
    await once(spawn(process.execPath, ['-e', '0'], { cwd: workspace, env, stdio: 'ignore' }), 'exit')
    times.bare.push(performance.now() - began)
    began = performance.now()
    const asked = once(server, 'message')
    const child = spawn(process.execPath, [bin, 'exec', 'go'], { cwd: workspace, env, stdio: 'ignore' })
    await asked
    times.ours.push(performance.now() - began)
    await once(child, 'exit')
  }
  return { ours: median(times.ours), bare: median(times.bare) }
}

const program = (port) => `
const timed = async (what) => { const began = performance.now(); await what(); return performance.now() - began }
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
console.log(JSON.stringify({ text: share(times.text), call: share(times.call), bare: share(times.bare), heaps }))
`
