import {
  deepFreeze,
  toRecordedInput,
  toJson,
  problem,
  renderTexts,
  toVisibleResult,
  type Call,
  type Failure,
  type JsonObject,
  type Notice,
  type Result,
  type RightsScope,
  type SlotInfo,
} from '../shapes/index.js'
import { LazyAbort, findModulePath } from '../system/index.js'
import {
  translateAnswer,
  confineInput,
  findConstraint,
  findEffects,
  translateNextCall,
  replaceFieldNames,
  findAnswerPart,
  listCallPaths,
  toRecordedName,
  resolveRequest,
  renderTemplate,
  normalizeInput,
  renderHints,
  createVocabulary,
  type CallRequest,
  type CallTarget,
  type NormalizedInput,
  type Vocabulary,
} from '../input/index.js'
import { findExample, canReach } from '../registry/index.js'
import type { OpenWorkspace } from '../workspace/index.js'
import { explainVerdicts, enforceVerdict } from './approve.js'
import {
  createCallRights,
  narrowRights,
  type CallOptions,
  type CallRights,
  type Explanation,
  type OnFault,
} from '../contract/index.js'
import { commitRun, describeCaller, type CallRun, type EffectLimit, type KernelSessions } from './context.js'
import { createTaps, allowChange } from './execute.js'
import type { Generation } from '../generation/index.js'
import type { Pipelines } from './pipelines.js'
import { toFailure, couldChange, createFailure, createEmptyInfo, addMissingHint } from './failures.js'

const MAX_DEPTH = 4
const RETIRE_MS = 60_000
const ABORT_MS = 2_000

export interface RunnerOptions {
  workspace: OpenWorkspace
  sessions: KernelSessions
  surface: string
  report: OnFault
  /** The rights that limit every call. */
  only: readonly RightsScope[] | undefined
  /** Returns the generation that a new call belongs to. */
  current: () => Generation
}
type RunnerRequest = CallRequest & { readonly options: CallOptions | undefined }
export interface CallRunner {
  /** Contract: never rejects. */
  call(request: RunnerRequest): Promise<Result>
  /** Contract: never rejects. */
  explain(request: RunnerRequest): Promise<Explanation>
  /** Waits a minute for the calls, then aborts them. Resolves when none is left, or two seconds after the abort. */
  retire(generation: Generation): Promise<void>
  /** Aborts running calls and rejects new ones. */
  close(): void
}

/** The state that the calls of one kernel share. */
interface Calls extends RunnerOptions {
  readonly running: Map<LazyAbort, Generation>
  readonly runs: Map<Call, CallRun>
  readonly pipelines: WeakMap<Generation, Pipelines>
  count: number
  closed: boolean
}
/** One call. `replaces`: the alias of a call whose input a policy changed; the answer uses its names. */
interface InvokeRequest extends CallRequest {
  readonly options: CallOptions
  readonly depth: number
  /** The outer call. */
  readonly outer?: Call
  readonly replaces?: Pick<CallTarget, 'alias'>
  /** The plugin that makes this call, and the effects that it may have. */
  readonly limit?: EffectLimit
  /** Vocabulary to reuse. */
  readonly words?: Vocabulary
}

interface CheckedCall extends Pick<NormalizedInput, 'notices' | 'silent'> {
  readonly call: Call
  /** Returns the paths of the call, if they were resolved before. */
  readonly resolvedPaths: () => Call['places'] | undefined
}

export function createCallRunner(options: RunnerOptions): CallRunner {
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
      toVisibleResult(await invoke(calls, { tool, sent, prepared, options, depth: 0 })),
    explain: ({ options = {}, ...request }) => explainCall(calls, { ...request, options, depth: 0 }),
    async retire(generation) {
      if (await generation.calls.waitForIdle(RETIRE_MS)) return
      for (const [cancel, of] of calls.running) if (of === generation) cancel.abort()
      await generation.calls.waitForIdle(ABORT_MS)
    },
    close() {
      calls.closed = true
      for (const cancel of calls.running.keys()) cancel.abort()
    },
  }
}

