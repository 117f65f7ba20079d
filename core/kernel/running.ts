import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  report as diagnose,
  firstLine,
  texts,
  VtError,
  type Contribution,
  type Diagnostic,
  type PreparedCall,
} from '../shapes/index.js'
import { quietMs, watchFiles } from '../documents/index.js'
import { prepareCall, type CallRequest } from '../input/index.js'
import { rightsLeft } from '../registry/index.js'
import type { Skill } from '../skills/index.js'
import type { OpenWorkspace } from '../workspace/index.js'
import { createCaller, KernelSessions, type Caller } from '../calls/index.js'
import {
  ActivatedSkills,
  buildGeneration,
  newlyBroken,
  reloadObjection,
  type Generation,
  type GenerationSources,
} from '../generation/index.js'
import type { Kernel, KernelOptions } from '../contract/index.js'

const MAX_FAULTS = 200
/** The time for handlers of aborted calls to clear up when the kernel closes. */
const SETTLE_MS = 500
/** The number of generations with calls in flight, the present one included; a further reload waits. */
const MAX_ALIVE = 3

/** The state of a kernel while it runs. */
export interface Running {
  readonly options: KernelOptions
  readonly workspace: OpenWorkspace
  readonly sessions: KernelSessions
  readonly skills: ActivatedSkills
  readonly caller: Caller
  readonly surroundings: GenerationSources
  /** By message, the diagnostics since the generation began. */
  readonly faults: Map<string, Diagnostic>
  /** Listeners for new generations, and for changed resources. */
  readonly listeners: Set<() => void>
  readonly watchers: Set<(uri: string) => void>
  /** Former generations with unfinished calls. */
  readonly retiring: Set<Promise<void>>
  generation: Generation
  /** Settles with the last requested generation: generations are built one after the other. */
  turn: Promise<unknown>
  closed: boolean
  /** A requested generation has not been begun. */
  renewing: boolean
  /** Aborted when the kernel is closed, or nobody waits for its first generation any more. */
  readonly stopping: AbortController
  /** Settles when what adapters left for later has been done; absent when nothing of it is under way. */
  settling?: Promise<void> | undefined
  stopWatching?: (() => void) | undefined
}
type Reload = Awaited<ReturnType<Kernel['reload']>>

