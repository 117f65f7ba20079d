import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, type AgentOptions, type Delta, type ThreadEvent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { registerSecret, redactText } from '../../../../build/core/text/index.js'
import { RunReader } from '../../../../build/plugins/agent/events/index.js'
import { rounds } from '../../../support/exec.js'
import { framesOf, wholeOf } from '../../../support/frames.js'
import { hold, items, scene } from '../../../support/inside.js'
import { checkLog, isOurEvent } from '../../../support/invariants.js'
import { call, eventsOf, formats, home, logOf, startPeer, vtcode, type Format } from '../../../support/peer.js'
import { fc, runs } from '../../../support/property.js'
import { serve, type Answering } from '../../../support/server.js'

const stream = { 'content-type': 'text/event-stream' }
const secret = `ghp_${'aB3'.repeat(12)}`
// The key of the test provider.
const named = 'key-of-the-peer-0123'
registerSecret(named, 'PEER_API_KEY')

/** Joins the deltas of each text; each starts where the previous one ended. */
function joined(deltas: readonly Delta[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const { item_id, kind, at, text } of deltas) {
    const key = `${item_id} ${kind}`
    const before = texts.get(key) ?? ''
    expect(at, 'nothing is missing').toBe(before.length)
    expect(/^[\udc00-\udfff]/.test(text) && /[\ud800-\udbff]$/.test(before), 'no character is cut').toBe(false)
    texts.set(key, before + text)
  }
  return texts
}
/** Checks that every delta belongs to an open item and that all deltas join to its final text. */
function check(events: readonly ThreadEvent[], deltas: readonly Delta[]): void {
  const texts = joined(deltas)
  const ended = new Map(
    events.flatMap((event) => (event.type === 'item.completed' ? [[event.item.id, event.item] as const] : [])),
  )
  for (const [key, text] of texts) {
    const [id, kind] = key.split(' ')
    const item = ended.get(id!)
    if (kind === 'text') expect(item).toMatchObject({ type: 'agent_message', text })
    if (kind === 'reasoning') expect(item).toMatchObject({ type: 'reasoning', text })
    if (kind === 'arguments' && item)
      expect(item).toMatchObject({ type: 'tool_invocation', arguments: JSON.parse(text) })
  }
  for (const delta of deltas) expect(isOurEvent(delta), JSON.stringify([delta, isOurEvent.errors])).toBe(true)
}
const follow = (into: Delta[]): Pick<AgentOptions, 'onDelta'> => ({ onDelta: (delta) => void into.push(delta) })

const part = fc.constantFrom(
  'The ',
  'task ',
  'sk-',
  ' -- ',
  '😀',
  'é',
  '漢字 ',
  '\n',
  'key-of',
  named,
  secret,
  secret.slice(0, 20),
  'AKIAABCDEFGHIJKLMNOP',
  ' a rather long stretch of words that says nothing at all ',
)
const text = fc.array(part, { minLength: 1, maxLength: 30 }).map((parts) => `x ${parts.join('')}`)
const cuts = (said: string, places: readonly number[]): string[] => {
  const borders = [0, ...places.map((place) => place % said.length).sort((one, other) => one - other), said.length]
  return borders.slice(1).map((to, index) => said.slice(borders[index], to))
}
const places = fc.array(fc.nat({ max: 100_000 }), { maxLength: 40 })

