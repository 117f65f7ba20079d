import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createDiagnostic as diagnose,
  firstLine,
  renderTexts,
  VtError,
  type Contribution,
  type Diagnostic,
  type PreparedCall,
} from '../shapes/index.js'
import { QUIET_MS, watchFiles } from '../documents/index.js'
import { prepareCall, type CallRequest } from '../input/index.js'
import { validateRights } from '../registry/index.js'
import type { Skill } from '../skills/index.js'
import type { OpenWorkspace } from '../workspace/index.js'
import { createCallRunner, KernelSessions, type CallRunner } from '../calls/index.js'
import {
  ActivatedSkills,
  buildGeneration,
  findNewlyBroken,
  findReloadObjection,
  type Generation,
  type GenerationSources,
} from '../generation/index.js'
import type { Kernel, KernelOptions } from '../contract/index.js'

const MAX_FAULTS = 200
/** Time for handlers of aborted calls to clean up when the kernel closes. */
const SETTLE_MS = 500
/** Number of generations with calls in flight, including the present one; a further reload waits. */
const MAX_ALIVE = 3

export interface KernelState {
  readonly options: KernelOptions
  readonly workspace: OpenWorkspace
  readonly sessions: KernelSessions
  readonly skills: ActivatedSkills
  readonly callRunner: CallRunner
  readonly sources: GenerationSources
  /** Diagnostics since the generation started, by message. */
  readonly faults: Map<string, Diagnostic>
  /** Listeners for new generations, and for changed resources. */
  readonly listeners: Set<() => void>
  readonly watchers: Set<(uri: string) => void>
  /** Generations with unfinished calls. */
  readonly retiring: Set<Promise<void>>
  generation: Generation
  /** Settles with the last requested generation; they are built in order. */
  queue: Promise<unknown>
  closed: boolean
  /** A requested generation has not been started. */
  isReloadRequested: boolean
  /** Aborted when the kernel closes, or when its first generation is cancelled. */
  readonly stopping: AbortController
  /** Settles when the running deferred work is done; absent when none runs. */
  deferredWork?: Promise<void> | undefined
  stopWatching?: (() => void) | undefined
}
type Reload = Awaited<ReturnType<Kernel['reload']>>

/**
 * Completes workspace changes that a killed process left unfinished, and builds the first generation. Throws
 * VT_CONFIG_*.
 */
export async function startKernel(options: KernelOptions, workspace: OpenWorkspace): Promise<KernelState> {
  const sessions = new KernelSessions()
  const only = options.only?.map(validateRights)
  const stopping = new AbortController()
  const current = () => running.generation
  const report: GenerationSources['report'] = (contribution, error) => recordFault(running, contribution, error)
  const running: KernelState = {
    options,
    workspace,
    sessions,
    faults: new Map(),
    listeners: new Set(),
    watchers: new Set(),
    retiring: new Set(),
    closed: false,
    isReloadRequested: false,
    stopping,
    // Set before anything here uses them.
    generation: undefined!,
    queue: undefined!,
    callRunner: createCallRunner({ workspace, sessions, only, surface: options.surface ?? 'library', report, current }),
    skills: new ActivatedSkills({
      current,
      build: (more) => build(running, current().number + 1, more),
      enter: (next) => !running.closed && activateGeneration(running, next),
    }),
    sources: {
      options,
      workspace,
      report,
      diagnostics: () => listDiagnostics(running),
      changed: (uri) => running.watchers.forEach((notify) => notify(uri)),
      stopping: stopping.signal,
      only,
      renew: () => void requestReload(running),
      resolve: (tool, sent) => prepare(running, { tool, sent }),
      activateSkill: (skill, { id }) => enqueue(running, () => running.skills.activate(skill, id)),
    },
  }
  await workspace.recover().catch(({ problem: { code, message, hint } }: VtError) => {
    running.faults.set(message, {
      code,
      severity: 'error',
      message,
      hint,
      files: [join(workspace.root, '.vtcode/journal')],
    })
  })
  const giveUp = () => stopping.abort()
  if (options.signal?.aborted) giveUp()
  else options.signal?.addEventListener('abort', giveUp, { once: true })
  const made = build(running, 1).finally(() => options.signal?.removeEventListener('abort', giveUp))
  // A server may request the next generation while the first is built: the request waits, for ever if there is no
  // first.
  running.queue = made.catch(() => new Promise(() => {}))
  running.generation = await made
  updateFileWatch(running)
  return running
}

