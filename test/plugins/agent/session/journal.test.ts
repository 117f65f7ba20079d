import { describe, expect, it } from 'vitest'
import {
  listCalls,
  conversationTable,
  formatRecord,
  createMemoryStore,
  messageText,
  Queue,
  readJournal,
  listUnansweredCalls,
} from '../../../../build/plugins/agent/session/index.js'
import { createSeededRandom } from '../../../../build/plugins/agent/base/index.js'
import { fc, runs } from '../../../support/property.js'

type Fact = Parameters<typeof formatRecord>[0]
const word = fc.string({ unit: fc.constantFrom('a', 'é', '"', '\\', '\n', '\u2028', '😀', ',"crc":"'), maxLength: 6 })
const said = (role: 'user' | 'assistant' | 'tool', text: string) => ({ role, parts: [{ type: 'text' as const, text }] })
const summary = conversationTable.begin().summary

/** Makes a journal as a run writes it: turns of steps, with compactions and reverts between them. */
const journal = fc
  .array(
    fc.record({
      prompt: word,
      steps: fc.array(word, { maxLength: 3 }),
      then: fc.constantFrom('nothing', 'nothing', 'compaction', 'conversation', 'code'),
      back: fc.nat({ max: 5 }),
    }),
    { maxLength: 5 },
  )
  .map((plan) => {
    const records: { fact: Fact; turn: number }[] = []
    let turn = 0
    const add = (fact: Fact) => void records.push({ fact, turn })
    plan.forEach(({ prompt, steps, then, back }, index) => {
      turn += 1
      add({ kind: 'turn_start', turn_id: `tn_${turn}`, input: said('user', `${index} ${prompt}`) })
      for (const text of steps) add({ kind: 'message', message: said('assistant', text), cost_usd: 1 })
      add({ kind: 'turn_end', status: 'completed' })
      if (then === 'compaction')
        add({
          kind: 'compaction',
          keep_from: 1,
          inserted: [said('user', 'summary')],
          history_path: `h${turn}`,
          summary,
        })
      if (then !== 'conversation' && then !== 'code') return
      turn += 1
      add({ kind: 'revert', to_turn: 1 + (back % (turn - 1)), scope: then })
    })
    return records
  })
const textOf = (records: { fact: Fact; turn: number }[]) =>
  records
    .map(({ fact, turn }, index) => formatRecord(fact, index + 1, turn, '2026-01-01T00:00:00.000Z', () => 'a0'))
    .join('')

describe('journal', () => {
  it('reads back what was written, and the whole entries before any cut', () => {
    fc.assert(
      fc.property(journal, fc.nat(), (records, at) => {
        const text = textOf(records)
        const whole = readJournal(text)
        expect(whole).toMatchObject({ bytes: Buffer.byteLength(text), torn: false })
        expect(whole.records).toMatchObject(records.map(({ fact, turn }) => ({ ...fact, turn })))
        expect(whole.damaged).toBeUndefined()
        const cut = text.slice(0, at % (text.length + 1))
        const lines = cut.split('\n').length - 1
        expect(readJournal(cut)).toEqual({
          records: whole.records.slice(0, lines),
          bytes: Buffer.byteLength(cut.slice(0, cut.lastIndexOf('\n') + 1)),
          torn: !cut.endsWith('\n') && cut !== '',
        })
      }),
    )
  })
  it('ends before a changed, lost, doubled or moved line', () => {
    fc.assert(
      fc.property(
        journal.filter(({ length }) => length > 2),
        fc.nat(),
        fc.nat(),
        (records, which, at) => {
          const lines = textOf(records).split('\n').slice(0, -1)
          const index = which % (lines.length - 1)
          const line = lines[index]!
          const place = at % line.length
          const changed = line.slice(0, place) + (line[place] === 'x' ? 'y' : 'x') + line.slice(place + 1)
          const damages = [[changed], [], [line, line], [lines[index + 1]!, line]]
          for (const [kind, by] of damages.entries()) {
            const read = readJournal(
              [...lines.slice(0, index), ...by, ...lines.slice(index + (kind === 3 ? 2 : 1)), ''].join('\n'),
            )
            const good = kind === 2 ? index + 1 : index
            expect([kind, read.records.length]).toEqual([kind, good])
            expect([kind, read.damaged ?? (read.torn && good + 1)]).toEqual([kind, good + 1])
          }
        },
      ),
      { numRuns: runs(200) },
    )
  })
  it('describes the conversation without reverted turns and with everything else', () => {
    fc.assert(
      fc.property(journal, (records) => {
        const state = conversationTable.replay(readJournal(textOf(records)).records)
        // The expected conversation, computed by hand from the start of each turn.
        let messages: string[] = []
        const begun = new Map<number, string[]>()
        for (const { fact, turn } of records) {
          if (fact.kind === 'turn_start' || fact.kind === 'revert') begun.set(turn, messages)
          if (fact.kind === 'turn_start') messages = [...messages, messageText(fact.input)]
          if (fact.kind === 'message') messages = [...messages, messageText(fact.message)]
          if (fact.kind === 'compaction') messages = ['summary', ...messages.slice(fact.keep_from)]
          if (fact.kind === 'revert' && fact.scope === 'conversation') messages = begun.get(fact.to_turn)!
        }
        expect(state.messages.map(messageText)).toEqual(messages)
        const steps = records.filter(({ fact }) => fact.kind === 'message').length
        expect([state.turn, state.steps, state.cost, state.open]).toEqual([
          records.at(-1)?.turn ?? 0,
          steps,
          steps,
          undefined,
        ])
      }),
      { numRuns: runs(300) },
    )
  })
})