describe.each(formats)('deltas over %s', (format) => {
  it(
    'joins deltas to the completed items without secrets, wherever the stream is cut',
    { timeout: 600_000 },
    async () => {
      let script: { body: Buffer[]; whole: boolean }[] = []
      const server = hold(
        await serve(async (_, response) => {
          const { body, whole } = script.shift()!
          response.writeHead(200, stream)
          for (const piece of body) {
            response.write(piece)
            await new Promise((resolve) => setImmediate(resolve))
          }
          if (whole) response.end()
          else response.destroy()
        }),
      )
      const s = await scene([], {
        url: server.url,
        format,
        boot: { files: { 'a.txt': 'a\n' } },
        provider: { retries: { stream: 9 } },
      })
      const chunks = (bytes: Buffer, at: readonly number[]): Buffer[] => {
        const borders = [0, ...at.map((place) => place % bytes.length).sort((one, other) => one - other), bytes.length]
        return borders
          .slice(1)
          .map((to, index) => bytes.subarray(borders[index], to))
          .filter(({ length }) => length > 0)
      }
      await fc.assert(
        fc.asyncProperty(
          text,
          text,
          places,
          places,
          places,
          fc.boolean(),
          fc.boolean(),
          async (thought, said, where, other, onWire, breaks, calls) => {
            const input = JSON.stringify({ action: 'read', path: 'a.txt', note: said })
            const answer = framesOf(format, {
              reasoning: cuts(thought, where),
              text: cuts(said, other),
              ...(calls && { call: { name: 'unified_file', arguments: cuts(input, where) } }),
            })
            const bytes = Buffer.from(answer.body + answer.end)
            const broken = {
              body: chunks(Buffer.from(answer.body).subarray(0, (onWire[0] ?? 1) % answer.body.length), onWire),
              whole: false,
            }
            const last = wholeOf(format, { text: 'done' })
            script = [
              ...(breaks ? [broken] : []),
              { body: chunks(bytes, onWire), whole: true },
              ...(calls ? [{ body: [Buffer.from(last)], whole: true }] : []),
            ]
            const [events, deltas]: [ThreadEvent[], Delta[]] = [[], []]
            const outcome = await s.run('go', {
              providers: { session: 'memory' },
              onEvent: (event) => void events.push(event),
              ...follow(deltas),
            })
            expect(outcome).toMatchObject({ outcome_code: 'success', text: calls ? 'done' : redactText(said) })
            check(events, deltas)
            checkLog(events)
            const heard = joined(deltas)
            for (const { id, text: whole } of [...items(events, 'agent_message'), ...items(events, 'reasoning')])
              expect(heard.get(`${id} text`) ?? heard.get(`${id} reasoning`) ?? '').toBe(whole)
            expect(items(events, 'agent_message').map((item) => item.text)).toContain(redactText(said))
            if (calls)
              expect(
                deltas
                  .filter(({ kind }) => kind === 'arguments')
                  .every(({ tool_name }) => tool_name === 'unified_file'),
              ).toBe(true)
          },
        ),
        { numRuns: runs(rounds(10, 60)) },
      )
    },
  )
})

/** Starts a server that sends each piece after the previous one was received, and then runs `last`. */
async function hearing(pieces: readonly string[], last: Answering, answers: readonly string[] = []) {
  const [frames] = [framesOf('openai-chat', { text: [...pieces] })]
  const said = frames.body.split(/(?<=\n\n)/)
  let heard: (() => void) | undefined
  const rest = [...answers]
  let first = true
  const server = hold(
    await serve(async (request, response, seen) => {
      response.writeHead(200, stream)
      if (!first) return response.end(rest.shift() ?? wholeOf('openai-chat', { text: 'ok' }))
      first = false
      for (const piece of said) {
        const once = new Promise<void>((resolve) => (heard = resolve))
        response.write(piece)
        await once
      }
      return last(request, response, seen)
    }),
  )
  const s = await scene([], { url: server.url, provider: { retries: { stream: 0 } } })
  return { s, server, heard: () => heard?.() }
}
const bodyOf = (seen: { body: string }): any[] => JSON.parse(seen.body).messages