export const listDiagnostics = ({ generation, faults, workspace }: KernelState): Diagnostic[] => [
  ...generation.registry.diagnostics,
  ...faults.values(),
  ...listForeignState(workspace),
]

/** Reports files that were moved out of our own state in one diagnostic. */
const listForeignState = ({ root, quarantined: foreign }: OpenWorkspace): Diagnostic[] =>
  [...foreign].slice(0, 1).map(([path, movedTo]) =>
    diagnose(
      'VT_STATE_FOREIGN',
      { path, others: foreign.size > 1 ? ` (and ${foreign.size - 1} more)` : '', moved_to: movedTo },
      [...foreign.values()].map((place) => join(root, place)),
      'warning',
    ),
  )

function recordFault({ faults }: KernelState, { id, file }: Contribution, error: unknown): void {
  const known =
    error instanceof VtError
      ? error.problem
      : { code: 'VT_PLUGIN_CRASHED', ...renderTexts('VT_PLUGIN_CRASHED', { id, reason: firstLine(error) })! }
  const { code, message, hint } = known
  if (faults.size < MAX_FAULTS) faults.set(message, { code, severity: 'error', message, hint, files: [file] })
}

const build = ({ sources, skills }: KernelState, number: number, more: readonly Skill[] = []): Promise<Generation> =>
  buildGeneration(sources, number, [...skills.all(), ...more])

/** Resolves a call with the present generation, again if that changed meanwhile. */
export async function prepare(running: KernelState, request: CallRequest): Promise<PreparedCall | undefined> {
  const { generation } = running
  const prepared = await prepareCall(generation.registry, request)
  return generation === running.generation ? prepared : prepare(running, request)
}

/** Runs tasks one after the other. Contract: `run` does not reject. */
function enqueue<T>(running: KernelState, run: () => Promise<T>): Promise<T> {
  const next = running.queue.then(run)
  running.queue = next
  return next
}

/** Builds and activates the next generation, when the number of generations allows it. */
export async function reload(running: KernelState, begun = (): unknown => undefined): Promise<Reload> {
  // Waits outside the queue: a call that activates a skill waits for the queue, and a generation for its calls.
  while (running.retiring.size >= MAX_ALIVE - 1) await Promise.race(running.retiring)
  return enqueue(running, () => {
    begun()
    return swapGeneration(running)
  })
}

/** Requests the next generation; several requests before its start are one. */
async function requestReload(running: KernelState): Promise<void> {
  if (running.isReloadRequested) return
  running.isReloadRequested = true
  await reload(running, () => (running.isReloadRequested = false)).finally(() => (running.isReloadRequested = false))
}

/** Runs deferred work of adapters, all of it or the quick part, and builds the next generation with the results. */
export function runDeferredWork(running: KernelState, quickly = false): Promise<void> {
  const { later } = running.generation
  const works = later.filter(({ quick }) => quick || !quickly)
  later.splice(0, later.length, ...later.filter((one) => !works.includes(one)))
  if (works.length === 0) return running.deferredWork ?? Promise.resolve()
  const settled = Promise.allSettled([running.deferredWork, ...works.map(({ work }) => work())])
    .then(() => reload(running))
    .then(() => {
      if (running.deferredWork === settled) running.deferredWork = undefined
    })
  return (running.deferredWork = settled)
}

