import { resolve } from 'node:path'
import type { Mode, RightsLeft } from '../../core/base/index.js'
import type { Io, Kernel } from '../../core/kernel/index.js'
import { openWorkspace, type Workspace } from '../../core/workspace/index.js'
import { callsFolder } from '../lib/state/index.js'
import {
  AgentError, agentSettings, hintOf, idMaker, outcomeTable, type Delta, type EventSink, type GivenComponents, type GoalProgress, type RunLimits, type RunOutcome,
  type SessionSchedule, type ThreadEvent, type Tracker,
} from './base/index.js'
import { chooseComponents, type RunContext } from './components/index.js'
import { atItsPace, copyTo, RunReader } from './events/index.js'
import { checkPrice, noCost } from './ledger/index.js'
import { connect } from './model/index.js'
import { deriveRecords } from './records/index.js'
import {
  asManifest, closeUnfinished, findSession, finished, finishRevert, foldersThere, forgetSession, fork,
  lastSession, messageOfTask, noteSession, placeOfSession, restore, tidy, validId, type AgentTask, type Restored,
} from './session/index.js'
import { Thread, threadTable } from './thread.js'

// What is published keeps its short names; inside, each name has one meaning in the whole project.
export type { RunContext as Place } from './components/index.js'
export { AgentError }
export type { AgentTask as Task, GivenImage } from './session/index.js'
export type {
  AgentProviders, CallOutcome, CallPart, CompactTrigger, Delta, EventBody, Fact, FileChange, FinishReason, GivenComponents as Given, GroundedFact,
  GoalProgress, HarnessEvent, ImagePart, ImageRef, ThreadItem as Item, ItemStatus, JournalRecord, RunLimits as Limits, Msg, NewThreadItem as NewItem, MessageOrigin as Origin,
  RunOutcome as Outcome, OutcomeCode, MessagePart as Part, ProofRun, ReasoningPart, ResultPart, RevertScope, SegmentReason, Subtype, Summary,
  TextPart, ThreadEvent, TokenBreakdown, Tracker, TurnCounts as TurnLimits, Usage, Verification,
} from './base/index.js'

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
  stream(task?: string | AgentTask, how?: { signal?: AbortSignal }): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void>
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
    throw new AgentError('VT_CONFIG_INVALID', 'createAgent needs a kernel as its first argument.', { hint: 'createAgent(await createKernel({ workspace }), { model })' })
  }
  const { thread, close } = await openThread(kernel, options)
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
        const input = await messageOfTask(thread, task).catch((error: unknown) => asAgentError(error))
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
    run, tasks: thread.tasks,
    stream: (task, how) => readAlong(thread, (signal) => run(task, { signal }), how?.signal),
    compact: (focus, { signal = new AbortController().signal } = {}) =>
      whileOpen(() =>
        alone(async () => {
          await thread.start()
          return thread.context.compact({ trigger: 'manual', ...(focus !== undefined && { focus }) }, signal).finally(() => thread.finish())
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
    setGoal: (text, verify = []) => whileOpen(() => (text === undefined ? thread.completion.clearGoal() : thread.completion.setGoal(text, verify))),
    pause: () => thread.requests.pause(),
    resume: () => thread.requests.resume(),
    close: () => (closed ??= close()),
  }
}

/** Does one thing at a time: while that is under way, another one is refused. */
function oneAtATime(session_id: string): <T>(use: () => Promise<T>, refused?: (refusal: AgentError) => T) => Promise<T> {
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
  return { session_id, outcome_code: 'failed', subtype, exit_code, text: '', usage, total_cost_usd, num_turns: 0, num_requests: 0, verified: null, error }
}

/** What happens in a run, for one reader. */
async function* readAlong({ events }: Thread, run: (signal: AbortSignal) => Promise<RunOutcome>, outer?: AbortSignal): AsyncGenerator<ThreadEvent | Delta, RunOutcome, void> {
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

const closedError = (id: string): AgentError => new AgentError('VT_SESSION_CLOSED', `The agent of the session ${id} is closed.`)

/** The id of a session that is yet to be. Throws VT_SESSION_EXISTS and, for one that is none, VT_CONFIG_INVALID. */
async function free(workspace: Workspace, id: string): Promise<string> {
  if (!/^ses_./.test(id) || !validId(id)) throw new AgentError('VT_CONFIG_INVALID', `'${id}' is no id of a session.`, { hint: 'Such an id is ses_ and letters, digits, - or _ behind it.' })
  if (await workspace.stat(`${callsFolder}/${id}`)) throw new AgentError('VT_SESSION_EXISTS', `There is a session '${id}' already.`)
  return id
}

/** The same for surfaces, which look inside. @internal */
export async function openThread(kernel: Kernel, options: AgentOptions): Promise<{ thread: Thread; close(): Promise<void> }> {
  const env = options.env ?? process.env
  const providers = await chooseComponents({ kernel, env, ...(options.io && { io: options.io }), quiet: options.quiet ?? false }, options.context, options.providers)
  const settings = agentSettings(kernel)
  const connection = await connect(kernel, options.model ?? env['VTCODE_MODEL'] ?? settings.agent.model, providers)
  checkPrice(connection.model, agentSettings(kernel, options.limits).harness)
  const newId = idMaker(providers.clock, providers.random)
  const workspace = openWorkspace(kernel.workspace, kernel)
  try {
    const from = options.resume === 'last' ? await lastSession(workspace, env) : options.resume
    if (from !== undefined) await findSession(workspace, from, env)
    const session_id = from === undefined || options.fork ? await free(workspace, options.session_id ?? newId('ses')) : from
    if (from !== undefined && options.fork) await fork(workspace, from, session_id, options.fork, { clock: providers.clock, table: threadTable })
    const must_exist = from !== undefined
    const before = providers.session.kept ? undefined : await foldersThere(workspace)
    const store = await providers.session.open(workspace, session_id, { must_exist })
    const restored = must_exist ? await restore(store, session_id, threadTable).catch((error: unknown) => store.close().then(() => Promise.reject(error))) : undefined
    if (providers.session.kept && session_id !== from) await noteSession(session_id, workspace.root, env)
    const manifest = restored && asManifest((await store.read('manifest.json')) ?? '')
    const thread = new Thread({
      kernel,
      workspace,
      providers,
      store,
      connection,
      session_id,
      thread_id: restored?.unfinished.thread_id ?? newId('th'),
      surface: options.surface ?? 'agent',
      ...(options.limits && { limits: options.limits }),
      ...(options.only && { only: options.only }),
      ...(options.verify && { finish: { verify: options.verify } }),
      ...(restored && { restored }),
      start_reason: from === undefined ? 'startup' : session_id === from ? 'resume' : 'fork',
      ...(manifest && { manifest }),
      with_tools: options.tools ?? true,
    })
    thread.events.add(providers.logging.open(store))
    if (providers.session.kept) thread.events.add(deriveRecords(placeOfSession(workspace, store, session_id), settings))
    if (settings.harness.event_log_path !== undefined) thread.events.add(copyTo(resolve(kernel.workspace, settings.harness.event_log_path)))
    if (restored) await goOn(thread, restored)
    if (options.onEvent) thread.events.add(options.onEvent)
    if (options.onDelta) thread.events.deltas.add(atItsPace(options.onDelta))
    const close = async () => {
      try {
        await thread.close()
        // Old sessions make room for new ones; that is no reason for a run to fail.
        if (!must_exist && providers.session.kept) await tidy(workspace, settings, { now: providers.clock.now(), env, current: session_id }).catch(() => [])
        if (before) await forgetSession(workspace, session_id, before)
      } finally {
        workspace.close()
      }
    }
    return { thread, close }
  } catch (error) {
    workspace.close()
    throw error
  }
}

/** Ends what the last process left half done, and takes over what waits. */
async function goOn(thread: Thread, { records, unfinished }: Pick<Restored<object>, 'records' | 'unfinished'>): Promise<void> {
  const { kernel, workspace, session_id } = thread
  const reverted = await finishRevert(workspace, session_id, records)
  if (reverted !== undefined) await thread.commit(finished(reverted))
  await closeUnfinished(thread, unfinished)
  await thread.queue.load(thread.state.applied)
  // Whoever goes on and names a mode has the last word.
  const named = kernel.origins().some(({ path, layer }) => path === 'policy.mode' && layer === 'call')
  if (named && thread.state.mode !== undefined) await thread.setMode(kernel.mode())
}
