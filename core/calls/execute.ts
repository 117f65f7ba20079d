import {
  firstLine,
  markNotApplied,
  copyAnswer,
  problem,
  findResultFault,
  toPluginProblem,
  renderTexts,
  VtError,
  type Call,
  type Contribution,
  type Failure,
  type Problem,
  type Result,
} from '../shapes/index.js'
import { isPromise, findModulePath, Semaphore } from '../system/index.js'
import { compileOutputCheck, type OutputCheck } from '../schema/index.js'
import { createContext, type CallRun } from './context.js'
import type { Generation } from '../generation/index.js'
import type { Taps } from './pipelines.js'
import type { Answerer, ChangeJudge, Compactor, Handler, OnFault, Policy } from '../contract/index.js'

const DEFAULT_SECONDS = 60
const DEFAULT_CONCURRENCY = 8

/**
 * Creates the functions that the taps of one generation call: loaded on first use, limited in time, with checked
 * answers.
 */
export function createTaps(generation: Generation, findRun: (call: Call) => CallRun, report: OnFault): Taps {
  const { loader, services } = generation
  const gates = new Map<Contribution, Semaphore>()

  const loadMain = (contribution: Contribution) => loader.loaded(contribution) ?? loader.load(contribution)

  return {
    async handle(contribution, call) {
      const run = findRun(call)
      // Nested calls skip the queue, because they would wait for their own caller.
      const gate = run.depth > 0 ? undefined : getGate(gates, contribution)
      const turn = gate?.enter()
      if (turn) await turn
      try {
        if (turn && run.cancel.aborted) throw problem('VT_CALL_ABORTED')
        if (call.caller.sandbox === 'strict' && contribution.layer !== 'builtin' && run.slot.effects.includes('exec'))
          throw createUnconfinedError(contribution)
        const main = loader.loaded(contribution) ?? (await loader.load(contribution))
        const { output } = run.slot
        const fits = output && isForeign(contribution) ? await compileOutputCheck(output, contribution) : undefined
        if (call.effects.some((effect) => effect === 'write' || effect === 'exec')) markBegun(run)
        const work = main(call, createContext(services, contribution, run)) as ReturnType<Handler>
        if (isPromise(work)) countHandler(generation, work)
        const result = isPromise(work)
          ? await limitTime(work, run, findTimeLimit(generation, contribution, call), services.host.timeouts.commit)
          : work
        return result === undefined ? undefined : checkAnswer(result, contribution, run, fits)
      } catch (error) {
        if (error instanceof VtError)
          return completeFailure(attributeThrown(error.problem, contribution, run), contribution, run)
        report(contribution, error)
        return completeFailure(
          problem('VT_CALL_FAILED', { plugin: contribution.id, reason: firstLine(error) }).problem,
          contribution,
          run,
        )
      } finally {
        gate?.leave()
      }
    },
    judge(contribution, call) {
      const ask = (main: Policy) => main(call, createContext(services, contribution, findRun(call)))
      const main = loadMain(contribution)
      return isPromise(main) ? main.then(ask) : ask(main as Policy)
    },
    async answer(contribution, request) {
      const answerer = (await loader.loadExport(contribution, 'answer')) as Answerer | undefined
      return answerer?.(request, createContext(services, contribution, findRun(request.call)))
    },
    shrink(contribution, result, call) {
      const ask = (main: Compactor) => main(result, call, createContext(services, contribution, findRun(call)))
      const main = loadMain(contribution)
      return isPromise(main) ? main.then(ask) : ask(main as Compactor)
    },
  }
}

/** Asks the built-in policies about a change by the code of a plugin. Throws VT_POLICY_DENIED. */
export async function allowChange(
  { loader, registry, services }: Generation,
  run: CallRun,
  change: Parameters<ChangeJudge>[0],
): Promise<void> {
  for (const policy of registry.policies.filter(({ layer }) => layer === 'builtin')) {
    const judge = (await loader.loadExport(policy, 'judgeChange')) as ChangeJudge | undefined
    const objection = await judge?.(change, run.call, createContext(services, policy, run))
    if (objection) throw problem('VT_POLICY_DENIED', { ...objection })
  }
}

/**
 * Creates the error for a plugin that starts programs where the settings require a sandbox: only our own commands can
 * be confined.
 */
const createUnconfinedError = ({ id }: Contribution): VtError =>
  problem(
    'VT_PLUGIN_REQUIRES',
    { id, needs: 'to run commands outside of the sandbox, which the settings forbid' },
    {
      hint: 'Run commands in the sandbox with {slot:unified_exec/run}.',
    },
  )

function getGate(gates: Map<Contribution, Semaphore>, contribution: Contribution): Semaphore {
  let gate = gates.get(contribution)
  if (!gate) gates.set(contribution, (gate = new Semaphore(contribution.manifest.concurrency ?? DEFAULT_CONCURRENCY)))
  return gate
}