it('treats calls of the last step as unanswered until all of their results exist', () => {
  const call = (id: string) => ({
    type: 'tool_call' as const,
    call_id: id,
    tool_call_id: id,
    name: 't',
    input: { path: id },
  })
  const state = conversationTable.begin()
  conversationTable.apply(state, { kind: 'turn_start', turn_id: 'tn_1', input: said('user', 'go') }, 1)
  conversationTable.apply(state, { kind: 'message', message: { role: 'assistant', parts: [call('a'), call('b')] } }, 1)
  conversationTable.apply(state, { kind: 'call_start', call_id: 'a', name: 't', input: { path: 'a' }, effects: [] }, 1)
  conversationTable.apply(state, { kind: 'call_end', call_id: 'a', text: '', is_error: false, changed: ['x', 'y'] }, 1)
  expect([
    listUnansweredCalls(state).map(({ call_id }) => call_id),
    [...state.ended.keys()],
    state.touched,
    state.named,
  ]).toEqual([['a', 'b'], ['a'], ['x', 'y'], ['a']])
  conversationTable.apply(state, { kind: 'message', message: { role: 'tool', parts: [] } }, 1)
  expect([listUnansweredCalls(state), state.ended.size, listCalls(state.messages).length, state.steps]).toEqual([
    [],
    0,
    2,
    1,
  ])
})

it('builds a plugin part from its facts, reverts it and copies it into a fork', () => {
  const notes = conversationTable.with<{ notes: string[]; count: number }>({
    begin: () => ({ notes: [], count: 0 }),
    on: {
      note: (state, { text }) =>
        void Object.assign(state, { notes: [...state.notes, `${state.turn} ${text}`], count: state.count + 1 }),
    },
    reverted: ['notes'],
    carried: ({ notes }) => notes.map((text) => ({ kind: 'note', text })),
  })
  const start = (turn: number): { fact: Fact; turn: number } => ({
    fact: { kind: 'turn_start', turn_id: `tn_${turn}`, input: said('user', 'go') },
    turn,
  })
  const records: { fact: Fact; turn: number }[] = [
    start(1),
    { fact: { kind: 'note', text: 'a' }, turn: 1 },
    start(2),
    { fact: { kind: 'note', text: 'b' }, turn: 2 },
  ]
  const state = notes.replay(readJournal(textOf(records)).records)
  expect([state.notes, state.count, notes.listCarriedFacts(state)]).toEqual([
    ['1 a', '2 b'],
    2,
    [
      { kind: 'note', text: '1 a' },
      { kind: 'note', text: '2 b' },
    ],
  ])
  const back = notes.replay(
    readJournal(textOf([...records, { fact: { kind: 'revert', to_turn: 2, scope: 'conversation' }, turn: 3 }])).records,
  )
  expect([back.notes, back.count, back.turn, back.messages.length]).toEqual([['1 a'], 2, 3, 1])
})

describe('input queue', () => {
  const clock = { now: () => 0, sleep: async () => {} }

  it('takes each input once, in order, however often the process dies and the input is sent again', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('add' as const),
        id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        first: fc.boolean(),
      }),
      fc.constantFrom({ kind: 'take' as const }, { kind: 'lose' as const }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const store = createMemoryStore()
        const open = async () => {
          const queue = new Queue(store, clock, createSeededRandom(1))
          await queue.load([])
          return queue
        }
        let queue = await open()
        let [waiting, taken]: string[][] = [[], []]
        for (const one of steps) {
          if (one.kind === 'lose') queue = await open()
          if (one.kind === 'add') {
            await queue.add(`text ${one.id}`, { id: one.id, first: one.first })
            if (!waiting!.includes(one.id) && !taken!.includes(one.id))
              waiting = one.first ? [one.id, ...waiting!] : [...waiting!, one.id]
          }
          if (one.kind === 'take') {
            const message = await queue.next()
            expect(message?.intent_id).toBe(waiting![0])
            if (!message) continue
            await queue.markApplied(message.intent_id!)
            taken = [...taken!, waiting![0]!]
            waiting = waiting!.slice(1)
          }
          expect(queue.pending.map(({ id }) => id)).toEqual(waiting)
        }
        expect(new Set(taken).size).toBe(taken!.length)
      }),
    )
  })
  it('takes no input that the journal has and reports a damaged queue as an error', async () => {
    const store = createMemoryStore()
    const before = new Queue(store, clock, createSeededRandom(1))
    await before.add('one', { id: 'a' })
    await before.add('two', { id: 'b' })
    const after = new Queue(store, clock, createSeededRandom(1))
    await after.load(['a'])
    expect([after.pending.map(({ id }) => id), await after.add('again', { id: 'a' }), after.pending.length]).toEqual([
      ['b'],
      'a',
      1,
    ])
    for (const text of ['', '{}', '{"pending":[{}],"applied":[]}', '{"pending":[]}']) {
      await store.write('queue.json', text)
      await expect(new Queue(store, clock, createSeededRandom(1)).load([])).rejects.toMatchObject({
        code: 'VT_SESSION_CORRUPT',
      })
    }
    const full = new Queue(createMemoryStore(), clock, createSeededRandom(1))
    for (let n = 0; n < 16; n++) await full.add('x')
    await expect(full.add('x')).rejects.toMatchObject({ code: 'VT_LOOP_QUEUE_FULL' })
  })
})
