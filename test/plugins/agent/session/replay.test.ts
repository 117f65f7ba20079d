import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { tempWorkspace } from 'vtcode/test'
import { hold } from '../../../support/inside.js'
import { call, settingsFor, startPeer, type Answer } from '../../../support/peer.js'

const recorded: Answer[] = [
  { toolCalls: [call('unified_search', { action: 'list' }), call('unified_file', { action: 'read', path: 'a.txt' })] },
  {
    content: 'I will change it.',
    toolCalls: [
      call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' }),
      call('no_such_tool', {}),
    ],
  },
  { error: { message: 'slow down' }, status: 429 },
  { content: 'Changed.' },
  { content: 'Nothing else.' },
]

/** Makes deterministic providers: time moves only in waits, and random numbers restart with each run. */
function still() {
  let [time, seed] = [Date.UTC(2026, 0, 1), 42]
  return {
    clock: { now: () => time, sleep: async (ms: number) => void (time += ms) },
    random: { next: () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31 },
  }
}

/** Reads the answers of the model from a journal for a peer that replays them. */
function fromJournal(journal: string): Answer[] {
  const messages = journal
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ kind, message }) => kind === 'message' && message.role === 'assistant')
  return messages.map(({ message: { parts } }) => {
    const said = parts
      .filter(({ type }: any) => type === 'text')
      .map(({ text }: any) => text)
      .join('')
    const calls = parts
      .filter(({ type }: any) => type === 'tool_call')
      .map(({ name, input, tool_call_id }: any) => call(name, input, tool_call_id))
    return { ...(said && { content: said }), ...(calls.length > 0 && { toolCalls: calls }) }
  })
}

it('replays a recorded session to the same bytes from answers, clock and random numbers', async () => {
  const runs = [recorded, fromJournal, fromJournal]
  const logs: { messages: string; events: string }[] = []
  const place = hold(await tempWorkspace({ 'a.txt': 'one\n' }))
  const env = { PATH: process.env['PATH']!, HOME: place.home }
  for (const run of runs) {
    const peer = hold(await startPeer(typeof run === 'function' ? run(logs[0]!.messages) : run))
    const kernel = await createKernel({ workspace: place.root, env, mode: 'auto', config: settingsFor(peer) as never })
    const agent = await createAgent(kernel, { env, providers: still() })
    await agent.run('change it')
    await agent.run('anything else?')
    await agent.close()
    await kernel.close()
    const folder = join(place.root, '.vtcode/sessions', agent.session_id)
    logs.push({
      messages: readFileSync(join(folder, 'messages.jsonl'), 'utf8'),
      events: readFileSync(join(folder, 'events.jsonl'), 'utf8'),
    })
    expect(readdirSync(folder)).toContain('memory.json')
    rmSync(join(place.root, '.vtcode'), { recursive: true })
    await place.write('a.txt', 'one\n')
  }
  expect(logs[2]).toEqual(logs[1])
  // The recording waited for the server once; everything else is equal.
  const facts = (text: string) =>
    text.split('\n').map((line) => line.replace(/"(ts|seal|crc|turn_id|segment_id|tool_call_id)":"[^"]*"/g, ''))
  expect(facts(logs[1]!.messages)).toEqual(facts(logs[0]!.messages))
})
