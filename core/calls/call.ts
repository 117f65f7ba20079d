import {
  deepFreeze,
  recordedInput,
  toJson,
  problem,
  texts,
  visibleResult,
  type Call,
  type Failure,
  type JsonObject,
  type Notice,
  type Result,
  type RightsLeft,
  type SlotInfo,
} from '../shapes/index.js'
import { LazyAbort, moduleOf } from '../system/index.js'
import {
  answerAs,
  confine,
  constraintOf,
  effectsIn,
  nextFor,
  ownNames,
  partFor,
  placesOf,
  recordedName,
  resolveRequest,
  speak,
  spell,
  worded,
  wordsFor,
  type CallRequest,
  type CallTarget,
  type Spelt,
  type Words,
} from '../input/index.js'
import { exampleFor, reaches } from '../registry/index.js'
import type { OpenWorkspace } from '../workspace/index.js'
import { explanation, judge } from './approve.js'
import {
  callRights,
  narrow,
  type CallOptions,
  type CallRights,
  type Explanation,
  type OnFault,
} from '../contract/index.js'
import { callerOf, type CallRun, type Held, type KernelSessions } from './context.js'
import { execution } from './execute.js'
import type { Generation } from '../generation/index.js'
import type { Pipelines } from './pipelines.js'
import { asFailure, couldChange, failed, nobody, withWayOn } from './refused.js'

const MAX_DEPTH = 4
const RETIRE_MS = 60_000
const ABORT_MS = 2_000

export interface CallerOptions {
  workspace: OpenWorkspace
  sessions: KernelSessions
  surface: string
  report: OnFault
  /** What is left of the rights of every call. */
  only: readonly RightsLeft[] | undefined
  /** The generation that a new call belongs to. */
  current: () => Generation
}
type Requested = CallRequest & { readonly options: CallOptions | undefined }
export interface Caller {
  /** Contract: never rejects. */
  call(request: Requested): Promise<Result>
  /** Contract: never rejects. */
  explain(request: Requested): Promise<Explanation>
  /** Resolves when no call of a generation is left; calls that take longer than a minute are aborted. */
  retire(generation: Generation): Promise<void>
  /** Aborts running calls and refuses new ones. */
  close(): void
}

/** The state that the calls of one kernel share. */
interface Calls extends CallerOptions {
  readonly running: Map<LazyAbort, Generation>
  readonly runs: Map<Call, CallRun>
  readonly pipelines: WeakMap<Generation, Pipelines>
  count: number
  closed: boolean
}
/** One call. `again`: it replaces a call whose input a policy changed; its answer stays in the terms of the alias. */
interface Asked extends CallRequest {
  readonly options: CallOptions
  readonly depth: number
  /** The call that this one is a part of. */
  readonly outer?: Call
  readonly again?: Pick<CallTarget, 'alias'>
  /** A plugin that this call is a part of: it does nothing that the plugin may not. */
  readonly held?: Held
  /** The names of tools for the outer call that this call is a part of. */
  readonly words?: Words
}

interface Checked extends Pick<Spelt, 'notices' | 'silent'> {
  readonly call: Call
  /** The places of the call if anybody has looked at them. */
  readonly judged: () => Call['places'] | undefined
}

/** The calls of one kernel. */
export function createCaller(options: CallerOptions): Caller {
  const calls: Calls = {
    ...options,
    running: new Map(),
    runs: new Map(),
    pipelines: new WeakMap(),
    count: 0,
    closed: false,
  }
  return {
    call: async ({ tool, sent, prepared, options = {} }) =>
      visibleResult(await invoke(calls, { tool, sent, prepared, options, depth: 0 })),
    explain: ({ options = {}, ...request }) => explain(calls, { ...request, options, depth: 0 }),
    async retire(generation) {
      if (await generation.life.over(RETIRE_MS)) return
      for (const [cancel, of] of calls.running) if (of === generation) cancel.abort()
      await generation.life.over(ABORT_MS)
    },
    close() {
      calls.closed = true
      for (const cancel of calls.running.keys()) cancel.abort()
    },
  }
}

