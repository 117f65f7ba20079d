import { describe, expect, it } from 'vitest'
import { decide, type Circumstances } from '../../../../build/plugins/agent/finish/index.js'
import { type FinishState } from '../../../../build/plugins/agent/task/index.js'

type State = Parameters<typeof decide>[0]
const nothing: State = {
  tracker: undefined,
  goal: undefined,
  verified: undefined,
  changes: 0,
  files_changed: false,
  failures: { all: 0, same: 0, last: '' },
  idle: { turns: 0, now: false },
  continuation: undefined,
  stalled: 0,
  fresh: undefined,
  reminder_due: false,
  blocked: undefined,
  artifacts: {},
  phase: undefined,
  revisions: 0,
  unread_evaluation: undefined,
  unread_refusals: [],
}
const ran = { command: 'npm test', exit_code: 1, timed_out: false, duration_ms: 5, digest: 'd' }
const with_items = (
  ...given: [string, 'pending' | 'in_progress' | 'completed' | 'blocked'][]
): Pick<FinishState, 'tracker'> => ({
  tracker: { title: 't', items: given.map(([description, status]) => ({ description, status })) },
})
const refused = [{ tool: 'unified_file', target: 'a.txt', code: 'VT_POLICY_DENIED' }]
const failed = { failed: { ...ran, says: 'one is red' } }
const around: Circumstances = { refusalsRead: false, on: true, waiting: false, evaluated: false }

describe('finish decision', () => {
  it.each<[string, Partial<State>, Partial<Circumstances>, string]>([
    [
      'reports changes that were not applied, in any case',
      { unread_refusals: refused, ...with_items(['a', 'pending']) },
      { on: false, waiting: true },
      'report',
    ],
    ['reports them once', { unread_refusals: refused }, { refusalsRead: true, on: false }, 'end success'],
    ['ends with open items when the finish loop is off', with_items(['a', 'pending']), { on: false }, 'end success'],
    ['lets a waiting input come first', with_items(['a', 'pending']), { waiting: true }, 'end success'],
    [
      'continues with open items',
      with_items(['a', 'completed'], ['b', 'pending'], ['c', 'in_progress'], ['d', 'blocked']),
      {},
      'continue',
    ],
    [
      'stops after three turns without a call',
      { ...with_items(['a', 'pending']), idle: { turns: 2, now: true } },
      {},
      'end stopped_no_action',
    ],
    [
      'continues after two turns without a call',
      { ...with_items(['a', 'pending']), idle: { turns: 2, now: false } },
      {},
      'continue',
    ],
    [
      'hands off when all open items are blocked',
      with_items(['a', 'completed'], ['b', 'blocked']),
      {},
      'end handed_off',
    ],
    [
      'accepts a passed verification without later changes',
      { verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] }, changes: 3 },
      {},
      'end success',
    ],
    [
      'verifies again after a change',
      { verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] }, changes: 4 },
      {},
      'verify',
    ],
    [
      'verifies again after a failure, also without a change',
      { verified: { kind: 'verified', result: 'failed', commands: [ran], changes: 3, files: [] }, changes: 3 },
      {},
      'verify',
    ],
    ['verifies a complete list', with_items(['a', 'completed']), {}, 'verify'],
    ['verifies an empty list too', {}, {}, 'verify'],
    ['continues after a failed verification', { failures: { all: 1, same: 1, last: '' } }, { ran: failed }, 'continue'],
    [
      'ends at the fourth equal failure',
      { failures: { all: 4, same: 4, last: '' } },
      { ran: failed },
      'end verification_failed',
    ],
    [
      'ends at the eighth failure of any kind',
      { failures: { all: 8, same: 1, last: '' } },
      { ran: failed },
      'end verification_failed',
    ],
    [
      'evaluates verified work of a planned task',
      {
        phase: { phase: 'build', round: 0 },
        verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] },
        changes: 3,
      },
      { evaluated: true },
      'evaluate',
    ],
    [
      'evaluates work that has no verification',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: true, ran: {} },
      'evaluate',
    ],
    [
      'continues instead of an evaluation while steps are open',
      { phase: { phase: 'build', round: 0 }, ...with_items(['a', 'pending']) },
      { evaluated: true },
      'continue',
    ],
    [
      'lets a waiting input come before an evaluation',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: true, waiting: true, ran: {} },
      'end success',
    ],
    ['evaluates no second time', { phase: { phase: 'done', round: 0 } }, { evaluated: true, ran: {} }, 'end success'],
    [
      'evaluates nothing when evaluation is off',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: false, ran: {} },
      'end success',
    ],
    [
      'verifies again when a step names another command',
      {
        verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] },
        changes: 3,
        tracker: { title: 't', items: [{ description: 'a', status: 'completed', verify: ['npm test'] }] },
      },
      {},
      'verify',
    ],
    ['continues after the seventh failure', { failures: { all: 7, same: 3, last: '' } }, { ran: failed }, 'continue'],
    ['ends with success when no command failed', {}, { ran: {} }, 'end success'],
  ])('decides that it %s', (_, state, circumstances, expected) => {
    const decision = decide({ ...nothing, ...state }, { ...around, ...circumstances })
    expect([decision.kind, ...('outcome' in decision ? [decision.outcome] : [])].join(' ')).toBe(expected)
  })

  it('names exactly the open items with their numbers', () => {
    const decision = decide(
      {
        ...nothing,
        ...with_items(['read', 'completed'], ['write', 'pending'], ['ask', 'blocked'], ['test', 'in_progress']),
      },
      around,
    )
    expect(decision).toMatchObject({
      text: 'Open:\n2 [ ] write\n4 [/] test\nContinue with the next. When one cannot be done, mark it blocked and say why.',
    })
  })
  it('shows a hundred open items in at most 400 tokens: the first ones and the number of the rest', () => {
    const { text } = decide(
      {
        ...nothing,
        ...with_items(
          ...Array.from({ length: 100 }, (_, n): [string, 'pending'] => [
            `a step that says a little more, number ${n}`,
            'pending',
          ]),
        ),
      },
      around,
    ) as { text: string }
    expect(text.length).toBeLessThan(1600)
    expect(text).toMatch(/^Open:\n1 \[ \] a step[^]*\nand \d+ more\nContinue with the next\./)
    const huge = decide({ ...nothing, ...with_items(['x'.repeat(300), 'pending'], ['b', 'pending']) }, around) as {
      text: string
    }
    expect(huge.text).toContain('x'.repeat(300))
  })
  it('shows a failed command with its exit status and the end of its output', () => {
    expect(decide({ ...nothing, failures: { all: 1, same: 1, last: '' } }, { ...around, ran: failed })).toMatchObject({
      text: '`npm test` ended with exit code 1. It has to pass.\none is red',
    })
    expect(
      decide(
        { ...nothing },
        { ...around, ran: { failed: { ...ran, exit_code: null, timed_out: true, duration_ms: 900_400, says: '' } } },
      ),
    ).toMatchObject({ text: expect.stringContaining('was stopped after 900 s') })
  })
})
