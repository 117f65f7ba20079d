import {
  firstLine,
  notApplied,
  plainAnswer,
  problem,
  resultFault,
  strangersError,
  texts,
  VtError,
  type Call,
  type Contribution,
  type Failure,
  type Problem,
  type Result,
} from '../shapes/index.js'
import { isPromise, moduleOf, Semaphore } from '../system/index.js'
import { outputCheck, type OutputCheck } from '../schema/index.js'
import { contextOf, type CallRun } from './context.js'
import type { Generation } from '../generation/index.js'
import type { Taps } from './pipelines.js'
import type { Answerer, Compactor, Handler, OnFault, Policy } from '../contract/index.js'

const DEFAULT_SECONDS = 60
const DEFAULT_CONCURRENCY = 8

/** The functions behind the taps of one generation: loaded on first use, limited in time, their answers checked. */
export function execution(generation: Generation, runOf: (call: Call) => CallRun, report: OnFault): Taps {
  const { loader, services } = generation
  const gates = new Map<Contribution, Semaphore>()

  const mainOf = (contribution: Contribution) => loader.loaded(contribution) ?? loader.load(contribution)

  return {
    async handle(contribution, call) {
      const run = runOf(call)
      // Nested calls take no place: they would wait for the place that their own caller holds.
      const gate = run.depth > 0 ? undefined : gateOf(gates, contribution)
      const turn = gate?.enter()
      if (turn) await turn
      try {
        if (turn && run.cancel.aborted) throw problem('VT_CALL_ABORTED')
        if (call.caller.sandbox === 'strict' && contribution.layer !== 'builtin' && run.slot.effects.includes('exec'))
          throw unconfined(contribution)
        const main = loader.loaded(contribution) ?? (await loader.load(contribution))
        const { output } = run.slot
        const fits = output && isForeign(contribution) ? await outputCheck(output, contribution) : undefined
        run.begun ||= call.effects.some((effect) => effect === 'write' || effect === 'exec')
        const work = main(call, contextOf(services, contribution, run)) as ReturnType<Handler>
        if (isPromise(work)) counted(generation, work)
        const result = isPromise(work)
          ? await bounded(work, run, secondsOf(generation, contribution, call), services.host.waits.commit)
          : work
        return result === undefined ? undefined : answer(result, contribution, run, fits)
      } catch (error) {
        if (error instanceof VtError) return complete(thrown(error.problem, contribution, run), contribution, run)
        report(contribution, error)
        return complete(
          problem('VT_CALL_FAILED', { plugin: contribution.id, reason: firstLine(error) }).problem,
          contribution,
          run,
        )
      } finally {
        gate?.leave()
      }
    },
    judge(contribution, call) {
      const ask = (main: Policy) => main(call, contextOf(services, contribution, runOf(call)))
      const main = mainOf(contribution)
      return isPromise(main) ? main.then(ask) : ask(main as Policy)
    },
    async answer(contribution, request) {
      const answerer = (await loader.exported(contribution, 'answer')) as Answerer | undefined
      return answerer?.(request, contextOf(services, contribution, runOf(request.call)))
    },
    shrink(contribution, result, call) {
      const ask = (main: Compactor) => main(result, call, contextOf(services, contribution, runOf(call)))
      const main = mainOf(contribution)
      return isPromise(main) ? main.then(ask) : ask(main as Compactor)
    },
  }
}

/** Where the settings require a sandbox, our own commands run in it; programs that a plugin starts are not confined. */
const unconfined = ({ id }: Contribution): VtError =>
  problem(
    'VT_PLUGIN_REQUIRES',
    { id, needs: 'to run commands outside of the sandbox, and here nothing runs outside of it' },
    {
      hint: 'Run commands in the sandbox with {slot:unified_exec/run}.',
    },
  )

function gateOf(gates: Map<Contribution, Semaphore>, contribution: Contribution): Semaphore {
  let gate = gates.get(contribution)
  if (!gate) gates.set(contribution, (gate = new Semaphore(contribution.manifest.concurrency ?? DEFAULT_CONCURRENCY)))
  return gate
}

function secondsOf({ registry, settings }: Generation, contribution: Contribution, call: Call): number {
  return (
    settings.plugins.settings[contribution.id]?.timeout_secs ??
    contribution.manifest.timeout_secs ??
    registry.slots.get(call.slot)?.primary.manifest.timeout_secs ??
    DEFAULT_SECONDS
  )
}

