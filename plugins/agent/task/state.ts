import { isQuiet, type ArtifactName, type FactOf, type ResetTrigger, type Tracker } from '../base/index.js'
import { artifactFiles, taskFolder } from './task_folder.js'
import { describeEnding } from './ending.js'
import { summarizeTracker } from './tracker.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** The task of a session: its goals, and how far they are proved. */
export interface FinishState {
  tracker: Tracker | undefined
  /** `since`: the turns and the cost, in USD, of the session when the goal was set; `null` for an unknown cost. */
  goal: { text: string; verify: readonly string[]; since: { turns: number; cost: number | null } } | undefined
  verified: FactOf<'verified'> | undefined
  /** The number of finished calls of the model that may change something. */
  changes: number
  /** Files changed since the commands last passed. */
  files_changed: boolean
  /** Failures of the commands since the last input of a person: all, and equal ones in a row. */
  failures: { all: number; same: number; last: string }
  /** Continued turns in a row without a call; `now`: the current turn is one of them. */
  idle: { turns: number; now: boolean }
  /** The text that the harness continues with. */
  continuation: string | undefined
  /** Continued turns in a row that left the tracker unchanged. */
  stalled: number
  /** The reason for a restart of the conversation with the next turn: a person's wish or a compaction. */
  fresh: Exclude<ResetTrigger, 'stall'> | undefined
  /** The model has not read the present tracker and goal. */
  reminder_due: boolean
  /** Digest of the handoff that the model of a later run has not read. */
  blocked: string | undefined
  /** The current texts of the task, stored next to the conversation. */
  artifacts: {
    readonly [Name in ArtifactName]?: { readonly sha256: string; readonly round: number; readonly path?: string }
  }
  /** The phase of a task that is planned, built and evaluated. */
  phase: { readonly phase: FactOf<'phase'>['phase']; readonly round: number } | undefined
  /** Revisions since the last input of a person. */
  revisions: number
  /** Digest of the evaluation that the model has not read. */
  unread_evaluation: string | undefined
}

/** Lists the commands that steps and goal name as proofs, in order, each once. */
export const listNamedCommands = ({ tracker, goal }: Pick<FinishState, 'tracker' | 'goal'>): string[] => [
  ...new Set([...(tracker?.items.flatMap(({ verify = [] }) => verify) ?? []), ...(goal?.verify ?? [])]),
]

/** Returns the last run of the commands if it still counts: no change since, and no new command. */
export function findValidProof({ verified, changes, ...named }: FinishState): FinishState['verified'] {
  const ran = new Set(verified?.commands.map(({ command }) => command))
  return verified?.changes === changes &&
    (verified.result !== 'passed' || listNamedCommands(named).every((command) => ran.has(command)))
    ? verified
    : undefined
}

export const finishPart: StatePart<ConversationState, FinishState> = {
  begin: () => ({
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
  }),
  on: {
    turn_start(state, { input: { origin = 'prompt' } }) {
      const continued = origin === 'harness'
      // Another input came first, so the model has not read the evaluation.
      if (continued && state.continuation !== undefined) state.unread_evaluation = undefined
      state.continuation = undefined
      state.idle = { turns: continued ? state.idle.turns : 0, now: continued }
      state.stalled = continued ? state.stalled + 1 : 0
      if (continued) return
      state.failures = { all: 0, same: 0, last: '' }
      state.revisions = 0
      if (state.phase?.phase === 'done') state.phase = undefined
    },
    turn_end(state, { next }) {
      state.continuation = next
      if (state.idle.now) state.idle = { turns: state.idle.turns + 1, now: false }
    },
    call_start(state) {
      state.idle = { turns: 0, now: false }
    },
    call_end(state, { call_id, changed, is_error, effects = state.started.get(call_id)?.effects ?? [] }) {
      if (!isQuiet(effects)) state.changes += 1
      if (changed || (effects.includes('write') && !is_error)) state.files_changed = true
    },
    tracker(state, { tracker, by }) {
      state.tracker = tracker
      state.stalled = 0
      // The model reads the result of its own call.
      state.reminder_due = by !== 'model'
    },
    goal(state, { text, verify }) {
      Object.assign(state, {
        goal: { text, verify, since: { turns: state.turn, cost: state.cost } },
        reminder_due: true,
      })
    },
    goal_end(state) {
      state.goal = undefined
    },
    verified(state, fact) {
      state.verified = fact
      if (fact.result === 'passed') state.files_changed = false
      if (fact.result !== 'failed') return
      const { command, digest } = fact.commands.at(-1)!
      const last = `${command}\n${digest}`
      const { failures } = state
      state.failures = { all: failures.all + 1, same: failures.last === last ? failures.same + 1 : 1, last }
    },
    artifact(state, { name, sha256, round, path, fresh }) {
      state.artifacts = { ...state.artifacts, [name]: { sha256, round, ...(path !== undefined && { path }) } }
      if (fresh) state.fresh = 'plan_approval'
      if (name === 'blocked') state.blocked = sha256
      if (name === 'evaluation') state.unread_evaluation = sha256
    },
    compaction(state, { reset }) {
      Object.assign(state, reset ? { fresh: undefined, stalled: 0 } : { fresh: state.fresh ?? 'compaction' })
    },
    phase(state, { phase, round }) {
      if (phase === 'build' && state.phase?.phase === 'build') state.revisions += 1
      if (phase !== 'build') state.unread_evaluation = undefined
      state.phase = { phase, round }
    },
    segment(state) {
      state.reminder_due = true
    },
    revert(state) {
      Object.assign(state, { reminder_due: true, continuation: undefined, idle: { turns: 0, now: false } })
    },
    message(state, { tells }) {
      if (tells === 'tracker') state.reminder_due = false
      if (tells === 'blocked') state.blocked = undefined
      if (tells === 'evaluation') state.unread_evaluation = undefined
    },
  },
  reverted: ['tracker', 'goal', 'verified', 'failures', 'artifacts', 'phase', 'revisions', 'unread_evaluation'],
  carried: ({ tracker, goal, artifacts: { plan } }) => [
    ...(tracker ? [{ kind: 'tracker' as const, by: 'model' as const, tracker }] : []),
    ...(goal ? [{ kind: 'goal' as const, text: goal.text, verify: [...goal.verify] }] : []),
    ...(plan ? [{ kind: 'artifact' as const, name: 'plan' as const, ...plan }] : []),
  ],
  remembered: (state) => {
    const { tracker, goal, verified, phase, artifacts } = state
    const held = phase?.phase === 'build' && artifacts.contract !== undefined
    const constraints = [
      ...(goal ? [`Goal: ${goal.text}`] : []),
      ...(held ? [`The work is held to the contract in ${taskFolder}/${artifactFiles.contract}.`] : []),
    ]
    const todo = findValidProof(state)?.result === 'passed' ? [] : listNamedCommands(state)
    return {
      ...(tracker && { task_summary: summarizeTracker(tracker).join('\n') }),
      ...(verified && {
        verification_summary: [
          verified.result,
          ...verified.commands.map((one) => `\`${one.command}\` ${describeEnding(one)}`),
        ].join('\n'),
      }),
      ...(constraints.length > 0 && { constraints }),
      ...(todo.length > 0 && { verification_todo: todo }),
    }
  },
}