/** Prepares a call. An unknown name waits for deferred work, a call that lists tools for the quick part. */
export async function prepareAfterLoading(
  running: KernelState,
  request: CallRequest,
  signal: AbortSignal | undefined,
): Promise<PreparedCall | undefined> {
  const found = await prepare(running, request)
  const listsTools =
    found !== undefined &&
    running.generation.registry.slots.get(found.slot.slot)?.primary.manifest.tells_of_tools === true
  if (found && !(listsTools && running.generation.later.some(({ quick }) => quick))) return found
  const over = new AbortController()
  const aborted = new Promise<void>((resolve) =>
    signal?.addEventListener('abort', () => resolve(), { once: true, signal: over.signal }),
  )
  if (!signal?.aborted) await Promise.race([runDeferredWork(running, listsTools), aborted])
  over.abort()
  return found
}

/** Builds and activates the next generation. One that cannot be built, or would lose a guard, is refused. */
async function swapGeneration(running: KernelState): Promise<Reload> {
  if (running.closed) return { ok: false, generation: running.generation.number, diagnostics: [] }
  const refuse = (reason: string): Reload => ({
    ok: false,
    generation: running.generation.number,
    diagnostics: [createRefusal(reason)],
  })
  try {
    const next = await build(running, running.generation.number + 1)
    const objection = await findReloadObjection(next, running.generation)
    if (objection !== undefined) {
      await next.end()
      return refuse(objection)
    }
    activateGeneration(running, next)
  } catch (error) {
    return refuse(firstLine(error))
  }
  return { ok: true, generation: running.generation.number, diagnostics: listDiagnostics(running) }
}

/** Reloads after a change of files, twice if it fails: the change may be half written. */
async function reloadAfterChange(running: KernelState): Promise<void> {
  const recordRefusal = (reason: string) => void running.faults.set('reload', createRefusal(reason))
  for (const last of [false, true]) {
    if (running.closed) return
    try {
      const next = await build(running, running.generation.number + 1)
      const objection =
        findNewlyBroken(next, running.generation) ?? (await findReloadObjection(next, running.generation))
      if (objection === undefined) return void activateGeneration(running, next)
      await next.end()
      if (last) recordRefusal(objection)
    } catch (error) {
      if (last) recordRefusal(firstLine(error))
    }
    if (!last) await sleep(QUIET_MS)
  }
}

const createRefusal = (reason: string): Diagnostic => diagnose('VT_RELOAD_REFUSED', { reason }, [])

function activateGeneration(running: KernelState, next: Generation): true {
  retire(running, running.generation)
  running.generation = next
  running.faults.clear()
  updateFileWatch(running)
  for (const notify of running.listeners) notify()
  return true
}

/** Retires a generation: its calls finish, then its adapters release their resources. */
function retire({ callRunner, retiring }: KernelState, old: Generation): void {
  const gone = callRunner.retire(old).then(old.end)
  retiring.add(gone)
  void gone.then(() => retiring.delete(gone))
}

/** Starts or stops the file watch, as the settings of the generation say. */
function updateFileWatch(running: KernelState): void {
  if (!running.generation.settings.plugins.watch) {
    running.stopWatching?.()
    running.stopWatching = undefined
  } else
    running.stopWatching ??= watchFiles(
      () => running.generation.watched,
      () => enqueue(running, () => reloadAfterChange(running)),
    )
}

/** Ends a session and removes the tools of its skills. */
export async function endSession(running: KernelState, id: string): Promise<void> {
  await running.sessions.end(id)
  if (running.skills.release(id)) await enqueue(running, () => swapGeneration(running))
}

/** Aborts calls, refuses new ones and releases resources. */
export async function close(running: KernelState): Promise<void> {
  running.closed = true
  running.stopping.abort()
  running.stopWatching?.()
  running.callRunner.close()
  await running.queue
  await running.generation.handlers.waitForIdle(SETTLE_MS)
  await running.sessions.endAll()
  await Promise.all([...running.retiring, running.generation.end()])
  running.workspace.close()
}
