import { resolve } from 'node:path'
import { requireKnownOptions, type Contribution, type ToolInfo } from '../shapes/index.js'
import { findModulePath, resolveUserFolder } from '../system/index.js'
import { findRoot, resolveHome, resolveCallMode, resolveEnvironment } from '../config/index.js'
import { readRequest, renderTemplate, createVocabulary, type CallArguments } from '../input/index.js'
import { listTools, type Reader, type Registry } from '../registry/index.js'
import { addSkillCatalogue } from '../skills/index.js'
import { openWorkspace } from '../workspace/index.js'
import type { Generation } from '../generation/index.js'
import { complete, listOffers, listProviders } from '../calls/index.js'
import {
  startKernel,
  close,
  listDiagnostics,
  endSession,
  prepare,
  prepareAfterLoading,
  reload,
  runDeferredWork,
  type KernelState,
} from './kernel_state.js'
import type { CallOptions, Kernel, KernelInspection, KernelOptions, SurfaceMain } from '../contract/index.js'

const KERNEL_OPTIONS: Readonly<Record<keyof KernelOptions, true>> = {
  workspace: true,
  config: true,
  mode: true,
  only: true,
  default_mode: true,
  verb: true,
  dialects: true,
  home: true,
  env: true,
  surface: true,
  log: true,
  signal: true,
  timeouts: true,
}

/** Opens a kernel on one workspace. Throws VT_CONFIG_* when a readable settings file has a fault. */
export async function createKernel(given: KernelOptions = {}): Promise<Kernel> {
  requireKnownOptions('createKernel', given, KERNEL_OPTIONS)
  const [options, home, user] = [resolveEnvironment(given), resolveHome(given), resolveUserFolder(given)]
  const folder = options.workspace ? resolve(options.workspace) : findRoot(process.cwd(), home)
  const workspace = openWorkspace(folder, { home, user })
  const running = await startKernel(options, workspace)
  const current = (): Generation => running.generation
  return {
    workspace: workspace.root,
    inspection: createInspection(running, home),
    get settings() {
      return current().settings
    },
    call(...call: CallArguments<CallOptions>) {
      const request = readRequest(...call)
      const { generation, deferredWork, callRunner } = running
      if (generation.later.length === 0 && !deferredWork) return callRunner.call(request)
      const { signal, cancel } = request.options ?? {}
      const prepared = prepareAfterLoading(running, request, signal ?? cancel?.signal)
      return prepared.then((prepared) => callRunner.call({ ...request, prepared }))
    },
    resolve: (tool, sent) => prepare(running, { tool, sent }),
    explain: (...call: CallArguments<CallOptions>) => running.callRunner.explain(readRequest(...call)),
    list: () => current().services.host.slots(),
    describe: (name) => describeTool(current(), name),
    tools({ audience, only: tools, mode, lean = false, splitReads = false } = {}) {
      const only = [...(running.sources.only ?? []), ...(tools ? [{ tools }] : [])]
      const asked = { ...(only.length > 0 && { only }), ...(splitReads && { splitReads }), ...(mode && { mode }) }
      const reader: Reader = { ...(audience !== undefined && { audiences: [audience] }), ...asked }
      const skills = current()
        .skills()
        .catalogue.some(({ layer }) => layer !== 'builtin')
      const listed = listTools(current().registry, { ...reader, lean, skills })
      return listed.flatMap((tool) => renderTool(current(), tool, reader) ?? [])
    },
    diagnostics: () => listDiagnostics(running),
    reload: () => reload(running),
    endSession: (id) => endSession(running, id),
    close: () => close(running),
  }
}

function createInspection(running: KernelState, home: string): KernelInspection {
  const { options, sources } = running
  const current = (): Generation => running.generation
  return {
    home,
    env: sources.options.env ?? process.env,
    quarantined: running.workspace.quarantined,
    get hooks() {
      return current().hooks
    },
    get generation() {
      return current().number
    },
    resolveMode: (asked) => resolveCallMode(current().settings, asked),
    renderText: (text, how) =>
      renderTemplate(
        text,
        createVocabulary(current().registry, undefined, {
          ...how,
          only: sources.only,
        }),
      ),
    contributions: () => current().registry.infos,
    plugins: () => [...current().plugins],
    offers: (kind) => listOffers(current().registry, kind),
    providers: () => listProviders(current(), 'providers'),
    jobEngines: () => listProviders(current(), 'engines'),
    complete: (slot, argument, value, session = 'main') => complete(current(), slot, argument, value, session),
    origins: () => current().origins,
    skills: (how) => current().skills(how),
    loadDeferred: () => runDeferredWork(running),
    loadSurface: (verb) => loadSurfaceMain(current(), verb),
    async loadModules(plugin) {
      await loadAll(current(), plugin)
      return listDiagnostics(running)
    },
    watchedFiles: () => current().watched,
    findSession: (id) => running.sessions.find(id),
    onReload: (run) => subscribe(running.listeners, run),
    onChange: (run) => subscribe(running.watchers, run),
    openSibling: (root, { config, ...how } = {}) =>
      createKernel({
        ...options,
        ...how,
        ...(config && { config: [...[options.config ?? []].flat(), config] }),
        workspace: root,
      }),
  }
}

function describeTool(generation: Generation, name: string): ReturnType<Kernel['describe']> {
  const tool = generation.services.host.describe(name)
  return tool && renderTool(generation, tool)
}

/** Renders a tool for a model; its texts name no tool that the reader does not have. */
function renderTool(generation: Generation, tool: ToolInfo, reader: Reader = {}): ToolInfo | undefined {
  const words = createVocabulary(generation.registry, undefined, reader)
  return addSkillCatalogue({ ...tool, description: renderTemplate(tool.description, words) }, generation, (text) =>
    renderTemplate(text, words),
  )
}

async function loadSurfaceMain({ registry, loader }: Generation, verb: string): Promise<SurfaceMain | undefined> {
  const contribution = registry.surfaces.get(verb)
  return contribution && ((await loader.load(contribution)) as SurfaceMain)
}

const listContributions = ({
  slots,
  policies,
  compactors,
  surfaces,
  adapters,
  providers,
  engines,
}: Registry): Contribution[] =>
  [
    [...slots.values()].flatMap(({ chain }) => chain),
    policies,
    compactors,
    ...[surfaces, adapters, providers, engines].map((named) => [...named.values()]),
  ].flat()

/** Loads every module, or those of one plugin, so that their faults are reported. */
async function loadAll({ registry, loader }: Generation, plugin: string | undefined): Promise<void> {
  // A contribution of data alone has nothing to load.
  const loadable = listContributions(registry).filter(
    ({ manifest }) =>
      !(manifest.alias || manifest.provider || manifest.forwards) || findModulePath(manifest) !== undefined,
  )
  const asked = loadable.filter((one) => plugin === undefined || one.plugin === plugin || one.id === plugin)
  await Promise.allSettled(asked.map(loader.load))
}

/** Adds a listener; the returned function removes it. */
function subscribe<T>(all: Set<T>, one: T): () => void {
  all.add(one)
  return () => all.delete(one)
}
