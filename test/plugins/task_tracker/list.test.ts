import { expect, it } from 'vitest'
import { done, exec, off, step, track } from '../../support/tracker.js'

/** The answers of these calls, one a step. */
const answers = async (...calls: ReturnType<typeof track>[]) =>
  (await exec([...calls.map((one) => step(one)), done], [], { settings: off })).first.outputs

it('lists all items with their states, and refuses where no tracker is', async () => {
  expect(
    await answers(
      track('list'),
      track('create', { title: 't', items: ['a', 'b'] }),
      track('update', { index: 1, status: 'completed' }),
      track('list'),
    ),
  ).toEqual([
    expect.stringMatching(/^ERROR VT_TASK_INDEX: There is no tracker yet\./),
    '1 [ ] a\n2 [ ] b',
    '1 [x] a\n2 [ ] b',
    '1 [x] a\n2 [ ] b',
  ])
})