/** Runs the stages of a call: resolve → check → pre-policy → execute → post-compaction. No stage runs twice. */
async function invoke(calls: Calls, request: InvokeRequest): Promise<Result> {
  const { tool, replaces } = request
  const generation = calls.current()
  const { registry } = generation
  const rights = createCallRights(generation.settings, request, calls.only)
  let target: CallTarget | undefined
  let call: Call | undefined
  let run: CallRun | undefined
  let begun = false
  // Created on first use: the target is then known, or its resolution failed.
  let vocabulary = request.words
  const words = () => (vocabulary ??= createVocabulary(registry, target, rights))
  // A nested call gets slot names, because plugins call slots by name.
  const render = (result: Result) =>
    translateNextCall(
      result.ok ? result : addMissingHint(renderHints(result, words()), target),
      registry,
      calls.workspace,
      rights,
      request.depth === 0 ? words() : undefined,
    )
  generation.calls.enter()
  try {
    narrowRights(rights, registry, request.options)
    target = { ...(await resolveRequest(generation, request, rights)), ...replaces }
    const checked = await checkCall(calls, generation, target, request, rights)
    call = checked.call
    run = startRun(calls, generation, target.slot.info, checked, request, words)
    const { prePolicy, execute, postCompaction, answer } =
      calls.pipelines.get(generation) ?? (await getPipelines(calls, generation))
    const verdict = await prePolicy.promise(undefined, call)
    if (verdict && 'deny' in verdict && verdict.instead && !replaces)
      return await reissueCall(calls, target, verdict.instead, { ...request, words: words() })
    const refused = await enforceVerdict(registry, call, run, verdict, answer)
    if (!refused && run.cancel.aborted) throw problem('VT_CALL_ABORTED')
    const forbiddenEffect = refused
      ? undefined
      : request.limit && call.effects.find((effect) => !request.limit!.effects.includes(effect))
    if (forbiddenEffect) throw problem('VT_PLUGIN_EFFECT', { id: request.limit!.id, effect: forbiddenEffect })
    begun = true
    const result =
      refused ??
      (await execute.for(call.slot).promise(call)) ??
      createFailure('VT_ACTION_DECLINED', { slot: call.slot })
    const answered = target.alias ? await translateResult(generation, target.alias, result, call.input) : result
    const whole = withNotices(answered, listNotices(checked, result, target.alias))
    return await postCompaction.promise(render(whole), call)
  } catch (error) {
    const result = toFailure(error, !begun && couldChange(generation, tool, target), target)
    call ??= createUncheckedCall(calls, target, request, rights)
    run ??= startRun(
      calls,
      generation,
      target?.slot.info ?? createEmptyInfo(call.slot),
      { call, resolvedPaths: () => [] },
      request,
      words,
    )
    const { postCompaction } = calls.pipelines.get(generation) ?? (await getPipelines(calls, generation))
    return await postCompaction.promise(render(result), call)
  } finally {
    run?.end()
    generation.calls.leave()
  }
}

/** Repeats the call with the input that a policy requires, as if the caller had sent it, with a notice. */
async function reissueCall(
  calls: Calls,
  { slot: { info }, alias }: CallTarget,
  input: JsonObject,
  request: InvokeRequest,
): Promise<Result> {
  const sent = { ...(info.action !== undefined && { action: info.action }), ...input }
  const replaces = { ...(alias && { alias }) }
  const result = await invoke(calls, { ...request, prepared: undefined, tool: info.tool, sent, replaces })
  const { message } = renderTexts('VT_CALL_REISSUED', { slot: info.slot, input: JSON.stringify(input).slice(0, 300) })!
  return withNotices(result, [{ code: 'VT_CALL_REISSUED', message }])
}

/** Returns the verdict of every policy on a call, without making it. */
async function explainCall(calls: Calls, request: InvokeRequest): Promise<Explanation> {
  const generation = calls.current()
  const { registry } = generation
  const rights = createCallRights(generation.settings, request, calls.only)
  let target: CallTarget | undefined
  let run: CallRun | undefined
  generation.calls.enter()
  try {
    narrowRights(rights, registry, request.options)
    target = await resolveRequest(generation, request, rights)
    const checked = await checkCall(calls, generation, target, request, rights)
    const { call } = checked
    const notes: NonNullable<CallRun['notes']> = []
    run = startRun(calls, generation, target.slot.info, checked, request, undefined, notes)
    const { judges } = calls.pipelines.get(generation) ?? (await getPipelines(calls, generation))
    const { info, chain } = target.slot
    const would = chain[0] && (await generation.loader.render(chain[0], call.input, info))
    const explained = await explainVerdicts(registry, judges, call, notes)
    const hint = explained.hint && renderTemplate(explained.hint, createVocabulary(registry, target, rights))
    return { ...explained, ...(hint && { hint }), ...(would && { would }) }
  } catch (error) {
    const failure = toFailure(error, couldChange(generation, request.tool, target), target)
    const {
      error: { message, hint },
    } = renderHints(failure, createVocabulary(registry, target, rights)) as Failure
    return { mode: rights.mode, verdict: 'refused', reason: message, hint, chain: [] }
  } finally {
    run?.end()
    generation.calls.leave()
  }
}

/** Creates the record of a call that was rejected before its check, so that compactors treat its answer as usual. */
function createUncheckedCall(
  calls: Calls,
  target: CallTarget | undefined,
  { tool, sent, options, depth }: InvokeRequest,
  { mode, only }: CallRights,
): Call {
  const { slot } = target ?? {}
  const input = toRecordedInput(sent)
  return deepFreeze({
    id: createId(calls),
    slot: slot?.info.slot ?? toRecordedName(tool),
    input,
    given: input,
    effects: slot?.info.effects ?? [],
    places: [],
    mode,
    only,
    session: options.session ?? 'main',
    at: Date.now(),
    caller: describeCaller({ options, depth }, calls.surface, target?.alias?.slot.info.slot),
  })
}

const NO_PATHS: Call['places'] = Object.freeze([])
const createId = (calls: Calls): string => `c${(++calls.count).toString(36)}`

