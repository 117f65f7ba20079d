import type { Mode } from '../../core/shapes/index.js'
import type { Kernel } from '../../core/contract/index.js'
import type { AgentOptions } from './agent_options.js'
import {
  AgentError,
  hintOf,
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

// What is published keeps its short names; inside, each name has one meaning in the whole project.
export type { RunContext as Place } from './components/index.js'
export { AgentError }
/** The same for surfaces, which look inside. @internal */
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
  TokenBreakdown,
  Tracker,
  TurnCounts as TurnLimits,
  Usage,
  Verification,
} from './base/index.js'

/** A conversation with a model that uses the tools of a kernel. */
export interface Agent {
  readonly session_id: string
  /** The model it began with, `<provider>/<model>`. */
  readonly model: string
  /**
   * Gives the agent a task and waits until it is idle. Never rejects for what the model or a tool did; the outcome says it. Without
   * a task it goes on with a turn that was interrupted, and with what is queued. One run at a time: a second one is refused with VT_SESSION_RUNNING.
   */
  run(task?: string | AgentTask, how?: { signal?: AbortSignal }): Promise<RunOutcome>
  /**
   * The same while somebody reads along: events and deltas in one order, from the first look on; what it returns in the end is the outcome.
   * Who reads slowly holds nothing up; who leaves ends the run.
   */
  stream(
    task?: string | AgentTask,
    how?: { signal?: AbortSignal },
  ): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void>
  /** Shortens the conversation now, keeping above all what `focus` names; `false` when there is nothing to win. */
  compact(focus?: string, how?: { signal?: AbortSignal }): Promise<boolean>
  /** Queues an input for the next idle boundary; returns its id. Throws VT_LOOP_QUEUE_FULL, VT_SESSION_CLOSED. */
  followUp(text: string, id?: string): Promise<string>
  /** Ends the turn under way, if there is one, and goes on with this, before all that waits; returns its id. Throws VT_LOOP_QUEUE_FULL. */
  steer(text: string, id?: string): Promise<string>
  /** Takes out of the queue all that waits, the oldest first. To be called while no turn is under way. */
  takeBack(): Promise<string[]>
  /** The mode of the calls that are made from now on. */
  readonly mode: Mode
  /** Chooses it for this session, also when that goes on later; returns what the kernel permits. Throws VT_CONFIG_INVALID. */
  setMode(mode: Mode): Promise<Mode>
  /** The steps of the task under way; `undefined` when there are none. */
  readonly tracker: Tracker | undefined
  /** What the run goes on for until it is met; `undefined` when there is none. */
  readonly goal: string | undefined
  /** Turns, cost and last verification since it was set; `undefined` when there is no goal. */
  readonly goalProgress: GoalProgress | undefined
  /** Sets a goal for this session, with commands that prove it; a second one takes its place, `undefined` clears it. Throws VT_CONFIG_INVALID. */
  setGoal(text: string | undefined, verify?: readonly string[]): Promise<void>
  /** What begins by itself while a person sits at the chat. */
  readonly tasks: SessionSchedule
  /** The agents that do or did parts of the work, in the order they began. */
  readonly children: readonly Child[]
  /** Holds before the next request to the model, until `resume`. */
  pause(): void
  resume(): void
  /** Waits for all that is still being written; a second time it is over already, and `run` says so from then on. Rejects with VT_SESSION_WRITE where that could not be. */
  close(): Promise<void>
}

