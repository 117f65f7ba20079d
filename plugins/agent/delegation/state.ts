import type { ChildReport, ChildStatus, Fact } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** A part of the work that an agent has, and what came of it. */
export interface PartEntry {
  readonly child: ChildStatus
  readonly report?: ChildReport
  /** The model has read how it ended. */
  readonly told: boolean
}
/** The parts of the work of a session that agents have. */
export interface DelegationState {
  children: readonly PartEntry[]
}
const mostFacts = 50

export const hasEnded = ({ status }: ChildStatus): boolean => status !== 'queued' && status !== 'running'

export const delegating: StatePart<ConversationState, DelegationState> = {
  begin: () => ({ children: [] }),
  on: {
    child(state, { child, report, told = false }) {
      const before = state.children.find((one) => one.child.id === child.id)
      const kept = report ?? before?.report
      const entry: PartEntry = { child, ...(kept && { report: kept }), told }
      state.children = before ? state.children.map((one) => (one === before ? entry : one)) : [...state.children, entry]
    },
    message(state, { tells }) {
      if (tells === 'reports') state.children = state.children.map((one) => (hasEnded(one.child) ? { ...one, told: true } : one))
    },
  },
  carried: ({ children }): Fact[] => children.flatMap(({ child, report }): Fact[] => (hasEnded(child) ? [{ kind: 'child', child, ...(report && { report }), told: true }] : [])),
  remembered: ({ children }) => {
    const reports = children.flatMap(({ child, report }) => (report ? [{ name: child.agent, report }] : []))
    if (reports.length === 0) return {}
    return {
      grounded_facts: reports.flatMap(({ name, report }) => (report.facts ?? []).map((fact) => ({ fact, source: `subagent:${name}` }))).slice(-mostFacts),
      open_questions: reports.flatMap(({ report }) => report.open_questions ?? []).slice(-mostFacts),
      delegation_notes: reports.map(({ name, report }) => `\`${name}\`: ${report.summary.slice(0, 300)}`).slice(-mostFacts),
    }
  },
}