/** The stages of a call: resolve → check → pre-policy → execute → post-compaction. No stage runs twice. */
async function invoke(calls: Calls, asked: Asked): Promise<Result> {
  const { tool, again } = asked
  const generation = calls.current()
  const { registry } = generation
  const rights = callRights(generation.settings, asked, calls.only)
  let target: CallTarget | undefined
  let call: Call | undefined
  let run: CallRun | undefined
  let begun = false
  // Made once, when the target is known or cannot be.
  let spoken = asked.words
  const words = () => (spoken ??= wordsFor(registry, target, rights))
  // The plugin that made a nested call goes on by the names of slots.
  const tell = (result: Result) =>
    nextFor(
      result.ok ? result : withWayOn(worded(result, words()), target),
      registry,
      calls.workspace,
      rights,
      asked.depth === 0 ? words() : undefined,
    )
  generation.life.enter()
  try {
    narrow(rights, registry, asked.options)
    target = { ...(await resolveRequest(registry, asked, rights)), ...again }
    const checked = await check(calls, generation, target, asked, rights)
    call = checked.call
    run = start(calls, generation, target.slot.info, checked, asked, words)
    const { prePolicy, execute, postCompaction, answer } =
      calls.pipelines.get(generation) ?? (await pipelinesOf(calls, generation))
    const verdict = await prePolicy.promise(undefined, call)
    if (verdict && 'deny' in verdict && verdict.instead && !again)
      return await reissued(calls, target, verdict.instead, { ...asked, words: words() })
    const refused = await judge(registry, call, run, verdict, answer)
    if (!refused && run.cancel.aborted) throw problem('VT_CALL_ABORTED')
    const beyond = refused
      ? undefined
      : asked.held && call.effects.find((effect) => !asked.held!.effects.includes(effect))
    if (beyond) throw problem('VT_PLUGIN_EFFECT', { id: asked.held!.id, effect: beyond })
    begun = true
    const result =
      refused ?? (await execute.for(call.slot).promise(call)) ?? failed('VT_ACTION_DECLINED', { slot: call.slot })
    const answered = target.alias ? await translated(generation, target.alias, result, call.input) : result
    const whole = withNotices(answered, noticesFor(checked, result, target.alias))
    return await postCompaction.promise(tell(whole), call)
  } catch (error) {
    const result = asFailure(error, !begun && couldChange(generation, tool, target), target)
    call ??= unchecked(calls, target, asked, rights)
    run ??= start(calls, generation, target?.slot.info ?? nobody(call.slot), { call, judged: () => [] }, asked, words)
    const { postCompaction } = calls.pipelines.get(generation) ?? (await pipelinesOf(calls, generation))
    return await postCompaction.promise(tell(result), call)
  } finally {
    run?.end()
    generation.life.leave()
  }
}

/** Repeats the call with the input that a policy requires, as if the caller had sent it; a notice tells the caller. */
async function reissued(
  calls: Calls,
  { slot: { info }, alias }: CallTarget,
  input: JsonObject,
  asked: Asked,
): Promise<Result> {
  const sent = { ...(info.action !== undefined && { action: info.action }), ...input }
  const again = { ...(alias && { alias }) }
  const result = await invoke(calls, { ...asked, prepared: undefined, tool: info.tool, sent, again })
  const { message } = texts('VT_CALL_REISSUED', { slot: info.slot, input: JSON.stringify(input).slice(0, 300) })!
  return withNotices(result, [{ code: 'VT_CALL_REISSUED', message }])
}

/** The verdict of every policy on a call, without making the call. */
async function explain(calls: Calls, asked: Asked): Promise<Explanation> {
  const generation = calls.current()
  const { registry } = generation
  const rights = callRights(generation.settings, asked, calls.only)
  let target: CallTarget | undefined
  let run: CallRun | undefined
  generation.life.enter()
  try {
    narrow(rights, registry, asked.options)
    target = await resolveRequest(registry, asked, rights)
    const checked = await check(calls, generation, target, asked, rights)
    const { call } = checked
    const notes: NonNullable<CallRun['notes']> = []
    run = start(calls, generation, target.slot.info, checked, asked, undefined, notes)
    const { judges } = calls.pipelines.get(generation) ?? (await pipelinesOf(calls, generation))
    const { info, chain } = target.slot
    const would = chain[0] && (await generation.loader.render(chain[0], call.input, info))
    const explained = await explanation(registry, judges, call, notes)
    const hint = explained.hint && speak(explained.hint, wordsFor(registry, target, rights))
    return { ...explained, ...(hint && { hint }), ...(would && { would }) }
  } catch (error) {
    const failure = asFailure(error, couldChange(generation, asked.tool, target), target)
    const {
      error: { message, hint },
    } = worded(failure, wordsFor(registry, target, rights)) as Failure
    return { mode: rights.mode, verdict: 'refused', reason: message, hint, chain: [] }
  } finally {
    run?.end()
    generation.life.leave()
  }
}

/** A call that was refused before it was checked, for the compactors: its answer is shortened and recorded like any other. */
function unchecked(
  calls: Calls,
  target: CallTarget | undefined,
  { tool, sent, options, depth }: Asked,
  { mode, only }: CallRights,
): Call {
  const { slot } = target ?? {}
  const input = recordedInput(sent)
  return deepFreeze({
    id: nextId(calls),
    slot: slot?.info.slot ?? recordedName(tool),
    input,
    given: input,
    effects: slot?.info.effects ?? [],
    places: [],
    mode,
    only,
    session: options.session ?? 'main',
    at: Date.now(),
    caller: callerOf({ options, depth }, calls.surface, target?.alias?.slot.info.slot),
  })
}

const nowhere: Call['places'] = Object.freeze([])
const nextId = (calls: Calls): string => `c${(++calls.count).toString(36)}`