/** An agent on a kernel, which knows nothing of it. Throws AgentError VT_LLM_NO_MODEL, VT_LLM_AUTH, VT_LLM_UNPRICED, VT_CONFIG_INVALID, VT_SESSION_EXISTS; VtError VT_CONFIG_INVALID. */
export async function createAgent(kernel: Kernel, options: AgentOptions = {}): Promise<Agent> {
  // Those who write JavaScript learn from nobody else what is missing.
  if (typeof (kernel as Partial<Kernel> | undefined)?.call !== 'function') {
    throw new AgentError('VT_CONFIG_INVALID', 'createAgent needs a kernel as its first argument.', {
      hint: 'createAgent(await createKernel({ workspace }), { model })',
    })
  }
  const { thread, close } = await openOwnThread(kernel, options)
  let closed: Promise<void> | undefined
  /** What is asked of an agent that is closed fails like anything else, and touches nothing any more. */
  const whileOpen = async <T>(use: () => Promise<T>): Promise<T> => {
    if (closed) throw closedError(thread.session_id)
    return use()
  }
  const alone = oneAtATime(thread.session_id)
  const run: Agent['run'] = async (task, { signal = new AbortController().signal } = {}) => {
    if (closed) return thread.refused(closedError(thread.session_id))
    return alone(
      async () => {
        const input = await createTaskMessage(thread, task).catch((error: unknown) => asAgentError(error))
        if (input instanceof AgentError) return thread.refused(input)
        await thread.start()
        await thread.run(input, signal)
        return thread.finish()
      },
      (refusal) => refusedRun(thread, refusal),
    )
  }
  return {
    session_id: thread.session_id,
    model: thread.connection.model.id,
    run,
    tasks: thread.tasks,
    stream: (task, how) => readAlong(thread, (signal) => run(task, { signal }), how?.signal),
    compact: (focus, { signal = new AbortController().signal } = {}) =>
      whileOpen(() =>
        alone(async () => {
          await thread.start()
          return thread.context
            .compact({ trigger: 'manual', ...(focus !== undefined && { focus }) }, signal)
            .finally(() => thread.finish())
        }),
      ),
    followUp: (text, id) => whileOpen(() => thread.queue.add(text, id === undefined ? {} : { id })),
    steer: (text, id) => whileOpen(() => thread.steer(text, id)),
    takeBack: () => whileOpen(() => thread.queue.takeBack()),
    get mode() {
      return thread.mode
    },
    setMode: (mode) => whileOpen(() => thread.setMode(mode)),
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
      whileOpen(() => (text === undefined ? thread.completion.clearGoal() : thread.completion.setGoal(text, verify))),
    pause: () => thread.requests.pause(),
    resume: () => thread.requests.resume(),
    close: () => (closed ??= close()),
  }
}

/** Does one thing at a time: while that is under way, another one is refused. */
function oneAtATime(
  session_id: string,
): <T>(use: () => Promise<T>, refused?: (refusal: AgentError) => T) => Promise<T> {
  let busy = false
  return async (use, refused = (refusal) => Promise.reject(refusal) as never) => {
    if (busy) return refused(new AgentError('VT_SESSION_RUNNING', `A run of the session ${session_id} is under way.`))
    busy = true
    try {
      return await use()
    } finally {
      busy = false
    }
  }
}

/** The outcome of a run that did not begin because another one is under way, of which it knows nothing. */
function refusedRun({ kernel, session_id }: Thread, { code, message, extra }: AgentError): RunOutcome {
  const { subtype, exit_code } = outcomeTable.failed
  const { usage, cost: total_cost_usd } = noCost
  const error = { code, message, hint: extra.hint ?? hintOf(kernel, code) }
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

/** What happens in a run, for one reader. */
async function* readAlong(
  { events }: Thread,
  run: (signal: AbortSignal) => Promise<RunOutcome>,
  outer?: AbortSignal,
): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void> {
  const reader = new RunReader()
  const left = new AbortController()
  const off = [events.add(reader.event), events.deltas.add(reader.delta)]
  const outcome = run(outer ? AbortSignal.any([outer, left.signal]) : left.signal).finally(() => reader.end())
  // Who reads hears of a failure at the end.
  outcome.catch(() => {})
  try {
    yield* reader
    return await outcome
  } finally {
    left.abort()
    await outcome.catch(() => {})
    for (const stop of off) stop()
  }
}

function asAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error
  throw error
}

const closedError = (id: string): AgentError =>
  new AgentError('VT_SESSION_CLOSED', `The agent of the session ${id} is closed.`)
