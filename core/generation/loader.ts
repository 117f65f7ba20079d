import { dirname, resolve } from 'node:path'
import { firstLine, problem, VtError, type Contribution, type JsonObject, type SlotInfo } from '../shapes/index.js'
import { importOwn, moduleOf, withTimeout } from '../system/index.js'
import { adapterOf } from '../registry/index.js'
import { importForeign, onceWhole } from '../trust/index.js'
import { watchUncaught, type Adapter, type AdapterContext, type OnFault } from '../contract/index.js'

type Export = (...args: any[]) => any

export interface Loader {
  /** The function, once it is loaded. */
  loaded(contribution: Contribution): Export | undefined
  /** The function behind a contribution, imported on first use. Throws VT_PLUGIN_IMPORT, the same error again until the next generation. */
  load(contribution: Contribution): Promise<Export>
  /** Another export of the contribution's module, where there is one. */
  exported(contribution: Contribution, name: string): Promise<Export | undefined>
  /** The effect that the adapter of a manifest would have for an input, without carrying it out; nothing for a module. Throws as the call would. */
  render(contribution: Contribution, input: JsonObject, slot: SlotInfo): Promise<JsonObject | undefined>
}

export interface LoaderOptions {
  adapters: ReadonlyMap<string, Contribution>
  /** The adapter's second argument, beside the manifest. */
  contextFor: (adapter: Contribution) => AdapterContext
  /** Whether the contribution's module runs in a process of its own. */
  isolates: (contribution: Contribution) => boolean
  /** Milliseconds that importing one module may take. */
  limit: number
  /**
   * The contribution as its code is loaded: from the copy of what the user agreed to, where it took consent. Contract: throws when its files
   * differ from those.
   */
  verify: (contribution: Contribution) => Promise<Contribution>
  report: OnFault
}

/** Loads a manifest's function: its module's default export, or the function that the adapter of its key makes. */
export function createLoader({ adapters, contextFor, isolates, limit, verify, report }: LoaderOptions): Loader {
  const loading = new Map<Contribution, Promise<Export>>()
  const loaded = new Map<Contribution, Export>()
  const modules = new Map<Contribution, Record<string, unknown>>()

  async function start(contribution: Contribution): Promise<Export> {
    const placed = await verify(contribution)
    const source = placed.layer === 'builtin' ? undefined : fileOf(placed)
    return onceWhole(source, () => open(contribution, placed)).catch((error: unknown) =>
      Promise.reject(placed === contribution ? error : inPlace(error, placed.root, contribution.root)),
    )
  }
  async function open(contribution: Contribution, placed: Contribution): Promise<Export> {
    const file = fileOf(placed)
    if (file === undefined) {
      const adapter = adapterOf(contribution, adapters)
      if (!adapter) throw importError(contribution, 'has no module and no adapter serves it')
      return ((await load(adapter)) as Adapter)(contribution, contextFor(adapter))
    }
    const aside = isolates(contribution) ? adapters.get('module') : undefined
    if (aside) {
      const main = await ((await load(aside)) as Adapter)(placed, contextFor(aside))
      modules.set(contribution, main as unknown as Record<string, unknown>)
      return main
    }
    const module = (await importModule(placed, file, limit, report)) as Record<string, unknown>
    modules.set(contribution, module)
    const main = module['default']
    if (typeof main !== 'function')
      throw importError(
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
            error instanceof VtError ? error : importError(contribution, `throws on import: ${firstLine(error)}`)
          report(contribution, known)
          throw known
        },
      )
      loading.set(contribution, module)
    }
    return module
  }
  async function exported(contribution: Contribution, name: string): Promise<Export | undefined> {
    await load(contribution)
    const found = modules.get(contribution)?.[name]
    return typeof found === 'function' ? (found as Export) : undefined
  }
  async function render(
    contribution: Contribution,
    input: JsonObject,
    slot: SlotInfo,
  ): Promise<JsonObject | undefined> {
    const adapter = adapterOf(contribution, adapters)
    return adapter && ((await load(adapter)) as Adapter).render?.(contribution, input, contextFor(adapter), slot)
  }
  return { load, render, loaded: (contribution) => loaded.get(contribution), exported }
}

const fileOf = ({ manifest, file }: Contribution): string | undefined =>
  moduleOf(manifest) === undefined ? undefined : resolve(dirname(file), moduleOf(manifest)!)

const importError = ({ id, manifest, file }: Contribution, text: string): VtError =>
  problem('VT_PLUGIN_IMPORT', { id, module: moduleOf(manifest) ?? file, problem: text })

/** What went wrong in a copy, in the words of the folder that it is a copy of. */
function inPlace(error: unknown, copy: string, root: string): unknown {
  const said = (text: string) =>
    text
      .replaceAll(copy, root)
      .replace(/Cannot find (?:module|package)/, 'Among the files that were agreed to there is no module')
  if (error instanceof VtError) return new VtError({ ...error.problem, message: said(error.message) })
  return error instanceof Error ? Object.assign(error, { message: said(error.message) }) : error
}

async function importModule(
  contribution: Contribution,
  path: string,
  limit: number,
  report: OnFault,
): Promise<unknown> {
  if (contribution.layer === 'builtin') return importOwn(path)
  watchUncaught(path, contribution, report)
  return withTimeout(importForeign(path), limit, () =>
    importError(contribution, `does not finish its import within ${limit / 1000} s; a top-level await hangs`),
  )
}
