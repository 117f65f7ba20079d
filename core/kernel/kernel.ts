import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { report as diagnose, first, moduleOf, texts, VtError, type Diagnostic } from '../base/index.js'
import { homeOf } from '../config/index.js'
import { listTools } from '../registry/index.js'
import { withSkills, type Skill } from '../skills/index.js'
import { openWorkspace } from '../workspace/index.js'
import { createCaller } from './call.js'
import { Sessions } from './context.js'
import { buildGeneration, type Generation, type Surroundings } from './generation.js'
import { newlyBroken, objectionTo } from './reload_guard.js'
import { complete, offersOf, providersOf } from './resources.js'
import { BroughtSkills } from './skill_tools.js'
import type { CallOptions, Kernel, KernelOptions, SurfaceMain } from './types.js'
import type { OnFault } from './uncaught.js'
import { quietMs, watchFiles } from './watcher.js'

const MAX_FAULTS = 200
/** Generations with calls in flight, the present one counted; a further reload waits. */
const MAX_ALIVE = 3

/** A kernel on one workspace. Throws VT_CONFIG_* when a settings file that may be read is wrong. */
export async function createKernel(options: KernelOptions = {}): Promise<Kernel> {
  const workspace = openWorkspace(options.workspace ? resolve(options.workspace) : findRoot(process.cwd(), homeOf(options)))
  const sessions = new Sessions()
  const faults = new Map<string, Diagnostic>()
  const listeners = new Set<() => void>()
  const watchers = new Set<(uri: string) => void>()
  const changed = (uri: string) => watchers.forEach((tell) => tell(uri))

  const report: OnFault = ({ id, file }, error) => {
    const known = error instanceof VtError ? error.problem : { code: 'VT_PLUGIN_CRASHED', ...texts('VT_PLUGIN_CRASHED', { id, reason: first(error) })! }
    const { code, message, hint } = known
    if (faults.size < MAX_FAULTS) faults.set(message, { code, severity: 'error', message, hint, files: [file] })
  }
  await workspace.recover().catch(({ problem: { code, message, hint } }: VtError) => {
    faults.set(message, { code, severity: 'error', message, hint, files: [join(workspace.root, '.vtcode/journal')] })
  })
  const diagnostics = () => [...generation.registry.diagnostics, ...faults.values()]
  const renew = () => void reload()
  const brought: BroughtSkills = new BroughtSkills({ current: () => generation, build: (more) => build(generation.number + 1, more), enter: (next) => !closed && enter(next) })
  const surroundings: Surroundings = { options, workspace, report, diagnostics, changed, renew, bring: (skill, { id }) => inTurn(() => brought.bring(skill, id)) }
  const build = (number: number, more: readonly Skill[] = []): Promise<Generation> => buildGeneration(surroundings, number, [...brought.all(), ...more])

  let turn: Promise<unknown> = Promise.resolve()
  /** One generation is made after the other. Contract: `run` does not reject. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const next = turn.then(run)
    turn = next
    return next
  }
  let generation: Generation = await build(1)
  let closed = false
  const retiring = new Set<Promise<void>>()
  const caller = createCaller({ workspace, sessions, surface: options.surface ?? 'library', report, current: () => generation })

  /** A generation that cannot be built, or would leave something unguarded, leaves the one before in place. */
  async function swap(): ReturnType<Kernel['reload']> {
    if (closed) return { ok: false, generation: generation.number, diagnostics: [] }
    try {
      const next = await build(generation.number + 1)
      const objection = await objectionTo(next, generation)
      if (objection !== undefined) {
        await next.end()
        return refused(objection)
      }
      enter(next)
    } catch (error) {
      return refused(first(error))
    }
    return { ok: true, generation: generation.number, diagnostics: diagnostics() }
  }
  /** What a change of files means: one that breaks something may be half written, so it is looked at once more and then left alone. */
  async function follow(): Promise<void> {
    for (const last of [false, true]) {
      if (closed) return
      try {
        const next = await build(generation.number + 1)
        const objection = newlyBroken(next, generation) ?? (await objectionTo(next, generation))
        if (objection === undefined) return void enter(next)
        await next.end()
        if (last) complain(objection)
      } catch (error) {
        if (last) complain(first(error))
      }
      if (!last) await sleep(quietMs)
    }
  }
  const refused = (reason: string): Awaited<ReturnType<Kernel['reload']>> => ({ ok: false, generation: generation.number, diagnostics: [refusal(reason)] })
  const complain = (reason: string) => void faults.set('reload', refusal(reason))

  function enter(next: Generation): true {
    retire(generation)
    generation = next
    faults.clear()
    heed()
    for (const tell of listeners) tell()
    return true
  }

  let stopWatching: (() => void) | undefined
  /** Begins or ends to look after files, as the settings of the generation say. */
  function heed(): void {
    const { watch = false } = (generation.settings['plugins'] ?? {}) as { watch?: boolean }
    if (!watch) {
      stopWatching?.()
      stopWatching = undefined
    } else stopWatching ??= watchFiles(() => generation.watched, () => inTurn(follow))
  }
  heed()

  /** Calls in flight finish on theirs; then what adapters hold for it is let go of. */
  function retire(old: Generation): void {
    const gone = caller.retire(old).then(old.end)
    retiring.add(gone)
    void gone.then(() => retiring.delete(gone))
  }

  async function reload(): ReturnType<Kernel['reload']> {
    // Not in the turn: a call that brings a skill waits for its own, and a generation for its calls.
    while (retiring.size >= MAX_ALIVE - 1) await Promise.race(retiring)
    return inTurn(swap)
  }

  return {
    workspace: workspace.root,
    get settings() {
      return generation.settings
    },
    get hooks() {
      return generation.hooks
    },
    get generation() {
      return generation.number
    },
    call: (tool: string, input?: unknown, options: CallOptions = {}) => caller.call(tool, input, options),
    explain: (tool, input, options = {}) => caller.explain(tool, input, options),
    list: () => generation.lending.host.slots(),
    describe(name) {
      const tool = generation.lending.host.describe(name)
      return tool && withSkills(tool, generation)
    },
    tools: () => listTools(generation.registry).flatMap((tool) => withSkills(tool, generation) ?? []),
    contributions: () => generation.registry.infos,
    providers: () => providersOf(generation),
    plugins: () => [...generation.plugins],
    offers: (kind) => offersOf(generation.registry, kind),
    complete: (slot, argument, value, session = 'main') => complete(generation, slot, argument, value, session),
    diagnostics,
    origins: () => generation.origins,
    skills: (how) => generation.skills(how),
    reload,
    async surface(verb) {
      const contribution = generation.registry.surfaces.get(verb)
      return contribution && ((await generation.loader.load(contribution)) as SurfaceMain)
    },
    async probe(plugin) {
      const { slots, policies, compactors, surfaces, adapters, providers } = generation.registry
      const chains = [...slots.values()].flatMap(({ chain }) => chain)
      // What is data alone has nothing to load.
      const all = [...chains, ...policies, ...compactors, ...surfaces.values(), ...adapters.values(), ...providers.values()]
      const loadable = all.filter(({ manifest }) => !(manifest.alias || manifest.provider) || moduleOf(manifest) !== undefined)
      const asked = loadable.filter((one) => plugin === undefined || one.plugin === plugin || one.id === plugin)
      await Promise.allSettled(asked.map(generation.loader.load))
      return diagnostics()
    },
    onReload(run) {
      listeners.add(run)
      return () => listeners.delete(run)
    },
    onChange(run) {
      watchers.add(run)
      return () => watchers.delete(run)
    },
    elsewhere: (root) => createKernel({ ...options, workspace: root }),
    async endSession(id) {
      await sessions.end(id)
      if (brought.leave(id)) await inTurn(swap)
    },
    async close() {
      closed = true
      stopWatching?.()
      caller.close()
      await turn
      await sessions.endAll()
      await Promise.all([...retiring, generation.end()])
      workspace.close()
    },
  }
}

function refusal(reason: string): Diagnostic {
  return diagnose('VT_RELOAD_REFUSED', { reason }, [])
}

/** The nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own `.vtcode` marks no workspace. */
function findRoot(start: string, home: string): string {
  const marks = ['.vtcode', '.git', ...['ts', 'mts', 'js', 'mjs', 'json', 'yaml', 'yml'].map((end) => `vtcode.config.${end}`)]
  const top = realpathSync(start)
  for (let folder = top; ; folder = dirname(folder)) {
    if (marks.some((mark) => join(folder, mark) !== home && existsSync(join(folder, mark)))) return folder
    if (dirname(folder) === folder) return top
  }
}
