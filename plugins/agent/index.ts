import { requireKnownOptions, type Mode } from '../../core/shapes/index.js'
import type { Kernel } from '../../core/contract/index.js'
import type { AgentOptions } from './agent_options.js'
import {
  AgentError,
  findHint,
  outcomeTable,
  type ChildStatus as Child,
  type Delta,
  type GoalProgress,
  type RunOutcome,
  type SessionSchedule,
  type ThreadEvent,
  type Tracker,
} from './base/index.js'
import { RunReader } from './events/index.js'
import { noCost } from './ledger/index.js'
import { openThread as openOwnThread } from './open.js'
import { createTaskMessage, type AgentTask } from './session/index.js'
import type { Thread } from './thread.js'

// The published names are short; internal names are unique in the project.
export type { RunContext } from './components/index.js'
export { AgentError }
/** Opens a thread for surfaces, which need its internals. @internal */
export const openThread = openOwnThread
export type { AgentOptions } from './agent_options.js'
export type { AgentTask as Task, GivenImage } from './session/index.js'
export type {
  AgentProviders,
  CallOutcome,
  CallPart,
  ChildStatus as Child,
  CompactTrigger,
  Delta,
  EventBody,
  Fact,
  FileChange,
  FinishReason,
  GivenComponents as Given,
  GroundedFact,
  GoalProgress,
  HarnessEvent,
  ImagePart,
  ImageRef,
  ThreadItem as Item,
  ItemStatus,
  JournalRecord,
  RunLimits as Limits,
  Msg,
  NewThreadItem as NewItem,
  MessageOrigin as Origin,
  RunOutcome as Outcome,
  OutcomeCode,
  MessagePart as Part,
  ProofRun,
  ReasoningPart,
  ResultPart,
  RevertScope,
  SegmentReason,
  Subtype,
  Summary,
  TextPart,
  ThreadEvent,
  PrefixReport,
  TokenBreakdown,
  Tracker,
  TurnCounts,
  Usage,
  Verification,
} from './base/index.js'

/** A conversation with a model that uses the tools of a kernel. */
export interface Agent {
  readonly session_id: string
  /** The model it began with, `<provider>/<model>`. */
  readonly model: string
  /**
   * Gives the agent a task and waits until it is idle. Never rejects for failures of the model or a tool; the outcome
   * reports them. Without a task the run resumes an interrupted turn and the queue. A second run at the same time is
   * refused with VT_SESSION_RUNNING.
   */
  run(task?: string | AgentTask, how?: { signal?: AbortSignal }): Promise<RunOutcome>
  /**
   * Runs a task and yields events and deltas in one order; returns the outcome. A slow reader does not delay the run;
   * a reader that stops ends it.
   */
  stream(
    task?: string | AgentTask,
    how?: { signal?: AbortSignal },
  ): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void>
  /** Shortens the conversation now, keeping above all what `focus` names; `false` if there is nothing to shorten. */
  compact(focus?: string, how?: { signal?: AbortSignal }): Promise<boolean>
  /** Queues an input for the next idle boundary; returns its id. Throws VT_LOOP_QUEUE_FULL, VT_SESSION_CLOSED. */
  followUp(text: string, id?: string): Promise<string>
  /**
   * Ends the active turn, if any, and continues with this input before all pending ones; returns its id. Throws
   * VT_LOOP_QUEUE_FULL.
   */
  steer(text: string, id?: string): Promise<string>
  /** Removes and returns all pending inputs of the queue, the oldest first. Call it only between turns. */
  takeBack(): Promise<string[]>
  /** The mode of the calls that are made from now on. */
  readonly mode: Mode
  /**
   * Sets the mode of this session, also after a resume; returns the mode that the kernel permits. Throws
   * VT_CONFIG_INVALID.
   */
  setMode(mode: Mode): Promise<Mode>
  /** The steps of the current task; `undefined` when there are none. */
  readonly tracker: Tracker | undefined
  /** The goal that the run continues for; `undefined` when there is none. */
  readonly goal: string | undefined
  /** Turns, cost and last verification since the goal was set; `undefined` when there is no goal. */
  readonly goalProgress: GoalProgress | undefined
  /**
   * Sets or replaces the goal of this session, with commands that prove it; `undefined` clears it. Throws
   * VT_CONFIG_INVALID.
   */
  setGoal(text: string | undefined, verify?: readonly string[]): Promise<void>
  /** Scheduled tasks of the session, active while a person uses the chat. */
  readonly tasks: SessionSchedule
  /** The agents that do or did parts of the work, in the order they began. */
  readonly children: readonly Child[]
  /** Pauses before the next request to the model, until `resume`. */
  pause(): void
  resume(): void
  /**
   * Waits for pending writes and closes the agent; `run` then fails with VT_SESSION_CLOSED. Rejects with
   * VT_SESSION_WRITE if a write fails.
   */
  close(): Promise<void>
}

const AGENT_OPTIONS: Readonly<Record<keyof AgentOptions, true>> = {
  model: true,
  env: true,
  surface: true,
  session_id: true,
  resume: true,
  fork: true,
  tools: true,
  only: true,
  limits: true,
  reasoning_effort: true,
  verify: true,
  context: true,
  providers: true,
  io: true,
  quiet: true,
  onEvent: true,
  onDelta: true,
}

