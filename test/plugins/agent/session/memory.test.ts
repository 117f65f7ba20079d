import { expect, it } from 'vitest'
import { scene, type Scene } from '../../../support/inside.js'
import { call, type Answer } from '../../../support/peer.js'

const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
const readMemory = async (s: Scene, session: string): Promise<any> =>
  JSON.parse((await s.booted.read(`.vtcode/sessions/${session}/memory.json`))!)

it('keeps the constraints of a prompt and what calls found in the memory of an ordinary run', async () => {
  const s = await scene(
    [
      step(call('unified_search', { action: 'grep', pattern: 'one' })),
      step(call('unified_exec', { action: 'run', command: 'echo begin; echo 3 passed' })),
      step(call('unified_search', { action: 'grep', pattern: 'one' })),
      { content: 'Done.' },
    ],
    { boot: { files: { 'a.txt': 'one\n', 'b.txt': 'one\n' } } },
  )
  const { session_id } = await s.run(
    'Make b.ts. Never use tabs! Keep it short.\n- Do not change a.txt\nMust it be fast? It holds only one class.',
  )
  expect(await readMemory(s, session_id!)).toMatchObject({
    constraints: ['Never use tabs!', 'Do not change a.txt', 'It holds only one class.'],
    grounded_facts: [
      { fact: 'echo begin; echo 3 passed: exit 0', source: 'tool:unified_exec/run' },
      { fact: 'one: 2 matches in 2 files', source: 'tool:unified_search/grep' },
    ],
  })
})

it('keeps the latest five constraints and facts, and no secrets', async () => {
  const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'
  const numbers = Array.from({ length: 7 }, (_, index) => index)
  const s = await scene(
    [
      ...numbers.map((n) => step(call('unified_search', { action: 'grep', pattern: `word${n}` }))),
      { content: 'Done.' },
    ],
    { boot: { files: { 'a.txt': 'one\n' } } },
  )
  const { session_id } = await s.run([...numbers.map((n) => `Never do ${n}.`), `Always use ${secret}.`].join(' '))
  const { constraints, grounded_facts } = await readMemory(s, session_id!)
  expect(constraints).toHaveLength(5)
  expect(constraints[0]).toBe('Never do 3.')
  expect(constraints[4]).toMatch(/^Always use /)
  expect(JSON.stringify(constraints)).not.toContain(secret)
  expect(grounded_facts.map(({ fact }: any) => fact.slice(0, 5))).toEqual(['word2', 'word3', 'word4', 'word5', 'word6'])
})