async function check(
  calls: Calls,
  generation: Generation,
  { slot, raw, alias, notices: before = [] }: CallTarget,
  { options, depth }: Asked,
  rights: CallRights,
): Promise<Checked> {
  if (depth > MAX_DEPTH) throw problem('VT_CALL_DEPTH', { limit: MAX_DEPTH, slot: slot.info.slot })
  calls.workspace.refuseMoved()
  const constraint = constraintOf(generation.settings, slot.info)
  const example = () => exampleFor(generation.registry, rights.splitReads, alias?.slot ?? slot)
  const { given, input, notices, silent } = await spell(slot, raw, {
    example,
    constraint,
    said: alias?.given,
    reached: (one) => reaches(generation.registry, rights, one),
  })
  const confined = confine(input, slot.shape, calls.workspace)
  const effects = await effectsIn(slot, input)
  // The first look is the only one, and most reads are judged by nothing that looks.
  let places: Call['places'] | undefined
  const look = () => (places ??= deepFreeze(placesOf(confined, slot.shape, effects, calls.workspace)))
  const call: Call = {
    id: nextId(calls),
    slot: slot.info.slot,
    input: deepFreeze(confined),
    given: deepFreeze(confine(given, slot.shape, calls.workspace)),
    effects: deepFreeze(effects),
    places: effects.some((effect) => effect !== 'read') ? look() : nowhere,
    mode: rights.mode,
    only: rights.only,
    session: options.session ?? 'main',
    at: Date.now(),
    caller: deepFreeze(callerOf({ options, depth }, calls.surface, alias?.slot.info.slot)),
  }
  // An object with a getter is ten times as dear as one without.
  if (!places && slot.shape.paths.length > 0) Object.defineProperty(call, 'places', { get: look })
  return { call: Object.freeze(call), judged: () => places, notices: [...before, ...notices], silent }
}

function start(
  calls: Calls,
  generation: Generation,
  slot: SlotInfo,
  { call, judged }: Pick<Checked, 'call' | 'judged'>,
  { options, depth, held }: Asked,
  words?: () => Words,
  notes?: CallRun['notes'],
): CallRun {
  const cancel = new LazyAbort()
  const abort = () => cancel.abort()
  const { signal, cancel: outer } = options
  if (signal?.aborted || calls.closed) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  const forget = outer?.on(abort)
  calls.running.set(cancel, generation)
  const run: CallRun = {
    slot,
    only: call.only,
    session: calls.sessions.get(call.session),
    cancel,
    options,
    depth,
    notes,
    over: false,
    held,
    places: judged,
    committed: false,
    nest(request, how, by = held) {
      const { only: _, signal: __, ...whole } = options
      const nested = { ...whole, mode: call.mode, ...how, session: call.session, cancel }
      const inherited = { ...(by && { held: by }), ...(words && { words: words() }) }
      return invoke(calls, { ...request, options: nested, depth: depth + 1, outer: call, ...inherited })
    },
    commit(how) {
      if (cancel.aborted && !run.committed) throw problem('VT_CALL_ABORTED')
      run.committed ||= how === 'changing'
    },
    end() {
      run.over = true
      calls.running.delete(cancel)
      calls.runs.delete(call)
      signal?.removeEventListener('abort', abort)
      forget?.()
    },
  }
  calls.runs.set(call, run)
  return run
}

/** Built on the first call of a generation: a program that only lists never loads tapable. */
async function pipelinesOf({ pipelines, runs, report }: Calls, generation: Generation): Promise<Pipelines> {
  const { buildPipelines } = await import('./pipelines.js')
  const built =
    pipelines.get(generation) ??
    buildPipelines(
      generation.registry,
      execution(generation, (call) => runs.get(call)!, report),
      generation.services.host.waits,
    )
  pipelines.set(generation, built)
  return built
}

/** The last step of execute for a call through an alias: its answer in the terms of the alias. */
async function translated(
  { loader }: Generation,
  { slot, part, given }: NonNullable<CallTarget['alias']>,
  result: Result,
  input: JsonObject,
): Promise<Result> {
  if (!moduleOf(slot.primary.manifest) || !result.ok) return answerAs(partFor(slot, part, given, input), result, given)
  const reword = loader.loaded(slot.primary) ?? (await loader.load(slot.primary))
  return toJson(await reword(result, given), { bytes: 32 * 1_048_576 }) as Result
}

/** What is told of the input, in the words of the caller; what nobody asked for only where the answer was cut. */
const noticesFor = ({ notices, silent }: Checked, result: Result, alias: CallTarget['alias']): Notice[] =>
  (isCut(result) ? [...notices, ...silent] : notices).map((notice) =>
    alias ? { ...notice, message: ownNames(alias.part, notice.message) } : notice,
  )

/** Whether an answer was cut. */
const isCut = (result: Result): boolean =>
  result.ok && (result.output['truncated'] === true || result.output['next'] !== undefined)

const withNotices = (result: Result, notices: Notice[]): Result =>
  notices.length ? { ...result, notices: [...notices, ...(result.notices ?? [])] } : result
