import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { omitUndefined } from '../../../../build/core/shapes/index.js'
import { readTask, toAgentOptions } from '../../../../build/plugins/agent/cli/index.js'

it('turns session flags into agent options and leaves out flags that are not set', () => {
  expect(toAgentOptions({})).toEqual({})
  expect(Object.keys(toAgentOptions({}))).toEqual([])
  const model = (model?: string, provider?: string) => toAgentOptions(omitUndefined({ model, provider })).model
  expect([model('m'), model('m', 'p'), model('p/m', 'p'), model('q/m', 'p'), model(undefined, 'p')]).toEqual([
    'm',
    'p/m',
    'p/m',
    'p/q/m',
    'p',
  ])
  expect([
    toAgentOptions({ resume: 'ses_1' }),
    toAgentOptions({ continue: true }),
    toAgentOptions({ sessionId: 'ses_2', keep: true }),
  ]).toEqual([{ resume: 'ses_1' }, { resume: 'last' }, { session_id: 'ses_2', providers: { session: 'disk' } }])
})

it('reads a task from its words, from stdin, or from both', async () => {
  const task = (words: string[], piped: string, isTTY = false) =>
    readTask(words, { stdin: Object.assign(Readable.from([Buffer.from(piped)]), { isTTY }) } as unknown as Parameters<
      typeof readTask
    >[1])
  expect([
    await task(['fix', 'it'], 'ignored'),
    await task(['-'], ' piped\n'),
    await task([], 'piped'),
    await task([], 'typed', true),
  ]).toEqual(['fix it', 'piped', 'piped', ''])
  expect([await task(['fix', '-'], 'piped'), await task(['fix', '-'], ' \n')]).toEqual([
    'fix\n\n<stdin>\npiped\n</stdin>',
    'fix',
  ])
})
