import type { RightsLeft } from '../../../core/shapes/index.js'
import type { ChildReport, ChildStatus, Fact } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** A part of the work that an agent has, and what came of it. */
export interface PartEntry {
  readonly child: ChildStatus
  readonly report?: ChildReport
  /** The model has read how it ended. */
  readonly told: boolean
  /** The call that began it. */
  readonly call_id?: string
}
/** The parts of the work of a session that agents have. */
export interface DelegationState {
  children: readonly PartEntry[]
  /** Present where the session does such a part itself: what is left of its rights, whoever opens it, and how many conversations are above it. */
  part: { only: RightsLeft; depth: number } | undefined
}

export const hasEnded = ({ status }: ChildStatus): boolean => status !== 'queued' && status !== 'running'

export const delegating: StatePart<ConversationState, DelegationState> = {
  begin: () => ({ children: [], part: undefined }),
  on: {
    rights(state, { only, depth }) {
      state.part = { only, depth }
    },
    child(state, { child, report, told = false, call_id }) {
      const before = state.children.find((one) => one.child.id === child.id)
      const kept = report ?? before?.report
      const begun = call_id ?? before?.call_id
      const entry: PartEntry = {
        child,
        ...(kept && { report: kept }),
        told,
        ...(begun !== undefined && { call_id: begun }),
      }
      state.children = before ? state.children.map((one) => (one === before ? entry : one)) : [...state.children, entry]
    },
    message(state, { tells }) {
      if (tells === 'reports')
        state.children = state.children.map((one) => (hasEnded(one.child) ? { ...one, told: true } : one))
    },
  },
  carried: ({ children, part }): Fact[] => [
    ...(part ? [{ kind: 'rights' as const, ...part }] : []),
    ...children.flatMap(({ child, report }): Fact[] =>
      hasEnded(child) ? [{ kind: 'child', child, ...(report && { report }), told: true }] : [],
    ),
  ],
  remembered: ({ children }) => {
    const reports = children.flatMap(({ child, report }) => (report ? [{ name: child.agent, report }] : []))
    const touched = children.flatMap(({ child, report }) => [
      ...(report?.touched_files ?? []),
      ...(child.changed_files ?? []),
    ])
    return {
      ...(touched.length > 0 && { touched_files: [...new Set(touched)] }),
      ...(reports.length > 0 && {
        grounded_facts: reports.flatMap(({ name, report }) =>
          (report.facts ?? []).map((fact) => ({ fact, source: `subagent:${name}` })),
        ),
        verification_todo: reports.flatMap(({ name, report }) =>
          (report.verification ?? []).map((check) => `${check} (said by ${name}, not checked)`),
        ),
        open_questions: reports.flatMap(({ report }) => report.open_questions ?? []),
        delegation_notes: reports.map(({ name, report }) => `\`${name}\`: ${report.summary.slice(0, 300)}`),
      }),
    }
  },
}
