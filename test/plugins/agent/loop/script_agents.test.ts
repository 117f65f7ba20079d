import { describe, expect, it } from 'vitest'
import { hold } from '../../../support/inside.js'
import { call, home, startPeer, vtcode, type Answer } from '../../../support/peer.js'

const code = `const found = await parallel([
  () => agent('Find the first of the parts and report it.', { agent: 'explorer' }),
  () => agent('Find the second of the parts and report it.', { agent: 'explorer' }),
])
const checked = await pipeline(['x', 'y'],
  (item) => agent('Read the file ' + item + ' and report what it says.', { agent: 'explorer' }),
  ({ summary }, item) => item + ': ' + summary)
return { found: found.map((one) => one && one.summary), checked }`
const script = (text: string): Answer => ({
  toolCalls: [call('unified_exec', { action: 'code', code: text, timeout_secs: 600 })],
})

/** Returns a model: the conversation runs the script `times` times, each agent reports the task that it got. */
function createModel(times: number, answerAgent: (task: string) => Answer = (task) => ({ content: `did ${task}` })) {
  const tasks: string[] = []
  let left = times
  const step = (body: any): Answer => {
    const task = /(?:Find the \w+ of|Read the file \w)/.exec(JSON.stringify(body.messages))
    const isAgent = !JSON.stringify(body.messages).includes('Run the script.')
    if (isAgent) {
      tasks.push(task![0])
      return answerAgent(task![0])
    }
    return left-- > 0 ? script(code) : { content: 'done' }
  }
  return { tasks, script: Array.from({ length: 40 }, () => step) }
}
const readResults = (bodies: any[]): any[] => {
  const last = bodies.filter((body) => JSON.stringify(body.messages).includes('Run the script.')).at(-1)
  return last.messages.filter(({ role }: any) => role === 'tool').map(({ content }: any) => content as string)
}

describe('agents of a script', () => {
  it('runs agents side by side and in stages, and returns their reports', async () => {
    const model = createModel(1)
    const peer = hold(await startPeer(model.script))
    const place = hold(await home(peer, { x: 'x\n', y: 'y\n' }))
    const { out } = await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'Run the script.'])
    expect(out).toBe('done\n')
    expect(readResults(peer.bodies)).toEqual([
      expect.stringContaining(
        '{"found":["did Find the first of","did Find the second of"],' +
          '"checked":["x: did Read the file x","y: did Read the file y"]}',
      ),
    ])
    expect(model.tasks.sort()).toEqual([
      'Find the first of',
      'Find the second of',
      'Read the file x',
      'Read the file y',
    ])
  })

  it('starts no agent a second time whose answer the session has, also after a resume', async () => {
    const model = createModel(3)
    const peer = hold(await startPeer(model.script))
    const place = hold(await home(peer, { x: 'x\n', y: 'y\n' }))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'Run the script.'])
    await vtcode(place, ['resume', '--last', '--mode', 'auto', 'Again.'])
    const results = readResults(peer.bodies)
    expect(results.length).toBeGreaterThanOrEqual(2)
    const values = results.map((text: string) => /\{"found".*\}/.exec(text)?.[0])
    expect(new Set(values).size).toBe(1)
    expect(model.tasks).toHaveLength(4)
  })

  it('opens no other tool of the agent to scripts', async () => {
    const tools = ['agents/spawn', 'agents/close', 'cron/create', 'task_tracker/list', 'report_result']
    const probe = `return Promise.all(${JSON.stringify(tools)}.map((tool) => vtcode.call(tool, {}).catch((error) => error.code)))`
    const peer = hold(await startPeer([script(probe), { content: 'done' }]))
    const place = hold(await home(peer))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'])
    expect(peer.bodies.at(-1).messages.at(-1).content).toContain(JSON.stringify(tools.map(() => 'VT_AGENT_NONE')))
  })

  it('keeps the answers of agents from the store of scripts', async () => {
    const key = "'agent:x'"
    const probe = `return [
  await store.set(${key}, 1).catch((error) => error.code),
  await store.get(${key}).catch((error) => error.code),
  await store.delete(${key}).catch((error) => error.code),
  await store.list('agent:'),
]`
    const peer = hold(await startPeer([script(probe), { content: 'done' }]))
    const place = hold(await home(peer))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'])
    const refused = '"VT_EXEC_STORE"'
    expect(peer.bodies.at(-1).messages.at(-1).content).toContain(`[${refused},${refused},${refused},[]]`)
  })

  it('gives null for a task that fails, prints its error, and starts it again the next time', async () => {
    let failures = 1
    const model = createModel(2, (task) =>
      task === 'Find the first of' && failures-- > 0
        ? { error: { message: 'no such field' }, status: 400 }
        : { content: `did ${task}` },
    )
    const peer = hold(await startPeer(model.script))
    const place = hold(await home(peer, { x: 'x\n', y: 'y\n' }))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'Run the script.'])
    const [first, second] = readResults(peer.bodies)
    expect(first).toContain('"found":[null,"did Find the second of"]')
    expect(first).toContain('no such field')
    expect(second).toContain('"found":["did Find the first of","did Find the second of"]')
    expect(model.tasks.filter((task) => task === 'Find the first of')).toHaveLength(2)
    expect(model.tasks).toHaveLength(5)
  })
})
