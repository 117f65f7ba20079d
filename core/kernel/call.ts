import { Cancel, failure, first, freeze, moduleOf, notApplied, plain, problem, texts, type Call, type Failure, type JsonObject, type Notice, type Result, type SlotInfo } from '../base/index.js'
import { answerAs, confine, constraintOf, effectsIn, resolve, spell, toolName, withExample, type Spelt, type Target } from '../input/index.js'
import { renamed, slotsOf } from '../registry/index.js'
import type { Workspace } from '../workspace/index.js'
import { explanation, failed, judge } from './approve.js'
import { callerOf, type Run, type Sessions } from './context.js'
import { execution } from './execute.js'
import type { Generation } from './generation.js'
import type { Pipelines } from './pipelines.js'
import type { CallOptions, Explanation } from './types.js'
import type { OnFault } from './uncaught.js'

const MAX_DEPTH = 4
const RETIRE_MS = 60_000
const ABORT_MS = 2_000

export interface CallerOptions {
  workspace: Workspace
  sessions: Sessions
  surface: string
  report: OnFault
  /** The generation that a call which begins now belongs to. */
  current: () => Generation
}
export interface Caller {
  /** Contract: never rejects. */
  call(tool: string, input: unknown, options: CallOptions): Promise<Result>
  /** Contract: never rejects. */
  explain(tool: string, input: unknown, options: CallOptions): Promise<Explanation>
  /** Resolves when no call of a generation is left; those that take longer than a minute are aborted. */
  retire(generation: Generation): Promise<void>
  /** Aborts what runs and refuses what comes. */
  close(): void
}

/** The one way of a call: resolve → check → pre-policy → execute → post-compaction. Nothing goes back. */
export function createCaller({ workspace, sessions, surface, report, current }: CallerOptions): Caller {
  const running = new Map<Cancel, Generation>()
  const runs = new WeakMap<Call, Run>()
  const pipelines = new WeakMap<Generation, Pipelines>()
  let calls = 0
  let closed = false
  const nextId = () => `c${(++calls).toString(36)}`

  /** `again`: the call stands for another one that a policy wants with this input; under an alias its answer is still the alias's. */
  async function invoke(tool: string, sent: unknown, options: CallOptions, depth: number, again?: Pick<Target, 'alias'>): Promise<Result> {
    const generation = current()
    let target: Target | undefined
    let call: Call | undefined
    let run: Run | undefined
    let begun = false
    generation.life.enter()
    try {
      target = { ...(await resolve(generation.registry, tool, sent)), ...again }
      const checked = await check(generation, target, options, depth)
      call = checked.call
      run = start(generation, target.slot.info, call, options, depth)
      const { prePolicy, execute, postCompaction, answer } = pipelines.get(generation) ?? (await build(generation))
      const verdict = await prePolicy.promise(undefined, call)
      if (verdict && 'deny' in verdict && verdict.instead && !again) return await reissued(target, verdict.instead, options, depth)
      const refused = await judge(generation.registry, call, run, verdict, answer)
      if (!refused && run.cancel.aborted) throw problem('VT_CALL_ABORTED')
      begun = true
      const result = refused ?? (await execute.for(call.slot).promise(call)) ?? failed('VT_ACTION_DECLINED', { slot: call.slot })
      const said = target.alias ? await translated(generation, target.alias, result) : result
      return await postCompaction.promise(withNotices(said, isCut(said) ? [...checked.notices, ...checked.silent] : checked.notices), call)
    } catch (error) {
      const result = asFailure(error, !begun && couldChange(generation, tool, target), target)
      call ??= unchecked(tool, sent, target, generation, options, depth)
      run ??= start(generation, target?.slot.info ?? nobody(call.slot), call, options, depth)
      const { postCompaction } = pipelines.get(generation) ?? (await build(generation))
      return await postCompaction.promise(result, call)
    } finally {
      run?.end()
      generation.life.leave()
    }
  }

  /** The call with the input that a policy wants instead, as if it had been made so; whoever made it is told. */
  async function reissued({ slot: { info }, alias }: Target, input: JsonObject, options: CallOptions, depth: number): Promise<Result> {
    const sent = { ...(info.action !== undefined && { action: info.action }), ...input }
    const result = await invoke(info.tool, sent, options, depth, { ...(alias && { alias }) })
    const { message } = texts('VT_CALL_REISSUED', { slot: info.slot, input: JSON.stringify(input).slice(0, 300) })!
    return withNotices(result, [{ code: 'VT_CALL_REISSUED', message }])
  }

  /** Every policy's word on a call that is not made. */
  async function explain(tool: string, sent: unknown, options: CallOptions): Promise<Explanation> {
    const generation = current()
    let target: Target | undefined
    let run: Run | undefined
    generation.life.enter()
    try {
      target = await resolve(generation.registry, tool, sent)
      const { call } = await check(generation, target, options, 0)
      const notes: NonNullable<Run['notes']> = []
      run = start(generation, target.slot.info, call, options, 0, notes)
      const { judges } = pipelines.get(generation) ?? (await build(generation))
      const { info, chain } = target.slot
      const would = chain[0] && (await generation.loader.render(chain[0], call.input, info))
      return { ...(await explanation(generation.registry, judges, call, notes)), ...(would && { would }) }
    } catch (error) {
      const { message, hint } = asFailure(error, couldChange(generation, tool, target), target).error
      return { mode: generation.settings.policy.mode, verdict: 'refused', reason: message, hint, chain: [] }
    } finally {
      run?.end()
      generation.life.leave()
    }
  }

  /** A call that never came to be one, for the compactors: what was refused is shortened and recorded like any other answer. */
  function unchecked(tool: string, sent: unknown, target: Target | undefined, { settings }: Generation, options: CallOptions, depth: number): Call {
    const { slot } = target ?? {}
    const said = readable(sent)
    return freeze({
      id: nextId(),
      slot: slot?.info.slot ?? toolName(String(tool)).slice(0, 80),
      input: said,
      given: said,
      effects: slot?.info.effects ?? [],
      mode: settings.policy.mode,
      session: options.session ?? 'main',
      at: Date.now(),
      caller: callerOf({ options, depth }, surface, target?.alias?.slot.info.slot),
    })
  }

  async function check(generation: Generation, { slot, raw, alias }: Target, options: CallOptions, depth: number): Promise<{ call: Call } & Pick<Spelt, 'notices' | 'silent'>> {
    if (depth > MAX_DEPTH) throw problem('VT_CALL_DEPTH', { limit: MAX_DEPTH, slot: slot.info.slot })
    const constraint = constraintOf(generation.settings, slot.info)
    const { given, input, notices, silent } = await spell(slot, raw, { example: (alias?.slot ?? slot).example, constraint, said: alias?.given })
    const call: Call = {
      id: nextId(),
      slot: slot.info.slot,
      input: confine(input, slot.shape, workspace),
      given: confine(given, slot.shape, workspace),
      effects: await effectsIn(slot, input),
      mode: generation.settings.policy.mode,
      session: options.session ?? 'main',
      at: Date.now(),
      caller: callerOf({ options, depth }, surface, alias?.slot.info.slot),
    }
    return { call: freeze(call), notices, silent }
  }

  function start(generation: Generation, slot: SlotInfo, call: Call, options: CallOptions, depth: number, notes?: Run['notes']): Run {
    const cancel = new Cancel()
    const abort = () => cancel.abort()
    if (options.signal?.aborted || closed) abort()
    else options.signal?.addEventListener('abort', abort, { once: true })
    running.set(cancel, generation)
    const run: Run = {
      slot,
      session: sessions.get(call.session),
      cancel,
      options,
      depth,
      notes,
      over: false,
      nest: (tool, input) => invoke(tool, input, { ...options, session: call.session, signal: cancel.signal }, depth + 1),
      end() {
        run.over = true
        running.delete(cancel)
        options.signal?.removeEventListener('abort', abort)
      },
    }
    runs.set(call, run)
    return run
  }

  /** Built on the first call of a generation: a program that only lists never loads tapable. */
  async function build(generation: Generation): Promise<Pipelines> {
    const { buildPipelines } = await import('./pipelines.js')
    const built = pipelines.get(generation) ?? buildPipelines(generation.registry, execution(generation, (call) => runs.get(call)!, report), generation.lending.host.waits)
    pipelines.set(generation, built)
    return built
  }

  return {
    async call(tool, input, options) {
      const { registry } = current()
      const result = await invoke(tool, input, options, 0)
      return registry.each ? renamed(registry, result) : result
    },
    explain,
    async retire(generation) {
      if (await generation.life.over(RETIRE_MS)) return
      for (const [cancel, of] of running) if (of === generation) cancel.abort()
      await generation.life.over(ABORT_MS)
    },
    close() {
      closed = true
      for (const cancel of running.keys()) cancel.abort()
    },
  }
}

