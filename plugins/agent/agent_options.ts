import type { RightsScope } from '../../core/shapes/index.js'
import type { Io } from '../../core/contract/index.js'
import type { Delta, EventSink, GivenComponents, RunLimits } from './base/index.js'
import type { RunContext } from './components/index.js'

export interface AgentOptions {
  /** `<provider>/<model>`; default: VTCODE_MODEL of `env`, then `agent.model` of the settings. */
  model?: string
  /** The variables that hold the keys; default: the environment of the process. */
  env?: Record<string, string | undefined>
  /** The name of the surface, for the record. */
  surface?: string
  /** The id of the session that begins, `ses_…`; default: a new one. */
  session_id?: string
  /** Continues a session: its id, or `last`. */
  resume?: string
  /** With `resume`: starts a new session with the whole conversation or with its memory. */
  fork?: 'full_copy' | 'summarized'
  /** `false`: the model gets no tools. */
  tools?: boolean
  /** The limits of the rights of all calls: the model gets no other tools. */
  only?: RightsScope
  /** Limits of this run; they only tighten the settings. */
  limits?: RunLimits
  /** The effort of the model's reasoning; default: `agent.reasoning_effort` of the settings. */
  reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high'
  /** Commands that prove the work before a run succeeds. Naming a command agrees to exactly this command. */
  verify?: readonly string[]
  /** The place of the run; takes precedence over `providers` and the user's settings. Default: `exec`. */
  context?: RunContext
  /** Components, such as approver, clock, random and fetch: one's own, or one of the program's by its name. */
  providers?: GivenComponents
  /** The terminal, for the entries that use one. */
  io?: Io
  /** Shows no progress on the terminal. */
  quiet?: boolean
  /** Gets each event, in order. Contract: awaited. */
  onEvent?: EventSink
  /**
   * Gets the growing texts between the events. Contract: never delays the run. A slow reader gets several deltas
   * joined, a very slow one misses some, and one that throws gets no more.
   */
  onDelta?: (delta: Delta) => void | Promise<void>
}
