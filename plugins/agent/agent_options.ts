import type { RightsLeft } from '../../core/shapes/index.js'
import type { Io } from '../../core/contract/index.js'
import type { Delta, EventSink, GivenComponents, RunLimits } from './base/index.js'
import type { RunContext } from './components/index.js'

export interface AgentOptions {
  /** `<provider>/<model>`; default: VTCODE_MODEL of `env`, then `agent.model` of the settings. */
  model?: string
  /** Where keys are found; default: the environment of the process. */
  env?: Record<string, string | undefined>
  /** Name of the face, for the record. */
  surface?: string
  /** The id of the session that begins, `ses_…`; default: a new one. */
  session_id?: string
  /** Continues a session: its id, or `last`. */
  resume?: string
  /** With `resume`: not that session goes on but a new one, with its whole conversation or with what it remembers. */
  fork?: 'full_copy' | 'summarized'
  /** `false`: the model gets no tools. */
  tools?: boolean
  /** What is left of the rights of its calls: the model is told of no other tools. */
  only?: RightsLeft
  /** Tighter than the settings, for this run. */
  limits?: RunLimits
  /** Commands that prove the work: they run before a run ends well, and whoever names them agrees to exactly these. */
  verify?: readonly string[]
  /** Where the agent runs, which decides whatever `providers` and the user's settings do not; default: `exec`. */
  context?: RunContext
  /** Components, such as approver, clock, random and fetch: one's own, or one of the program's by its name. */
  providers?: GivenComponents
  /** The terminal, for the entries that use one. */
  io?: Io
  /** Shows no progress there. */
  quiet?: boolean
  /** Each event, in order. Contract: awaited. */
  onEvent?: EventSink
  /** What is said between the events, while it is said. Contract: holds nothing up; who is slow gets several joined, who is far behind misses some, who throws gets no more. */
  onDelta?: (delta: Delta) => void | Promise<void>
}