function findTimeLimit({ registry, settings }: Generation, contribution: Contribution, call: Call): number {
  return (
    settings.plugins.settings[contribution.id]?.timeout_secs ??
    contribution.manifest.timeout_secs ??
    registry.slots.get(call.slot)?.primary.manifest.timeout_secs ??
    DEFAULT_SECONDS
  )
}

function countHandler({ handlers }: Generation, work: Promise<unknown>): void {
  const leave = () => handlers.leave()
  handlers.enter()
  work.then(leave, leave)
}

/**
 * Settles with the work, the time limit or the caller's abort, whichever is first; the signal aborts the handler. After
 * a change neither ends the call: the outcome of the work is the answer, and only work that never ends is abandoned.
 */
function limitTime<T>(work: Promise<T>, run: CallRun, seconds: number, patience: number): Promise<T> {
  const { cancel, slot } = run
  const late = () =>
    problem(
      'VT_CALL_TIMEOUT',
      { slot: slot.slot, seconds },
      run.committed
        ? {
            retryable: false,
            hint: 'The call had started to change something. Check the result before you call again.',
          }
        : {},
    )
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      stop(late())
      cancel.abort()
    }, seconds * 1000)
    const stop = (error: VtError) => {
      clearTimeout(timer)
      if (!run.committed && !run.committedInner) reject(error)
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

/** Marks a call and its outer calls: each of them may have changed something. */
function markBegun(run: CallRun): void {
  for (let one: CallRun | undefined = run; one; one = one.outer) one.begun = true
}

const isForeign = ({ layer }: Contribution): boolean => layer !== 'builtin'

/** Checks a handler's answer. Foreign answers are copied and checked with the contract of their slot. */
function checkAnswer(result: Result, contribution: Contribution, run: CallRun, fits: OutputCheck | undefined): Result {
  const checked = isForeign(contribution) ? copyAnswer(contribution.id, result) : result
  const what = findResultFault(checked)
  if (what !== undefined) throw problem('VT_CALL_BAD_RESULT', { plugin: contribution.id, what })
  if (!checked.ok) return completeFailure(toDeclaredError(checked.error, contribution, run), contribution, run, checked)
  fits?.(checked.output)
  return checked
}

/**
 * Returns an error of a handler if its code is declared by the manifest or the slot, or comes from a nested call;
 * built-in handlers may use all codes.
 */
const toDeclaredError = (error: Problem, contribution: Contribution, { slot, passableCodes }: CallRun): Problem =>
  toPluginProblem(error, contribution.id, (code) => {
    if (!isForeign(contribution))
      return (renderTexts(code) ?? slot.errors[code] ?? contribution.manifest.errors?.[code]) !== undefined
    const own = slot.errors[code] ?? contribution.manifest.errors?.[code]
    return (
      passableCodes?.has(code) === true ||
      (own !== undefined && (!code.startsWith('VT_') || slot.chain.some((id) => id.startsWith('builtin:'))))
    )
  })

/** Treats an error that a module throws as its answer. Errors about a plugin, or thrown by an adapter, are our own. */
const attributeThrown = (error: Problem, contribution: Contribution, run: CallRun): Problem =>
  isForeign(contribution) && findModulePath(contribution.manifest) !== undefined && !error.code.startsWith('VT_PLUGIN_')
    ? toDeclaredError(error, contribution, run)
    : error

/**
 * Completes a failure with the hint and retryability that the slot declares. An aborted call reports whether it had
 * begun. `not_applied` is set only if the plugin or its workspace can guarantee it.
 */
function completeFailure(
  given: Problem,
  { manifest: { atomic, keeps_history } }: Contribution,
  { slot, begun, committed }: CallRun,
  result?: Failure,
): Failure {
  const error =
    given.code === 'VT_CALL_ABORTED' && begun && !(keeps_history && !committed)
      ? problem('VT_CALL_INTERRUPTED').problem
      : given
  const declared = slot.errors[error.code]
  // A slot with `keeps_history` changes files only through its workspace, which knows whether it did.
  const vouched = atomic && (!UNKNOWN_PROGRESS_CODES.has(error.code) || (keeps_history === true && !committed))
  const whole = {
    ...error,
    hint: error.hint || declared?.hint || '',
    retryable: error.retryable || declared?.retryable === true,
  }
  return { ...result, ok: false, error: vouched ? markNotApplied(whole) : whole }
}

/** Codes of a handler that ended without reporting its progress. */
const UNKNOWN_PROGRESS_CODES = new Set([
  'VT_CALL_TIMEOUT',
  'VT_CALL_ABORTED',
  'VT_CALL_INTERRUPTED',
  'VT_CALL_FAILED',
  'VT_CALL_BAD_RESULT',
  'VT_PLUGIN_RESULT',
  'VT_PLUGIN_FAILED',
])