/**
 * Creates an agent on a kernel; the kernel does not depend on it. Throws AgentError VT_LLM_NO_MODEL, VT_LLM_AUTH,
 * VT_LLM_UNPRICED, VT_CONFIG_INVALID, VT_SESSION_EXISTS; VtError VT_CONFIG_INVALID.
 */
export async function createAgent(kernel: Kernel, options: AgentOptions = {}): Promise<Agent> {
  // JavaScript callers get no type error for a missing kernel.
  if (typeof (kernel as Partial<Kernel> | undefined)?.call !== 'function') {
    throw new AgentError('VT_CONFIG_INVALID', 'createAgent needs a kernel as its first argument.', {
      hint: 'createAgent(await createKernel({ workspace }), { model })',
    })
  }
  requireKnownOptions('createAgent', options, AGENT_OPTIONS)
  const { thread, close } = await openOwnThread(kernel, options)
  let closed: Promise<void> | undefined
  /** Rejects calls of a closed agent. */
  const requireOpen = async <T>(run: () => Promise<T>): Promise<T> => {
    if (closed) throw createClosedError(thread.session_id)
    return run()
  }
  const runExclusively = createRunLock(thread.session_id)
  const run: Agent['run'] = async (task, { signal = new AbortController().signal } = {}) => {
    if (closed) return thread.refuseRun(createClosedError(thread.session_id))
    return runExclusively(
      async () => {
        const input = await createTaskMessage(thread, task).catch(rethrowUnlessAgentError)
        if (input instanceof AgentError) return thread.refuseRun(input)
        await thread.start()
        await thread.run(input, signal)
        return thread.finish()
      },
      (refusal) => createRefusedOutcome(thread, refusal),
    )
  }
  return {
    session_id: thread.session_id,
    model: thread.connection.model.id,
    run,
    tasks: thread.tasks,
    stream: (task, how) => streamRun(thread, (signal) => run(task, { signal }), how?.signal),
    compact: (focus, { signal = new AbortController().signal } = {}) =>
      requireOpen(() =>
        runExclusively(async () => {
          await thread.start()
          return thread.context
            .compact({ trigger: 'manual', ...(focus !== undefined && { focus }) }, signal)
            .finally(() => thread.finish())
        }),
      ),
    followUp: (text, id) => requireOpen(() => thread.queue.add(text, id === undefined ? {} : { id })),
    steer: (text, id) => requireOpen(() => thread.steer(text, id)),
    takeBack: () => requireOpen(() => thread.queue.takeBack()),
    get mode() {
      return thread.mode
    },
    setMode: (mode) => requireOpen(() => thread.setMode(mode)),
    get tracker() {
      return thread.state.tracker
    },
    get goal() {
      return thread.state.goal?.text
    },
    get goalProgress() {
      return thread.completion.progress
    },
    get children() {
      return thread.delegation.children
    },
    setGoal: (text, verify = []) =>
      requireOpen(() => (text === undefined ? thread.completion.clearGoal() : thread.completion.setGoal(text, verify))),
    pause: () => thread.requests.pause(),
    resume: () => thread.requests.resume(),
    close: () => (closed ??= close()),
  }
}

/** Creates a function that refuses a second run while the first is active. */
function createRunLock(
  session_id: string,
): <T>(run: () => Promise<T>, onRefusal?: (refusal: AgentError) => T) => Promise<T> {
  let busy = false
  return async (run, onRefusal = (refusal) => Promise.reject(refusal) as never) => {
    if (busy)
      return onRefusal(new AgentError('VT_SESSION_RUNNING', `The session ${session_id} already has an active run.`))
    busy = true
    try {
      return await run()
    } finally {
      busy = false
    }
  }
}

/** Creates the outcome of a run that another active run prevents. */
function createRefusedOutcome({ kernel, session_id }: Thread, { code, message, extra }: AgentError): RunOutcome {
  const { subtype, exit_code } = outcomeTable.failed
  const { usage, cost: total_cost_usd } = noCost
  const error = { code, message, hint: extra.hint ?? findHint(kernel, code) }
  return {
    session_id,
    outcome_code: 'failed',
    subtype,
    exit_code,
    text: '',
    usage,
    total_cost_usd,
    num_turns: 0,
    num_requests: 0,
    verified: null,
    error,
  }
}

/** Yields the events and deltas of a run to one reader. */
async function* streamRun(
  { events }: Thread,
  run: (signal: AbortSignal) => Promise<RunOutcome>,
  outer?: AbortSignal,
): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void> {
  const reader = new RunReader()
  const readerStop = new AbortController()
  const unsubscribes = [events.add(reader.event), events.deltas.add(reader.delta)]
  const outcome = run(outer ? AbortSignal.any([outer, readerStop.signal]) : readerStop.signal).finally(() =>
    reader.end(),
  )
  // Prevents an unhandled rejection; `await outcome` below throws the failure.
  outcome.catch(() => {})
  try {
    yield* reader
    return await outcome
  } finally {
    readerStop.abort()
    await outcome.catch(() => {})
    for (const unsubscribe of unsubscribes) unsubscribe()
  }
}

function rethrowUnlessAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error
  throw error
}

const createClosedError = (id: string): AgentError =>
  new AgentError('VT_SESSION_CLOSED', `The agent of the session ${id} is closed.`)