async function checkCall(
  calls: Calls,
  generation: Generation,
  { slot, raw, alias, notices: before = [] }: CallTarget,
  { options, depth }: InvokeRequest,
  rights: CallRights,
): Promise<CheckedCall> {
  if (depth > MAX_DEPTH) throw problem('VT_CALL_DEPTH', { limit: MAX_DEPTH, slot: slot.info.slot })
  calls.workspace.refuseMoved()
  const constraint = findConstraint(generation.settings, slot.info)
  const example = () => findExample(generation.registry, rights.splitReads, alias?.slot ?? slot)
  const { given, input, notices, silent } = await normalizeInput(slot, raw, {
    example,
    constraint,
    alias,
    isReachable: (one) => canReach(generation.registry, rights, one),
  })
  const view = generation.services.filtered
  const confined = await confineInput(input, slot.shape, view)
  const effects = await findEffects(slot, input)
  // Most reads need none.
  let places: Call['places'] | undefined
  const getPaths = () => (places ??= deepFreeze(listCallPaths(confined, slot.shape, effects, calls.workspace)))
  const call: Call = {
    id: createId(calls),
    slot: slot.info.slot,
    input: deepFreeze(confined),
    given: deepFreeze(await confineInput(given, slot.shape, view)),
    effects: deepFreeze(effects),
    places: effects.some((effect) => effect !== 'read') ? getPaths() : NO_PATHS,
    mode: rights.mode,
    only: rights.only,
    session: options.session ?? 'main',
    at: Date.now(),
    caller: deepFreeze(describeCaller({ options, depth }, calls.surface, alias?.slot.info.slot)),
  }
  // A getter makes an object ten times as expensive.
  if (!places && slot.shape.paths.length > 0) Object.defineProperty(call, 'places', { get: getPaths })
  return { call: Object.freeze(call), resolvedPaths: () => places, notices: [...before, ...notices], silent }
}

function startRun(
  calls: Calls,
  generation: Generation,
  slot: SlotInfo,
  { call, resolvedPaths }: Pick<CheckedCall, 'call' | 'resolvedPaths'>,
  { options, depth, limit, outer }: InvokeRequest,
  words?: () => Vocabulary,
  notes?: CallRun['notes'],
): CallRun {
  const cancel = new LazyAbort()
  const abort = () => cancel.abort()
  const { signal, cancel: parent } = options
  if (signal?.aborted || calls.closed) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  const forget = parent?.on(abort)
  calls.running.set(cancel, generation)
  const run: CallRun = {
    slot,
    call,
    session: calls.sessions.get(call.session),
    cancel,
    options,
    depth,
    notes,
    ended: false,
    limit,
    outer: outer && calls.runs.get(outer),
    waiting: 0,
    places: resolvedPaths,
    committed: false,
    judgeChange: (change) => allowChange(generation, run, change),
    nest(request, how, by = limit) {
      const { only: _, signal: __, origin: ___, ...rest } = options
      const nested = { ...rest, mode: call.mode, ...how, session: call.session, cancel }
      const inherited = { ...(by && { limit: by }), ...(words && { words: words() }) }
      return invoke(calls, { ...request, options: nested, depth: depth + 1, outer: call, ...inherited })
    },
    commit: (how) => commitRun(run, how),
    end() {
      run.ended = true
      calls.running.delete(cancel)
      calls.runs.delete(call)
      signal?.removeEventListener('abort', abort)
      forget?.()
    },
  }
  calls.runs.set(call, run)
  return run
}

/** Builds the pipelines on the first call, so that a program that only lists never loads tapable. */
async function getPipelines({ pipelines, runs, report }: Calls, generation: Generation): Promise<Pipelines> {
  const { buildPipelines } = await import('./pipelines.js')
  const built =
    pipelines.get(generation) ??
    buildPipelines(
      generation.registry,
      createTaps(generation, (call) => runs.get(call)!, report),
      generation.services.host.timeouts,
    )
  pipelines.set(generation, built)
  return built
}

/** Translates the answer of a call through an alias into its terms, the last step of `execute`. */
async function translateResult(
  { loader }: Generation,
  { slot, part, given }: NonNullable<CallTarget['alias']>,
  result: Result,
  input: JsonObject,
): Promise<Result> {
  if (!findModulePath(slot.primary.manifest) || !result.ok)
    return translateAnswer(findAnswerPart(slot, part, given, input), result, given)
  const reword = loader.loaded(slot.primary) ?? (await loader.load(slot.primary))
  return toJson(await reword(result, given), { bytes: 32 * 1_048_576 }) as Result
}

/** Lists the notices about the input, in the terms of the caller; about default limits only if the answer was cut. */
const listNotices = ({ notices, silent }: CheckedCall, result: Result, alias: CallTarget['alias']): Notice[] =>
  (isCut(result) ? [...notices, ...silent] : notices).map((notice) =>
    alias ? { ...notice, message: replaceFieldNames(alias.part, notice.message) } : notice,
  )

const isCut = (result: Result): boolean =>
  result.ok && (result.output['truncated'] === true || result.output['next'] !== undefined)

const withNotices = (result: Result, notices: Notice[]): Result =>
  notices.length ? { ...result, notices: [...notices, ...(result.notices ?? [])] } : result