describe('delta reader', () => {
  it('continues the run when a reader never returns and skips its deltas meanwhile', async () => {
    const s = await scene([{ content: 'word '.repeat(200_000), how: { chunkSize: 4000 } }])
    const deltas: Delta[] = []
    expect(await s.run('go', { onDelta: (delta) => (deltas.push(delta), new Promise(() => {})) })).toMatchObject({
      outcome_code: 'success',
    })
    expect(deltas).toHaveLength(1)
  })
  it('sends no more deltas to a reader that throws, and other readers notice nothing', async () => {
    const s = await scene([{ content: 'word '.repeat(20_000), how: { chunkSize: 4000 } }])
    let count = 0
    const onDelta = () => {
      count += 1
      throw new Error('no')
    }
    expect(await s.run('go', { onDelta })).toMatchObject({ outcome_code: 'success' })
    expect(count).toBe(1)
  })
  it('keeps at most 256 KiB of joined deltas for an idle reader and shows the gap', async () => {
    const reader = new RunReader()
    const delta = (at: number, said: string): Delta => ({
      type: 'item.delta',
      thread_id: 'th_1',
      turn_id: 'tn_1',
      item_id: 'it_1',
      kind: 'text',
      at,
      text: said,
    })
    const piece = 'x'.repeat(1024)
    for (let at = 0; at < 16 * 1024 * 1024; at += piece.length) reader.delta(delta(at, piece))
    const reading = reader[Symbol.asyncIterator]()
    const { value: first } = await reading.next()
    expect(first).toMatchObject({ at: 0 })
    const { length } = (first as Delta).text
    expect([length > 64 * 1024, length * 2 <= 256 * 1024]).toEqual([true, true])
    reader.delta(delta(16 * 1024 * 1024, 'and on'))
    reader.end()
    expect((await reading.next()).value).toMatchObject({ at: 16 * 1024 * 1024, text: 'and on' })
    expect((await reading.next()).done).toBe(true)
  })
  it('sends a slow reader every event except updates that a later one contains', async () => {
    const s = await scene([{ content: 'word '.repeat(2000), how: { chunkSize: 500 } }])
    const agent = await createAgent(s.booted.kernel, { env: {} })
    const id = agent.session_id
    const got: (ThreadEvent | Delta)[] = []
    for await (const one of agent.stream('go')) {
      if (got.push(one) === 3)
        await expect.poll(() => logOf(s.booted as never, id).some(({ type }) => type === 'turn.completed')).toBe(true)
    }
    await agent.close()
    const log = logOf(s.booted as never, id)
    const events = got.filter((one): one is ThreadEvent => one.type !== 'item.delta')
    expect(events.filter(({ type }) => type !== 'item.updated')).toEqual(
      log.filter(({ type }) => type !== 'item.updated'),
    )
    expect(events.filter(({ type }) => type === 'item.updated').length).toBeLessThan(
      log.filter(({ type }) => type === 'item.updated').length,
    )
    check(
      events,
      got.filter((one): one is Delta => one.type === 'item.delta'),
    )
  })
  it('keeps events and deltas of a stream in one order and ends it with the outcome', async () => {
    const s = await scene(
      [
        {
          content: 'I look.',
          toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })],
          how: { chunkSize: 3 },
        },
        { content: 'It says a.', how: { chunkSize: 3 } },
      ],
      { boot: { files: { 'a.txt': 'a\n' } } },
    )
    const agent = await createAgent(s.booted.kernel, { env: {} })
    const got: (ThreadEvent | Delta)[] = []
    const reading = agent.stream('go')
    let end = await reading.next()
    for (; !end.done; end = await reading.next()) got.push(end.value)
    await agent.close()
    expect(end.value).toMatchObject({ outcome_code: 'success', text: 'It says a.' })
    expect([got[0]!.type, got.at(-1)!.type]).toEqual(['thread.started', 'thread.completed'])
    checkLog(got.filter(({ type }) => type !== 'item.delta'))
    for (const [index, one] of got.entries()) {
      if (one.type !== 'item.delta') continue
      const at = (type: string) =>
        got.findIndex(
          (event) => event.type === type && 'item' in event && (event.item as { id: string }).id === one.item_id,
        )
      // A call starts when it is recorded, after its last delta.
      if (one.kind === 'arguments') expect(index).toBeLessThan(at('item.started'))
      else expect([at('item.started') < index, index < at('item.completed')]).toEqual([true, true])
    }
  })
  it('ends the run when the reader leaves the stream and keeps the agent usable', async () => {
    const s = await scene([
      { content: 'a long story '.repeat(300), how: { latency: 20, chunkSize: 10 } },
      { content: 'ok' },
    ])
    const agent = await createAgent(s.booted.kernel, { env: {} })
    for await (const one of agent.stream('go')) if (one.type === 'item.delta') break
    expect(await agent.run('and now')).toMatchObject({ outcome_code: 'success', text: 'ok' })
    await agent.close()
    expect(logOf(s.booted as never, agent.session_id).filter(({ type }) => type === 'turn.failed')).toMatchObject([
      { code: 'VT_CANCELLED' },
    ])
  })
  it('shows the output of a command while it runs, without its secrets', async () => {
    const command = `echo one; sleep 0.4; echo ${secret.slice(0, 9)}""${secret.slice(9)}; sleep 0.4; echo two`
    const s = await scene([{ toolCalls: [call('unified_exec', { action: 'run', command })] }, { content: 'ok' }], {
      boot: { mode: 'auto', config: { sandbox: { mode: 'off' } } as never },
    })
    const deltas: Delta[] = []
    await s.run('go', { ...follow(deltas), providers: { approval: { approve: () => true } } })
    const output = deltas.filter(({ kind }) => kind === 'output')
    const [invocation] = items(s.events, 'tool_invocation')
    expect(invocation).toMatchObject({ outcome: 'success' })
    expect(new Set(output.map(({ item_id }) => item_id))).toEqual(new Set([invocation.id]))
    const [printed] = [...joined(output).values()]
    expect(printed).toMatch(/one\n[\s\S]*two\n/)
    expect(JSON.stringify(deltas)).not.toContain(secret)
  })
})

it('redacts a secret that a server splits in every delta and event, the first half too', async () => {
  const { s, heard } = await hearing(
    ['The key is ', `${secret.slice(0, 12)}`, secret.slice(12), ' and '],
    (_, response) => response.end(wholeOf('openai-chat', { text: 'more' })),
  )
  const deltas: Delta[] = []
  const timer = setInterval(heard, 50)
  await s.run('go', follow(deltas))
  clearInterval(timer)
  expect([...joined(deltas).values()]).toEqual(['The key is [redacted:github_token] and more'])
  expect(JSON.stringify([s.events, deltas])).not.toContain(secret.slice(0, 12))
})

