import { expect, it } from 'vitest'
import { done, exec, off, step, track } from '../../support/tracker.js'

/** The answers of these calls, one a step. */
const answers = async (...calls: ReturnType<typeof track>[]) =>
  (await exec([...calls.map((one) => step(one)), done], [], { settings: off })).first.outputs

it('changes the given fields of one item and refuses an unknown number with the known ones', async () => {
  expect(
    await answers(
      track('create', { title: 't', items: ['a', { description: 'b', verify: 'true' }] }),
      track('update', { index: 2, status: 'in_progress' }),
      track('update', { index: 1, status: 'blocked', outcome: 'no access' }),
      track('update', { index: 3, status: 'completed' }),
      track('update', { index: 1, status: 'finished' }),
    ),
  ).toEqual([
    '1 [ ] a\n2 [ ] b  verify: true',
    '1 [ ] a\n2 [/] b  verify: true',
    expect.stringMatching(/^1 \[!\] a.*\n2 \[\/\] b {2}verify: true$/),
    expect.stringMatching(/^ERROR VT_TASK_INDEX: /),
    expect.stringMatching(/^ERROR VT_INPUT_INVALID: .*status/),
  ])
})