/** Whether an answer stops before its end. */
const isCut = (result: Result): boolean => result.ok && (result.output['truncated'] === true || result.output['next'] !== undefined)

const withNotices = (result: Result, notices: Notice[]): Result =>
  notices.length ? { ...result, notices: [...notices, ...(result.notices ?? [])] } : result

/** The last step of execute for a call through an alias: its answer in the words of the alias. */
async function translated({ loader }: Generation, { slot, part, given }: NonNullable<Target['alias']>, result: Result): Promise<Result> {
  if (!moduleOf(slot.primary.manifest) || !result.ok) return answerAs(part, result, given)
  const reword = loader.loaded(slot.primary) ?? (await loader.load(slot.primary))
  return plain(await reword(result, given), { bytes: 32 * 1_048_576 }) as Result
}

/** The input of a refused call as far as it is data of a size worth keeping. */
function readable(sent: unknown): JsonObject {
  try {
    const said = plain(sent, { bytes: 65_536 })
    return typeof said === 'object' && said !== null && !Array.isArray(said) ? (said as JsonObject) : {}
  } catch {
    return {}
  }
}

/** The contract of a name that nobody serves. */
const nobody = (slot: string): SlotInfo => ({ slot, tool: slot, description: '', effects: [], input: {}, detailed: [], errors: {}, chain: [] })

/** Whether a call could have changed something: of one that came to no slot, by all that its tool can do. */
function couldChange({ registry }: Generation, name: string, target: Target | undefined): boolean {
  const tool = registry.tools.get(toolName(String(name)))
  const slots = target ? [target.slot] : tool ? slotsOf(tool) : []
  return slots.some(({ info }) => info.effects.some((effect) => effect === 'write' || effect === 'exec'))
}

/** What was thrown on the way to the slot, as a value; the example is one of the name that was called. A change was then `prevented`. */
function asFailure(error: unknown, prevented: boolean, target?: Target): Failure {
  const { slot, alias } = target ?? {}
  const known = failure(withExample(error, alias?.slot ?? slot)) ?? failed('VT_CALL_FAILED', { plugin: 'kernel', reason: first(error) })
  if (prevented) known.error = notApplied(known.error)
  return alias ? (answerAs(alias.part, known, alias.given) as Failure) : known
}