describe('partial answers of an ended turn', () => {
  it('keeps the answer of a cancelled turn and shows it to the model in the next turn with the reason', async () => {
    const { s, server, heard } = await hearing(['I begin ', 'with the first thing'], () => {})
    const stop = new AbortController()
    const [events, deltas]: [ThreadEvent[], Delta[]] = [[], []]
    const onDelta = (delta: Delta) => {
      deltas.push(delta)
      heard()
      if (delta.text.includes('thing')) stop.abort()
    }
    const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void events.push(event), onDelta })
    expect(await agent.run('go', { signal: stop.signal })).toMatchObject({ outcome_code: 'cancelled' })
    const [message] = items(events, 'agent_message')
    expect(message).toMatchObject({ status: 'cancelled', text: 'I begin with the first thing' })
    check(events, deltas)
    await agent.run('go on')
    await agent.close()
    checkLog(events)
    expect(bodyOf(server.seen[1]!).slice(-4)).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'I begin with the first thing' },
      { role: 'user', content: 'The user stopped your answer here.' },
      { role: 'user', content: 'go on' },
    ])
  })
  it('keeps the answer of a stream that broke off for good, with the reason', async () => {
    const { s, server, heard } = await hearing(['half of '], (_, response) => response.destroy())
    const events: ThreadEvent[] = []
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: (event) => void events.push(event),
      onDelta: heard,
    })
    expect(await agent.run('go')).toMatchObject({ outcome_code: 'failed' })
    await agent.run('go on')
    await agent.close()
    expect(items(events, 'agent_message')[0]).toMatchObject({ status: 'discarded', text: 'half of ' })
    expect(bodyOf(server.seen[1]!).slice(-3)).toMatchObject([
      { role: 'assistant', content: 'half of ' },
      { role: 'user', content: expect.stringMatching(/^Your answer broke off here \(VT_LLM_\w+\)\.$/) },
      { role: 'user' },
    ])
  })
  it.each(formats)('sends a partial answer in a form that a server of %s accepts', async (format: Format) => {
    const s = await scene(
      [{ content: 'a long story '.repeat(300), how: { latency: 20, chunkSize: 10 } }, { content: 'ok' }],
      { format },
    )
    const stop = new AbortController()
    const agent = await createAgent(s.booted.kernel, { env: {}, onDelta: () => stop.abort() })
    await agent.run('go', { signal: stop.signal })
    expect(await agent.run('go on')).toMatchObject({ text: 'ok' })
    await agent.close()
    expect(JSON.stringify(s.peer.bodies[1])).toMatch(/a long .*The user stopped your answer here\./)
  })
})

describe('vtcode exec --json --deltas', () => {
  it('prints deltas between the events only with --deltas and writes none to the log', async () => {
    const peer = hold(
      await startPeer(Array.from({ length: 2 }, () => ({ content: 'One. Two. Three.', how: { chunkSize: 4 } }))),
    )
    const place = hold(await home(peer))
    const { out, code } = await vtcode(place, ['exec', '--json', '--deltas', 'go'])
    expect(code).toBe(0)
    const lines = eventsOf(out)
    const deltas = lines.filter(({ type }) => type === 'item.delta')
    const events = lines.filter(({ type }) => type !== 'item.delta')
    expect(deltas.length).toBeGreaterThan(0)
    check(events, deltas)
    checkLog(events)
    expect([...joined(deltas).values()]).toEqual(['One. Two. Three.'])
    expect(
      readFileSync(join(place.root, '.vtcode/sessions', events[0].session_id, 'events.jsonl'), 'utf8'),
    ).not.toContain('item.delta')
    expect((await vtcode(place, ['exec', '--json', 'go'])).out).not.toContain('item.delta')
  })
  it('leaves a session that continues after a kill in the middle of an answer', async () => {
    const peer = hold(
      await startPeer([
        { content: 'a long story '.repeat(300), how: { latency: 20, chunkSize: 10 } },
        { content: 'ok' },
      ]),
    )
    const place = hold(await home(peer))
    const killed = await vtcode(place, ['exec', '--json', '--deltas', '--session-id', 'ses_killed', 'go'], {
      started: (child) =>
        child.stdout!.on('data', (chunk: Buffer) => String(chunk).includes('item.delta') && child.kill('SIGKILL')),
    })
    expect(killed.code).toBe(null)
    const { out, code } = await vtcode(place, ['exec', 'resume', 'ses_killed', 'go on', '--json', '--deltas'])
    expect([code, eventsOf(out).at(-1)]).toMatchObject([0, { outcome_code: 'success', result: 'ok' }])
    checkLog(logOf(place, 'ses_killed'))
  })
})
