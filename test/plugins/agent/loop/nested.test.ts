import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { items, scene } from '../../../support/inside.js'
import { checkLog, checkMessages } from '../../../support/invariants.js'
import { call } from '../../../support/peer.js'

const nested = (depth: number): string =>
  `{"action":"write","path":"a","content":"x","more":${'['.repeat(depth)}${']'.repeat(depth)}}`
const numbersOf = (root: string, id: string): number[] =>
  readFileSync(join(root, '.vtcode/sessions', id, 'messages.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).n)

describe('invalid call arguments', () => {
  it('answers arguments nested thousands deep with a typed error and keeps the journal whole', async () => {
    for (const depth of [65, 5_000, 100_000]) {
      const s = await scene([
        {
          toolCalls: [
            call('unified_file', nested(depth)),
            call('unified_file', { action: 'write', path: 'b', content: 'ok' }),
          ],
        },
        { content: 'one' },
        { content: 'two' },
      ])
      const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void s.events.push(event) })
      expect(await agent.run('go')).toMatchObject({ outcome_code: 'success', text: 'one' })
      await agent.close()
      expect(items(s.events, 'tool_output').map(({ error_code }) => error_code)).toEqual([
        'VT_INPUT_INVALID',
        undefined,
      ])
      expect([await s.booted.read('a'), await s.booted.read('b')]).toEqual([undefined, 'ok'])
      const numbers = numbersOf(s.booted.root, agent.session_id)
      expect(numbers).toEqual(numbers.map((_, index) => index + 1))
      const again = await createAgent(s.booted.kernel, { env: {}, resume: agent.session_id })
      expect(await again.run('on')).toMatchObject({ outcome_code: 'success', text: 'two' })
      await again.close()
      checkLog(s.events)
      for (const { messages } of s.peer.bodies) checkMessages(messages)
    }
  })

  it('answers arguments of five megabytes with a typed error and keeps them out of later requests', async () => {
    const s = await scene([
      {
        toolCalls: [call('unified_file', { action: 'write', path: 'a', content: 'x'.repeat(5_000_000) })],
        how: { chunkSize: 200_000 },
      },
      { content: 'ok' },
      { content: 'Nothing was written.' },
    ])
    expect(await s.run()).toMatchObject({
      outcome_code: 'success',
      not_applied: [{ tool: 'unified_file', target: 'a', code: 'VT_INPUT_TOO_LARGE' }],
    })
    expect(items(s.events, 'tool_output').map(({ error_code }) => error_code)).toEqual(['VT_INPUT_TOO_LARGE'])
    expect(JSON.stringify(s.peer.bodies.at(-1).messages).length).toBeLessThan(100_000)
  })

  it('treats __proto__ and constructor as unknown properties at any depth', async () => {
    const inputs = [
      '{"action":"read","path":"a.txt","__proto__":{"x":1}}',
      '{"action":"read","path":"a.txt","constructor":1}',
      '{"action":"read","__proto__":{"path":"a.txt"}}',
      '{"action":"edit","path":"a.txt","edits":[{"old_str":"a","new_str":"b","__proto__":{"replace_all":true}}]}',
    ]
    const s = await scene([{ toolCalls: inputs.map((text) => call('unified_file', text)) }, { content: 'ok' }], {
      boot: { files: { 'a.txt': 'a\n' } },
    })
    await s.run()
    expect(items(s.events, 'tool_output').map(({ error_code }) => error_code)).toEqual([
      'VT_INPUT_UNKNOWN',
      'VT_INPUT_UNKNOWN',
      'VT_INPUT_UNKNOWN',
      expect.stringMatching(/^VT_INPUT_/),
    ])
    expect(await s.booted.read('a.txt')).toBe('a\n')
  })
})