/** Completes workspace changes that a killed process left unfinished, and builds the first generation. Throws VT_CONFIG_*. */
export async function begin(options: KernelOptions, workspace: OpenWorkspace): Promise<Running> {
  const sessions = new KernelSessions()
  const only = options.only?.map(rightsLeft)
  const stopping = new AbortController()
  const current = () => running.generation
  const report: GenerationSources['report'] = (contribution, error) => noteFault(running, contribution, error)
  const running: Running = {
    options,
    workspace,
    sessions,
    faults: new Map(),
    listeners: new Set(),
    watchers: new Set(),
    retiring: new Set(),
    closed: false,
    renewing: false,
    stopping,
    // `generation` and `turn` are set before anything here is used.
    generation: undefined!,
    turn: undefined!,
    caller: createCaller({ workspace, sessions, only, surface: options.surface ?? 'library', report, current }),
    skills: new ActivatedSkills({
      current,
      build: (more) => build(running, current().number + 1, more),
      enter: (next) => !running.closed && enter(running, next),
    }),
    surroundings: {
      options,
      workspace,
      report,
      diagnostics: () => diagnosticsOf(running),
      changed: (uri) => running.watchers.forEach((tell) => tell(uri)),
      stopping: stopping.signal,
      only,
      renew: () => void renew(running),
      resolve: (tool, sent) => prepare(running, { tool, sent }),
      bring: (skill, { id }) => inTurn(running, () => running.skills.bring(skill, id)),
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
  // A server may request the next generation while the first is built: the request waits, for ever where there is no first.
  running.turn = made.catch(() => new Promise(() => {}))
  running.generation = await made
  followFiles(running)
  return running
}

/** The diagnostics of the generation, and those since it began. */
export const diagnosticsOf = ({ generation, faults, workspace }: Running): Diagnostic[] => [
  ...generation.registry.diagnostics,
  ...faults.values(),
  ...foreignIn(workspace),
]

/** What was put aside among our own state, all of it at once: another home of the same workspace may have left much. */
const foreignIn = ({ root, quarantined: foreign }: OpenWorkspace): Diagnostic[] =>
  [...foreign].slice(0, 1).map(([path, aside]) =>
    diagnose(
      'VT_STATE_FOREIGN',
      { path, others: foreign.size > 1 ? ` (and ${foreign.size - 1} more)` : '', aside },
      [...foreign.values()].map((place) => join(root, place)),
      'warning',
    ),
  )

function noteFault({ faults }: Running, { id, file }: Contribution, error: unknown): void {
  const known =
    error instanceof VtError
      ? error.problem
      : { code: 'VT_PLUGIN_CRASHED', ...texts('VT_PLUGIN_CRASHED', { id, reason: firstLine(error) })! }
  const { code, message, hint } = known
  if (faults.size < MAX_FAULTS) faults.set(message, { code, severity: 'error', message, hint, files: [file] })
}

const build = ({ surroundings, skills }: Running, number: number, more: readonly Skill[] = []): Promise<Generation> =>
  buildGeneration(surroundings, number, [...skills.all(), ...more])

/** Resolves a call by the present generation, also where that came while the call was resolved. */
export async function prepare(running: Running, request: CallRequest): Promise<PreparedCall | undefined> {
  const { generation } = running
  const prepared = await prepareCall(generation.registry, request)
  return generation === running.generation ? prepared : prepare(running, request)
}

/** Generations are built one after the other. Contract: `run` does not reject. */
function inTurn<T>(running: Running, run: () => Promise<T>): Promise<T> {
  const next = running.turn.then(run)
  running.turn = next
  return next
}

/** Builds and enters the next generation, once the number of generations allows it. */
export async function reload(running: Running, begun = (): unknown => undefined): Promise<Reload> {
  // Outside of the turn: a call that activates a skill waits for its own turn, and a generation for its calls.
  while (running.retiring.size >= MAX_ALIVE - 1) await Promise.race(running.retiring)
  return inTurn(running, () => {
    begun()
    return swap(running)
  })
}

/** Requests the next generation; requests that come before it is begun are one. */
async function renew(running: Running): Promise<void> {
  if (running.renewing) return
  running.renewing = true
  await reload(running, () => (running.renewing = false)).finally(() => (running.renewing = false))
}

/** Does what adapters left for later, all of it or what is quick, and builds the next generation from what was found. */
export function settle(running: Running, quickly = false): Promise<void> {
  const { later } = running.generation
  const works = later.filter(({ quick }) => quick || !quickly)
  later.splice(0, later.length, ...later.filter((one) => !works.includes(one)))
  if (works.length === 0) return running.settling ?? Promise.resolve()
  const settled = Promise.allSettled([running.settling, ...works.map(({ work }) => work())])
    .then(() => reload(running))
    .then(() => {
      if (running.settling === settled) running.settling = undefined
    })
  return (running.settling = settled)
}

/** Prepares a call. An unknown name waits for what may provide it, a call that lists tools for what is quick. */
export async function prepareOnceLoaded(
  running: Running,
  request: CallRequest,
  signal: AbortSignal | undefined,
): Promise<PreparedCall | undefined> {
  const found = await prepare(running, request)
  const tells =
    found !== undefined &&
    running.generation.registry.slots.get(found.slot.slot)?.primary.manifest.tells_of_tools === true
  if (found && !(tells && running.generation.later.some(({ quick }) => quick))) return found
  const over = new AbortController()
  const aborted = new Promise<void>((resolve) =>
    signal?.addEventListener('abort', () => resolve(), { once: true, signal: over.signal }),
  )
  if (!signal?.aborted) await Promise.race([settle(running, tells), aborted])
  over.abort()
  return found
}

/** A generation that cannot be built, or would lose a guard, leaves the present one in place. */
async function swap(running: Running): Promise<Reload> {
  if (running.closed) return { ok: false, generation: running.generation.number, diagnostics: [] }
  const refused = (reason: string): Reload => ({
    ok: false,
    generation: running.generation.number,
    diagnostics: [refusal(reason)],
  })
  try {
    const next = await build(running, running.generation.number + 1)
    const objection = await reloadObjection(next, running.generation)
    if (objection !== undefined) {
      await next.end()
      return refused(objection)
    }
    enter(running, next)
  } catch (error) {
    return refused(firstLine(error))
  }
  return { ok: true, generation: running.generation.number, diagnostics: diagnosticsOf(running) }
}

/** Reloads after a change of files. A change that breaks something may be half written, so it is tried once more and then left alone. */
async function follow(running: Running): Promise<void> {
  const complain = (reason: string) => void running.faults.set('reload', refusal(reason))
  for (const last of [false, true]) {
    if (running.closed) return
    try {
      const next = await build(running, running.generation.number + 1)
      const objection = newlyBroken(next, running.generation) ?? (await reloadObjection(next, running.generation))
      if (objection === undefined) return void enter(running, next)
      await next.end()
      if (last) complain(objection)
    } catch (error) {
      if (last) complain(firstLine(error))
    }
    if (!last) await sleep(quietMs)
  }
}

const refusal = (reason: string): Diagnostic => diagnose('VT_RELOAD_REFUSED', { reason }, [])

function enter(running: Running, next: Generation): true {
  retire(running, running.generation)
  running.generation = next
  running.faults.clear()
  followFiles(running)
  for (const tell of running.listeners) tell()
  return true
}

/** Calls in flight finish in their generation; then what adapters hold for it is released. */
function retire({ caller, retiring }: Running, old: Generation): void {
  const gone = caller.retire(old).then(old.end)
  retiring.add(gone)
  void gone.then(() => retiring.delete(gone))
}

/** Starts or stops watching files, by the settings of the generation. */
function followFiles(running: Running): void {
  if (!running.generation.settings.plugins.watch) {
    running.stopWatching?.()
    running.stopWatching = undefined
  } else
    running.stopWatching ??= watchFiles(
      () => running.generation.watched,
      () => inTurn(running, () => follow(running)),
    )
}

/** Ends a session and removes the tools of skills that only this session had loaded. */
export async function endSession(running: Running, id: string): Promise<void> {
  await running.sessions.end(id)
  if (running.skills.leave(id)) await inTurn(running, () => swap(running))
}

/** Aborts running calls, refuses new ones and releases all resources. */
export async function close(running: Running): Promise<void> {
  running.closed = true
  running.stopping.abort()
  running.stopWatching?.()
  running.caller.close()
  await running.turn
  // What was aborted still clears up behind it.
  await running.generation.handling.over(SETTLE_MS)
  await running.sessions.endAll()
  await Promise.all([...running.retiring, running.generation.end()])
  running.workspace.close()
}
