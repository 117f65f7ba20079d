// What is said while it is said: how far deltas are behind the server, and what listening to them costs.
import { inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const SECONDS = 5
const TIMES = 3
const TURNS = 21

export default () =>
  inFolder(async (folder) => {
    const { port, worker } = await modelServer(answer)
    try {
      const { late, heard, unheard, turns } = await measuredIn(
        place(folder, withModel(port, { provider: { context_window: 1_000_000 } })),
        program,
      )
      const share = (microseconds) => microseconds / 10_000 / SECONDS
      return [
        {
          name: 'a delta after the server sent it, p95',
          goal: 50,
          ratio: late.p95,
          unit: 'ms',
          detail: `${late.count} words of 200 a second, each with the time it was sent; median ${late.median.toFixed(1)} ms, the latest ${late.most.toFixed(1)} ms`,
        },
        {
          name: 'listening to 200 words a second, of a core',
          goal: 1,
          ratio: share(heard - unheard),
          unit: '%',
          detail: `processor time of ${SECONDS} s, median of ${TIMES} in turn, with a listener ${share(heard).toFixed(2)} % and without ${share(unheard).toFixed(2)} %`,
        },
        {
          name: 'a turn with a listener against one without',
          goal: 1.05,
          ratio: turns.heard / turns.unheard,
          detail: `processor time, median of ${TURNS} in turn, 2,000 words at once: ${turns.heard.toFixed(1)} and ${turns.unheard.toFixed(1)} ms`,
        },
      ]
    } finally {
      await worker.terminate()
    }
  })

/** A model that says what the time is: 200 times a second, or 2,000 times at once. */
const answer = `(messages, response, chunk) => {
  const now = () => performance.timeOrigin + performance.now()
  const end = () => response.end(chunk({}, 'stop') + 'data: [DONE]\\n\\n')
  if (messages.at(-1).content === 'at once') {
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
}`

const program = `
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
console.log(JSON.stringify({ late: { count, median: share(late), p95: share(late, 0.95), most: late.at(-1) }, heard: share(slow.heard), unheard: share(slow.unheard), turns: { heard: share(turns.heard), unheard: share(turns.unheard) } }))
`
