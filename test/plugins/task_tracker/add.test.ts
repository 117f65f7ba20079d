import { expect, it } from 'vitest'
import { done, exec, off, step, track } from '../../support/tracker.js'

/** The answers of these calls, one a step. */
const answers = async (...calls: ReturnType<typeof track>[]) =>
  (await exec([...calls.map((one) => step(one)), done], [], { settings: off })).first.outputs

it('adds an item at the end or after another one, and refuses a twin', async () => {
  expect(
    await answers(
      track('create', { title: 't', items: ['a', 'b'] }),
      track('add', { item: 'c' }),
      track('add', { item: { description: 'd', verify: 'true' }, after: 1 }),
      track('add', { item: 'a' }),
    ),
  ).toEqual([
    '1 [ ] a\n2 [ ] b',
    '1 [ ] a\n2 [ ] b\n3 [ ] c',
    '1 [ ] a\n2 [ ] d  verify: true\n3 [ ] b\n4 [ ] c',
    expect.stringMatching(/^ERROR VT_INPUT_INVALID: /),
  ])
})
