import { resolve } from 'node:path'
import type { Contribution, ToolInfo } from '../shapes/index.js'
import { moduleOf, userOf } from '../system/index.js'
import { findRoot, homeOf, modeOfCall, surrounded } from '../config/index.js'
import { readRequest, speak, wordsFor, type CallArguments } from '../input/index.js'
import { listTools, type Reader, type Registry } from '../registry/index.js'
import { withSkills } from '../skills/index.js'
import { openWorkspace } from '../workspace/index.js'
import type { Generation } from '../generation/index.js'
import { complete, offersOf, providersOf } from '../calls/index.js'
import {
  begin,
  close,
  diagnosticsOf,
  endSession,
  prepare,
  prepareOnceLoaded,
  reload,
  settle,
  type Running,
} from './running.js'
import type { CallOptions, Kernel, KernelInspection, KernelOptions, SurfaceMain } from '../contract/index.js'

/** A kernel on one workspace. Throws VT_CONFIG_* when a readable settings file has a fault. */
export async function createKernel(given: KernelOptions = {}): Promise<Kernel> {
  const [options, home, user] = [surrounded(given), homeOf(given), userOf(given)]
  const folder = options.workspace ? resolve(options.workspace) : findRoot(process.cwd(), home)
  const workspace = openWorkspace(folder, { home, user })
  const running = await begin(options, workspace)
  const current = (): Generation => running.generation
  return {
    workspace: workspace.root,
    inspection: createInspection(running, home),
    get settings() {
      return current().settings
    },
    call(...call: CallArguments<CallOptions>) {
      const request = readRequest(...call)
      const { generation, settling, caller } = running
      if (generation.later.length === 0 && !settling) return caller.call(request)
      const { signal, cancel } = request.options ?? {}
      const prepared = prepareOnceLoaded(running, request, signal ?? cancel?.signal)
      return prepared.then((prepared) => caller.call({ ...request, prepared }))
    },
    resolve: (tool, sent) => prepare(running, { tool, sent }),
    explain: (...call: CallArguments<CallOptions>) => running.caller.explain(readRequest(...call)),
    list: () => current().services.host.slots(),
    describe: (name) => described(current(), name),
    tools({ audience, only: tools, mode, lean = false, splitReads = false } = {}) {
      const only = [...(running.surroundings.only ?? []), ...(tools ? [{ tools }] : [])]
      const asked = { ...(only.length > 0 && { only }), ...(splitReads && { splitReads }), ...(mode && { mode }) }
      const reader: Reader = { ...(audience !== undefined && { audiences: [audience] }), ...asked }
      const skills = current()
        .skills()
        .catalogue.some(({ layer }) => layer !== 'builtin')
      const listed = listTools(current().registry, { ...reader, lean, skills })
      return listed.flatMap((tool) => shown(current(), tool, reader) ?? [])
    },
    diagnostics: () => diagnosticsOf(running),
    reload: () => reload(running),
    endSession: (id) => endSession(running, id),
    close: () => close(running),
  }
}

function createInspection(running: Running, home: string): KernelInspection {
  const { options, surroundings } = running
  const current = (): Generation => running.generation
  return {
    home,
    env: surroundings.options.env ?? process.env,
    foreign: running.workspace.quarantined,
    get hooks() {
      return current().hooks
    },
    get generation() {
      return current().number
    },
    resolveMode: (asked) => modeOfCall(current().settings, asked),
    renderText: (text, how) =>
      speak(
        text,
        wordsFor(current().registry, undefined, {
          ...how,
          only: surroundings.only,
        }),
      ),
    contributions: () => current().registry.infos,
    plugins: () => [...current().plugins],
    offers: (kind) => offersOf(current().registry, kind),
    providers: () => providersOf(current()),
    complete: (slot, argument, value, session = 'main') => complete(current(), slot, argument, value, session),
    origins: () => current().origins,
    skills: (how) => current().skills(how),
    loadDeferred: () => settle(running),
    loadSurface: (verb) => surfaceOf(current(), verb),
    async loadModules(plugin) {
      await loadAll(current(), plugin)
      return diagnosticsOf(running)
    },
    watchedFiles: () => current().watched,
    onReload: (run) => subscribed(running.listeners, run),
    onChange: (run) => subscribed(running.watchers, run),
    openSibling: (root, how) =>
      createKernel({
        ...options,
        ...how,
        workspace: root,
      }),
  }
}

function described(generation: Generation, name: string): ReturnType<Kernel['describe']> {
  const tool = generation.services.host.describe(name)
  return tool && shown(generation, tool)
}

/** A tool in the form for a model, which is told of no other that it does not have. */
function shown(generation: Generation, tool: ToolInfo, reader: Reader = {}): ToolInfo | undefined {
  const words = wordsFor(generation.registry, undefined, reader)
  return withSkills({ ...tool, description: speak(tool.description, words) }, generation, (text) => speak(text, words))
}

async function surfaceOf({ registry, loader }: Generation, verb: string): Promise<SurfaceMain | undefined> {
  const contribution = registry.surfaces.get(verb)
  return contribution && ((await loader.load(contribution)) as SurfaceMain)
}

const everything = ({ slots, policies, compactors, surfaces, adapters, providers }: Registry): Contribution[] =>
  [
    [...slots.values()].flatMap(({ chain }) => chain),
    policies,
    compactors,
    ...[surfaces, adapters, providers].map((named) => [...named.values()]),
  ].flat()

/** Loads every module, or those of one plugin, so that their faults are reported. */
async function loadAll({ registry, loader }: Generation, plugin: string | undefined): Promise<void> {
  // A contribution of data alone has nothing to load.
  const loadable = everything(registry).filter(
    ({ manifest }) => !(manifest.alias || manifest.provider) || moduleOf(manifest) !== undefined,
  )
  const asked = loadable.filter((one) => plugin === undefined || one.plugin === plugin || one.id === plugin)
  await Promise.allSettled(asked.map(loader.load))
}

/** Adds a listener; the returned function removes it. */
function subscribed<T>(all: Set<T>, one: T): () => void {
  all.add(one)
  return () => all.delete(one)
}