function counted({ handling }: Generation, work: Promise<unknown>): void {
  const leave = () => handling.leave()
  handling.enter()
  work.then(leave, leave)
}

/**
 * Settles with the work, the time limit or the caller's abort, whichever is first; its signal aborts the handler. Once something was
 * changed neither ends the call: what the work comes to is the answer, and only work that does not come to an end is left behind.
 */
function bounded<T>(work: Promise<T>, run: CallRun, seconds: number, patience: number): Promise<T> {
  const { cancel, slot } = run
  const late = () =>
    problem(
      'VT_CALL_TIMEOUT',
      { slot: slot.slot, seconds },
      run.committed
        ? { retryable: false, hint: 'It had started to change something: check what is there before you call again.' }
        : {},
    )
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      stop(late())
      cancel.abort()
    }, seconds * 1000)
    const stop = (error: VtError) => {
      clearTimeout(timer)
      if (!run.committed) reject(error)
      else timer = setTimeout(() => reject(late()), patience)
    }
    const forget = cancel.on(() => stop(problem('VT_CALL_ABORTED')))
    const end = () => {
      clearTimeout(timer)
      forget()
    }
    work.then(
      (value) => (end(), resolve(value)),
      (error) => (end(), reject(error as Error)),
    )
  })
}

const isForeign = ({ layer }: Contribution): boolean => layer !== 'builtin'

/** Checks a handler's answer. Foreign answers are copied, and held to the contract of their slot. */
function answer(result: Result, contribution: Contribution, run: CallRun, fits: OutputCheck | undefined): Result {
  const checked = isForeign(contribution) ? plainAnswer(contribution.id, result) : result
  const what = resultFault(checked)
  if (what !== undefined) throw problem('VT_CALL_BAD_RESULT', { plugin: contribution.id, what })
  if (!checked.ok) return complete(declared(checked.error, contribution, run), contribution, run, checked)
  fits?.(checked.output)
  return checked
}

/** An error of a handler with a code that is its own to use: what its manifest or its slot declares, or what it was told itself; our own handlers have all of ours. */
const declared = (error: Problem, contribution: Contribution, { slot, told }: CallRun): Problem =>
  strangersError(error, contribution.id, (code) => {
    if (!isForeign(contribution))
      return (texts(code) ?? slot.errors[code] ?? contribution.manifest.errors?.[code]) !== undefined
    const own = slot.errors[code] ?? contribution.manifest.errors?.[code]
    return (
      told?.has(code) === true ||
      (own !== undefined && (!code.startsWith('VT_') || slot.chain.some((id) => id.startsWith('builtin:'))))
    )
  })

/** What a module throws is its answer; what is thrown about a plugin, or by an adapter, is ours. */
const thrown = (error: Problem, contribution: Contribution, run: CallRun): Problem =>
  isForeign(contribution) && moduleOf(contribution.manifest) !== undefined && !error.code.startsWith('VT_PLUGIN_')
    ? declared(error, contribution, run)
    : error

/** A failure with the hint and retryability that the slot declares. An abort means that nothing changed, else it says that it had begun; `not_applied` only where the plugin, or its workspace, may vouch for it. */
function complete(
  told: Problem,
  { manifest: { atomic, keeps_history } }: Contribution,
  { slot, begun, committed }: CallRun,
  result?: Failure,
): Failure {
  const error =
    told.code === 'VT_CALL_ABORTED' && begun && !(keeps_history && !committed)
      ? problem('VT_CALL_INTERRUPTED').problem
      : told
  const declared = slot.errors[error.code]
  // What keeps what it replaces changes files through its workspace alone, which knows whether it came to that.
  const vouched = atomic && (!halfWay.has(error.code) || (keeps_history === true && !committed))
  const whole = {
    ...error,
    hint: error.hint || declared?.hint || '',
    retryable: error.retryable || declared?.retryable === true,
  }
  return { ...result, ok: false, error: vouched ? notApplied(whole) : whole }
}

/** The handler ended without telling how far it came. */
const halfWay = new Set([
  'VT_CALL_TIMEOUT',
  'VT_CALL_ABORTED',
  'VT_CALL_INTERRUPTED',
  'VT_CALL_FAILED',
  'VT_CALL_BAD_RESULT',
  'VT_PLUGIN_RESULT',
  'VT_PLUGIN_FAILED',
])
