import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Events } from '../../../../build/plugins/agent/events/index.js'
import { adoptSession, closeUnfinished, repair, restore } from '../../../../build/plugins/agent/history/index.js'
import {
  conversationTable,
  formatRecord,
  createMemoryStore,
  messageText,
} from '../../../../build/plugins/agent/session/index.js'
import { fc } from '../../../support/property.js'
import { TraceLog } from '../../../support/trace_log.js'

type Fact = Parameters<typeof formatRecord>[0]
const TIME = '2026-01-01T00:00:00.000Z'
const SESSION = 'ses_one'
const clock = { now: () => Date.parse(TIME), sleep: async () => {} }
const table = conversationTable

/** A store in memory whose marks are those of `user`. */
function storeOf(user: string) {
  return Object.assign(createMemoryStore(), {
    mark: (text: string) => createHash('sha256').update(`${user}\n${text}`).digest('hex'),
  })
}
function journalOf(facts: readonly Fact[], mark: (text: string) => string): string {
  return facts.map((fact, index) => formatRecord(fact, index + 1, index + 1, TIME, mark)).join('')
}
const prompt = (text: string): Fact => ({
  kind: 'turn_start',
  turn_id: 'tn_1',
  input: { role: 'user', parts: [{ type: 'text', text }] },
})
const facts = fc.array(fc.string({ maxLength: 6 }).map(prompt), { minLength: 1, maxLength: 5 })

/** The events of one or two runs, with calls, texts and turns. */
const log = fc
  .array(
    fc.record({
      again: fc.boolean(),
      steps: fc.array(fc.constantFrom('text', 'call', 'command', 'asked'), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((turns) => {
    const trace = new TraceLog(SESSION).begin()
    for (const { again, steps } of turns) {
      if (again) trace.end().begin()
      trace.ask('go')
      for (const step of steps) {
        if (step === 'text') trace.say({ type: 'agent_message', text: 'ok', status: 'completed' })
        else if (step === 'command') trace.call('run', {}, { command: 'ls', exit_code: 0 })
        else trace.call('t', {}, step === 'asked' ? { asked: true } : {})
        trace.stepEnd()
      }
      trace.turnEnd()
    }
    return trace.end().events
  })
const lineOfEvent = (event: object): string => `${JSON.stringify({ event })}\n`

describe('restore', () => {
  it('keeps each whole line of journal and events, wherever both were cut', async () => {
    await fc.assert(
      fc.asyncProperty(facts, log, fc.nat(), fc.nat(), async (written, events, a, b) => {
        const store = storeOf('me')
        const [journal, trace] = [journalOf(written, store.mark), events.map(lineOfEvent).join('')]
        const [cut, cutTrace] = [journal.slice(0, a % (journal.length + 1)), trace.slice(0, b % (trace.length + 1))]
        await store.append('messages.jsonl', cut)
        await store.append('events.jsonl', cutTrace)
        const { state, torn, records, unfinished } = await restore(store, SESSION, table)
        const whole = cut.split('\n').length - 1
        expect([records.length, torn]).toEqual([whole, cut !== '' && !cut.endsWith('\n')])
        expect(state.messages.map(messageText)).toEqual(
          written.slice(0, whole).map((fact) => messageText((fact as Extract<Fact, { input: object }>).input as never)),
        )
        expect(unfinished.seq).toBe(cutTrace.split('\n').length - 1)
        // What was cut is gone from disk too, so that the next line begins at a line.
        for (const name of ['messages.jsonl', 'events.jsonl']) expect(await store.read(name)).toMatch(/^$|\n$/)
      }),
    )
  })

  it('rejects a line that another user wrote, with its number, even when its checksum is right', async () => {
    await fc.assert(
      fc.asyncProperty(facts, fc.nat(), async (written, which) => {
        const store = storeOf('me')
        const lines = journalOf(written, store.mark).split('\n').slice(0, -1)
        const at = which % lines.length
        const body = lines[at]!.replace(/"turn":\d+/, '"turn":99').replace(/,"crc":"\w+"\}$/, '}')
        lines[at] = `${body.slice(0, -1)},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`
        await store.append('messages.jsonl', `${lines.join('\n')}\n`)
        await expect(restore(store, SESSION, table)).rejects.toMatchObject({
          code: 'VT_SESSION_FOREIGN',
          message: expect.stringContaining(`line ${at + 1} of its journal`),
        })
      }),
    )
  })
})

describe('closeUnfinished', () => {
  it('completes each open item, the turn and the run once, with event numbers that continue', async () => {
    await fc.assert(
      fc.asyncProperty(log, fc.nat(), async (events, at) => {
        const store = storeOf('me')
        const trace = events.map(lineOfEvent).join('')
        await store.append('events.jsonl', trace.slice(0, at % (trace.length + 1)))
        const { unfinished } = await restore(store, SESSION, table)
        const closing = new Events('th_one', clock, unfinished.seq)
        closing.add((event) => store.append('events.jsonl', lineOfEvent(event)))
        await closeUnfinished({ events: closing, session_id: SESSION }, unfinished)

        const text = (await store.read('events.jsonl')) ?? ''
        const all = text
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line).event)
        expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
        const count = (...types: string[]) => all.filter(({ type }) => types.includes(type)).length
        expect(count('thread.started')).toBe(count('thread.completed'))
        expect(count('turn.started')).toBe(count('turn.completed', 'turn.failed'))
        const ids = (type: string) => all.flatMap((event) => (event.type === type ? [event.item.id] : [])).sort()
        expect(ids('item.completed')).toEqual(ids('item.started'))
        expect(all.at(-1)?.type ?? 'thread.completed').toBe('thread.completed')

        const again = (await restore(store, SESSION, table)).unfinished
        expect(again).toMatchObject({ running: false, items: [], turn_id: undefined, torn: false, seq: all.length })
      }),
    )
  })
})

describe('adoptSession', () => {
  it('makes each record own, but takes no mode over', async () => {
    const [store, theirs] = [storeOf('me'), storeOf('them')]
    const written: Fact[] = [prompt('planted'), { kind: 'mode', mode: 'full-auto', by: 'person' }, prompt('more')]
    await store.append('messages.jsonl', journalOf(written, theirs.mark))
    await expect(restore(store, SESSION, table)).rejects.toMatchObject({ code: 'VT_SESSION_FOREIGN' })
    await adoptSession(store, SESSION)
    const { state } = await restore(store, SESSION, table)
    expect([state.mode, state.messages.map(messageText)]).toEqual([undefined, ['planted', 'more']])
  })
})

describe('repair', () => {
  it('cuts a damaged journal at the damage and keeps the rest in a second file', async () => {
    const store = storeOf('me')
    const lines = journalOf([prompt('a'), prompt('b'), prompt('c')], store.mark).split('\n')
    await store.append('messages.jsonl', lines.with(1, lines[1]!.replace('"b"', '"x"')).join('\n'))
    await expect(restore(store, SESSION, table)).rejects.toMatchObject({
      code: 'VT_SESSION_CORRUPT',
      message: `Line 2 of the journal of session ${SESSION} is damaged.`,
    })
    expect(await repair(store)).toBe(2)
    expect((await restore(store, SESSION, table)).records).toHaveLength(1)
    expect(await store.read('messages.bad.jsonl')).toContain('"x"')
  })
})
