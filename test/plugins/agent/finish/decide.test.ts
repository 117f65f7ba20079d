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
  untold_refusals: [],
}
const ran = { command: 'npm test', exit_code: 1, timed_out: false, duration_ms: 5, digest: 'd' }
const with_items = (
  ...given: [string, 'pending' | 'in_progress' | 'completed' | 'blocked'][]
): Pick<FinishState, 'tracker'> => ({
  tracker: { title: 't', items: given.map(([description, status]) => ({ description, status })) },
})
const refused = [{ tool: 'unified_file', target: 'a.txt', code: 'VT_POLICY_DENIED' }]
const failed = { failed: { ...ran, says: 'one is red' } }
const around: Circumstances = { told: false, on: true, waiting: false, evaluated: false }

describe('what follows an answer', () => {
  it.each<[string, Partial<State>, Partial<Circumstances>, string]>([
    [
      'what was not applied is told, in any case',
      { untold_refusals: refused, ...with_items(['a', 'pending']) },
      { on: false, waiting: true },
      'tell',
    ],
    ['it is told once', { untold_refusals: refused }, { told: true, on: false }, 'end success'],
    ['nothing is done where nobody asked for it', with_items(['a', 'pending']), { on: false }, 'end success'],
    ['what a person said comes first', with_items(['a', 'pending']), { waiting: true }, 'end success'],
    [
      'open items are gone on with',
      with_items(['a', 'completed'], ['b', 'pending'], ['c', 'in_progress'], ['d', 'blocked']),
      {},
      'go on',
    ],
    [
      'three turns without a call are enough',
      { ...with_items(['a', 'pending']), idle: { turns: 2, now: true } },
      {},
      'end stopped_no_action',
    ],
    ['two are not', { ...with_items(['a', 'pending']), idle: { turns: 2, now: false } }, {}, 'go on'],
    ['what is all blocked is handed off', with_items(['a', 'completed'], ['b', 'blocked']), {}, 'end handed_off'],
    [
      'what passed and did not change since is taken',
      { verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] }, changes: 3 },
      {},
      'end success',
    ],
    [
      'what passed before a change is proved again',
      { verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] }, changes: 4 },
      {},
      'verify',
    ],
    [
      'what failed is proved again, also without a change',
      { verified: { kind: 'verified', result: 'failed', commands: [ran], changes: 3, files: [] }, changes: 3 },
      {},
      'verify',
    ],
    ['what is complete is proved', with_items(['a', 'completed']), {}, 'verify'],
    ['nothing to do is proved too', {}, {}, 'verify'],
    ['what failed is gone on with', { failures: { all: 1, same: 1, last: '' } }, { ran: failed }, 'go on'],
    [
      'the same failure for the fourth time is the end',
      { failures: { all: 4, same: 4, last: '' } },
      { ran: failed },
      'end verification_failed',
    ],
    ['and so is the eighth', { failures: { all: 8, same: 1, last: '' } }, { ran: failed }, 'end verification_failed'],
    [
      'work that passed is evaluated where its task is planned',
      {
        phase: { phase: 'build', round: 0 },
        verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] },
        changes: 3,
      },
      { evaluated: true },
      'evaluate',
    ],
    [
      'and so is work that may not be proved, or has no commands',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: true, ran: {} },
      'evaluate',
    ],
    [
      'not while steps are open',
      { phase: { phase: 'build', round: 0 }, ...with_items(['a', 'pending']) },
      { evaluated: true },
      'go on',
    ],
    [
      'not before what a person said',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: true, waiting: true, ran: {} },
      'end success',
    ],
    ['not a second time', { phase: { phase: 'done', round: 0 } }, { evaluated: true, ran: {} }, 'end success'],
    [
      'not where nobody asked for it',
      { phase: { phase: 'build', round: 0 } },
      { evaluated: false, ran: {} },
      'end success',
    ],
    [
      'what passed before a step named another command is proved again',
      {
        verified: { kind: 'verified', result: 'passed', commands: [], changes: 3, files: [] },
        changes: 3,
        tracker: { title: 't', items: [{ description: 'a', status: 'completed', verify: ['npm test'] }] },
      },
      {},
      'verify',
    ],
    ['the seventh is not', { failures: { all: 7, same: 3, last: '' } }, { ran: failed }, 'go on'],
    ['what passed, could not run or was not there is the end', {}, { ran: {} }, 'end success'],
  ])('%s', (_, state, circumstances, expected) => {
    const decision = decide({ ...nothing, ...state }, { ...around, ...circumstances })
    expect([decision.then, ...('outcome' in decision ? [decision.outcome] : [])].join(' ')).toBe(expected)
  })

  it('names exactly the open items, with their numbers', () => {
    const decision = decide(
      {
        ...nothing,
        ...with_items(['read', 'completed'], ['write', 'pending'], ['ask', 'blocked'], ['test', 'in_progress']),
      },
      around,
    )
    expect(decision).toMatchObject({
      text: 'Open:\n2 [ ] write\n4 [/] test\nGo on with the next. When one cannot be done, mark it blocked and say why.',
    })
  })
  it('a hundred open items take no more than 400 tokens: the first of them, and how many more', () => {
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
    expect(text).toMatch(/^Open:\n1 \[ \] a step[^]*\nand \d+ more\nGo on with the next\./)
    const huge = decide({ ...nothing, ...with_items(['x'.repeat(300), 'pending'], ['b', 'pending']) }, around) as {
      text: string
    }
    expect(huge.text).toContain('x'.repeat(300))
  })
  it('shows what failed: the command, how it ended, and the end of what it printed', () => {
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
