import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { resolveHome } from '../../../../build/core/system/index.js'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { fork, readRecords } from '../../../../build/plugins/agent/history/index.js'
import {
  conversationTable,
  formatRecord,
  messageText,
  openStore,
} from '../../../../build/plugins/agent/session/index.js'
import { fc, runs } from '../../../support/property.js'

type Fact = Parameters<typeof formatRecord>[0]
const PARENT = 'ses_PARENT'
const TIME = '2026-01-01T00:00:00.000Z'
const clock = { now: () => Date.parse(TIME), sleep: async () => {} }
const table = conversationTable
const message = (role: 'user' | 'assistant', text: string) => ({ role, parts: [{ type: 'text' as const, text }] })

/** Turns with a prompt and answers; the last one may have no end, as after a kill. */
const turns = fc.array(
  fc.record({ prompt: fc.string({ maxLength: 6 }), answers: fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }) }),
  { minLength: 1, maxLength: 6 },
)
type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never

function factsOf(plan: Turns, open: boolean): { fact: Fact; turn: number }[] {
  return plan.flatMap(({ prompt, answers }, index) => {
    const facts: Fact[] = [
      { kind: 'turn_start', turn_id: `tn_${index + 1}`, input: message('user', `${index} ${prompt}`) },
      ...answers.map((text): Fact => ({ kind: 'message', message: message('assistant', text), cost_usd: 1 })),
      ...(open && index === plan.length - 1 ? [] : [{ kind: 'turn_end', status: 'completed' } as const]),
    ]
    return facts.map((fact) => ({ fact, turn: index + 1 }))
  })
}

async function forked(plan: Turns, open: boolean, mode: Parameters<typeof fork>[3], facts: Fact[] = []) {
  const place = await tempWorkspace()
  const workspace = openWorkspace(place.root, { home: resolveHome({ home: place.home, env: {} }) })
  const all = [...facts.map((fact) => ({ fact, turn: 0 })), ...factsOf(plan, open)]
  const store = await openStore(workspace, PARENT, { must_exist: false })
  const text = all.map(({ fact, turn }, index) => formatRecord(fact, index + 1, turn, TIME, store.mark)).join('')
  await store.append('messages.jsonl', text)
  await store.close()
  await fork(workspace, PARENT, 'ses_FORK', mode, { clock, table })
  const fileOf = (session: string) => join(place.root, '.vtcode/sessions', session, 'messages.jsonl')
  return {
    workspace,
    fileOf,
    parentUnchanged: readFileSync(fileOf(PARENT), 'utf8') === text,
    state: table.replay(await readRecords(workspace, 'ses_FORK')),
    async [Symbol.asyncDispose]() {
      workspace.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

describe('fork', () => {
  it('copies the whole conversation up to the last turn that ended, without its costs', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.boolean(), async (plan, open) => {
        await using made = await forked(plan, open, 'full_copy')
        const { state, parentUnchanged } = made
        const kept = open ? plan.slice(0, -1) : plan
        const texts = kept.flatMap(({ prompt, answers }, index) => [`${index} ${prompt}`, ...answers])
        expect(state.messages.map(messageText)).toEqual(texts)
        expect([state.turn, state.open, state.cost, parentUnchanged]).toEqual([kept.length, undefined, 0, true])
      }),
      { numRuns: runs(20) },
    )
  })

  it('begins a summarized fork with the memory, the summary, the last four prompts and the chosen mode', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.boolean(), async (plan, open) => {
        await using made = await forked(plan, open, 'summarized', [{ kind: 'mode', mode: 'plan', by: 'person' }])
        const [memory, summary, ...prompts] = made.state.messages.map(messageText)
        const kept = open ? plan.slice(0, -1) : plan
        expect(memory).toContain('<session_memory>')
        expect(summary).toContain('<conversation_summary>')
        expect(prompts).toEqual(kept.map(({ prompt }, index) => `${index} ${prompt}`).slice(-4))
        expect([made.state.mode, made.state.cost, made.parentUnchanged]).toEqual(['plan', 0, true])
      }),
      { numRuns: runs(20) },
    )
  })

  it('seals the records for the new session: the journal of the parent is foreign to it', async () => {
    await using made = await forked([{ prompt: 'a', answers: ['b'] }], false, 'full_copy')
    writeFileSync(made.fileOf('ses_FORK'), readFileSync(made.fileOf(PARENT)))
    await expect(readRecords(made.workspace, 'ses_FORK')).rejects.toMatchObject({ code: 'VT_SESSION_FOREIGN' })
  })
})
