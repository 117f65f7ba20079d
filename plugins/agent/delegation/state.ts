import type { RightsScope } from '../../../core/shapes/index.js'
import type { ChildReport, ChildStatus, Fact, FactOf } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** A delegated part and its result. */
export interface PartEntry {
  readonly child: ChildStatus
  readonly report?: ChildReport
  /** The model has read the end. */
  readonly isRead: boolean
  /** The call that started the part. */
  readonly call_id?: string
}
/** The delegated parts of a session. */
export interface DelegationState {
  children: readonly PartEntry[]
  /** Present if the session is a delegated part: its rights, and the number of conversations above it. */
  part: { only: RightsScope; depth: number } | undefined
}

/** The mark of the journal for a part whose end the model has read. */
export const IS_READ = { told: true } as const
/** The optional fields of a fact about a part. */
export type ChildEnd = Pick<FactOf<'child'>, 'report' | 'told'>

export const hasEnded = ({ status }: ChildStatus): boolean => status !== 'queued' && status !== 'running'

export const delegationPart: StatePart<ConversationState, DelegationState> = {
  begin: () => ({ children: [], part: undefined }),
  on: {
    rights(state, { only, depth }) {
      state.part = { only, depth }
    },
    child(state, { child, report, told: isRead = false, call_id }) {
      const before = state.children.find((one) => one.child.id === child.id)
      const kept = report ?? before?.report
      const begun = call_id ?? before?.call_id
      const entry: PartEntry = {
        child,
        ...(kept && { report: kept }),
        isRead,
        ...(begun !== undefined && { call_id: begun }),
      }
      state.children = before ? state.children.map((one) => (one === before ? entry : one)) : [...state.children, entry]
    },
    message(state, { tells: reminder }) {
      if (reminder === 'reports')
        state.children = state.children.map((one) => (hasEnded(one.child) ? { ...one, isRead: true } : one))
    },
  },
  carried: ({ children, part }): Fact[] => [
    ...(part ? [{ kind: 'rights' as const, ...part }] : []),
    ...children.flatMap(({ child, report }): Fact[] =>
      hasEnded(child) ? [{ kind: 'child', child, ...(report && { report }), ...IS_READ }] : [],
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
          (report.verification ?? []).map((check) => `${check} (reported by ${name}, not checked)`),
        ),
        open_questions: reports.flatMap(({ report }) => report.open_questions ?? []),
        delegation_notes: reports.map(({ name, report }) => `\`${name}\`: ${report.summary.slice(0, 300)}`),
      }),
    }
  },
}
