import { dirname, resolve } from 'node:path'
import { firstLine, problem, VtError, type Contribution, type JsonObject, type SlotInfo } from '../shapes/index.js'
import { importProgramModule, findModulePath, withTimeout } from '../system/index.js'
import { findAdapter } from '../registry/index.js'
import { importPluginModule, retryWhileWritten } from '../trust/index.js'
import { watchUncaught, type Adapter, type AdapterContext, type OnFault } from '../contract/index.js'

type Export = (...args: any[]) => any

export interface Loader {
  /** Returns the function if it is loaded. */
  loaded(contribution: Contribution): Export | undefined
  /**
   * Imports the function of a contribution on first use. Throws VT_PLUGIN_IMPORT, the same error again until the next
   * generation.
   */
  load(contribution: Contribution): Promise<Export>
  /** Returns another export of the contribution's module, if there is one. */
  loadExport(contribution: Contribution, name: string): Promise<Export | undefined>
  /**
   * Returns the effect that the adapter of a manifest would have for an input, without running it; nothing for a
   * module. Throws as the call would.
   */
  render(contribution: Contribution, input: JsonObject, slot: SlotInfo): Promise<JsonObject | undefined>
}

export interface LoaderOptions {
  adapters: ReadonlyMap<string, Contribution>
  /** Creates the adapter's second argument. */
  contextFor: (adapter: Contribution) => AdapterContext
  /** Returns whether the contribution's module runs in a process of its own. */
  isolates: (contribution: Contribution) => boolean
  /** Milliseconds that importing one module may take. */
  limit: number
  /**
   * Returns the contribution with the location of its code: the copy of the agreed files, if it needed consent.
   * Contract: throws when its files differ from those.
   */
  verify: (contribution: Contribution) => Promise<Contribution>
  report: OnFault
}

/** Loads a manifest's function: its module's default export, or the function that the adapter of its key creates. */
export function createLoader({ adapters, contextFor, isolates, limit, verify, report }: LoaderOptions): Loader {
  const loading = new Map<Contribution, Promise<Export>>()
  const loaded = new Map<Contribution, Export>()
  const modules = new Map<Contribution, Record<string, unknown>>()

  async function start(contribution: Contribution): Promise<Export> {
    const placed = await verify(contribution)
    const source = placed.layer === 'builtin' ? undefined : resolveModuleFile(placed)
    return retryWhileWritten(source, () => open(contribution, placed)).catch((error: unknown) =>
      Promise.reject(placed === contribution ? error : restorePaths(error, placed.root, contribution.root)),
    )
  }
  async function open(contribution: Contribution, placed: Contribution): Promise<Export> {
    const file = resolveModuleFile(placed)
    if (file === undefined) {
      const adapter = findAdapter(contribution, adapters)
      if (!adapter) throw createImportError(contribution, 'has no module and no adapter serves it')
      return ((await load(adapter)) as Adapter)(contribution, contextFor(adapter))
    }
    const isolator = isolates(contribution) ? adapters.get('module') : undefined
    if (isolator) {
      const main = await ((await load(isolator)) as Adapter)(placed, contextFor(isolator))
      modules.set(contribution, main as unknown as Record<string, unknown>)
      return main
    }
    const module = (await importModule(placed, file, limit, report)) as Record<string, unknown>
    modules.set(contribution, module)
    const main = module['default']
    if (typeof main !== 'function')
      throw createImportError(
        contribution,
        main === undefined ? 'has no default export' : `exports a ${typeof main}, not a function`,
      )
    return main as Export
  }

  function load(contribution: Contribution): Promise<Export> {
    let module = loading.get(contribution)
    if (!module) {
      module = start(contribution).then(
        (main) => {
          loaded.set(contribution, main)
          return main
        },
        (error: unknown) => {
          const known =
            error instanceof VtError ? error : createImportError(contribution, `throws on import: ${firstLine(error)}`)
          report(contribution, known)
          throw known
        },
      )
      loading.set(contribution, module)
    }
    return module
  }
  async function loadExport(contribution: Contribution, name: string): Promise<Export | undefined> {
    await load(contribution)
    const found = modules.get(contribution)?.[name]
    return typeof found === 'function' ? (found as Export) : undefined
  }
  async function render(
    contribution: Contribution,
    input: JsonObject,
    slot: SlotInfo,
  ): Promise<JsonObject | undefined> {
    const adapter = findAdapter(contribution, adapters)
    return adapter && ((await load(adapter)) as Adapter).render?.(contribution, input, contextFor(adapter), slot)
  }
  return { load, render, loaded: (contribution) => loaded.get(contribution), loadExport }
}

const resolveModuleFile = ({ manifest, file }: Contribution): string | undefined =>
  findModulePath(manifest) === undefined ? undefined : resolve(dirname(file), findModulePath(manifest)!)

const createImportError = ({ id, manifest, file }: Contribution, text: string): VtError =>
  problem('VT_PLUGIN_IMPORT', { id, module: findModulePath(manifest) ?? file, problem: text })

/** Replaces the path of a copy in an error by the original folder. */
function restorePaths(error: unknown, copy: string, root: string): unknown {
  const restore = (text: string) =>
    text.replaceAll(copy, root).replace(/Cannot find (?:module|package)/, 'The agreed files do not contain the module')
  if (error instanceof VtError) return new VtError({ ...error.problem, message: restore(error.message) })
  return error instanceof Error ? Object.assign(error, { message: restore(error.message) }) : error
}

async function importModule(
  contribution: Contribution,
  path: string,
  limit: number,
  report: OnFault,
): Promise<unknown> {
  if (contribution.layer === 'builtin') return importProgramModule(path)
  watchUncaught(path, contribution, report)
  return withTimeout(importPluginModule(path), limit, () =>
    createImportError(contribution, `does not finish its import within ${limit / 1000} s; a top-level await hangs`),
  )
}
