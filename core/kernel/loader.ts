import { statSync } from 'node:fs'
import { register } from 'node:module'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { firstLine, moduleOf, problem, programFile, VtError, withTimeout, type Contribution, type JsonObject, type SlotInfo } from '../base/index.js'
import { adapterOf } from '../registry/index.js'
import type { Adapter, AdapterContext } from './plugin_types.js'
import { watchUncaught, type OnFault } from './uncaught.js'

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
  /** Contract: throws when the files of the contribution differ from those that the user agreed to. */
  verify: (contribution: Contribution) => Promise<void>
  report: OnFault
}

/** Loads a manifest's function: its module's default export, or the function that the adapter of its key makes. */
export function createLoader({ adapters, contextFor, isolates, limit, verify, report }: LoaderOptions): Loader {
  const loading = new Map<Contribution, Promise<Export>>()
  const loaded = new Map<Contribution, Export>()
  const modules = new Map<Contribution, Record<string, unknown>>()

  async function start(contribution: Contribution): Promise<Export> {
    const { manifest, file } = contribution
    await verify(contribution)
    const path = moduleOf(manifest)
    if (path === undefined) {
      const adapter = adapterOf(contribution, adapters)
      if (!adapter) throw importError(contribution, 'has no module and no adapter serves it')
      return ((await load(adapter)) as Adapter)(contribution, contextFor(adapter))
    }
    const aside = isolates(contribution) ? adapters.get('module') : undefined
    if (aside) {
      const main = await ((await load(aside)) as Adapter)(contribution, contextFor(aside))
      modules.set(contribution, main as unknown as Record<string, unknown>)
      return main
    }
    const module = (await importModule(contribution, resolve(dirname(file), path), limit, report)) as Record<string, unknown>
    modules.set(contribution, module)
    const main = module['default']
    if (typeof main !== 'function') throw importError(contribution, main === undefined ? 'has no default export' : `exports a ${typeof main}, not a function`)
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
          const known = error instanceof VtError ? error : importError(contribution, `throws on import: ${firstLine(error)}`)
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
  async function render(contribution: Contribution, input: JsonObject, slot: SlotInfo): Promise<JsonObject | undefined> {
    const adapter = adapterOf(contribution, adapters)
    return adapter && ((await load(adapter)) as Adapter).render?.(contribution, input, contextFor(adapter), slot)
  }
  return { load, render, loaded: (contribution) => loaded.get(contribution), exported }
}

const importError = ({ id, manifest, file }: Contribution, text: string): VtError =>
  problem('VT_PLUGIN_IMPORT', { id, module: moduleOf(manifest) ?? file, problem: text })

async function importModule(contribution: Contribution, path: string, limit: number, report: OnFault): Promise<unknown> {
  if (contribution.layer === 'builtin') return import(pathToFileURL(path).href)
  watchUncaught(path, contribution, report)
  return withTimeout(importForeign(path), limit, () => importError(contribution, `does not finish its import within ${limit / 1000} s; a top-level await hangs`))
}

/** A foreign module, `x.ts` where there is no `x.js`; it can import the names `vtcode` and `vtcode/test`, which are this program. */
export async function importForeign(path: string): Promise<unknown> {
  const { file, version } = source(path)
  if (/\.m?ts$/.test(file)) {
    const { createJiti } = await import('jiti')
    const alias = { 'vtcode/test': programFile('test/kit.js'), vtcode: programFile('core/index.js') }
    return createJiti(import.meta.url, { fsCache: false, moduleCache: false, alias }).import(file)
  }
  resolveOurName()
  return import(`${pathToFileURL(file).href}?v=${version}`)
}

/** `x.js`, or `x.ts` where only that exists: one manifest serves source and build. The version makes a changed file a new module. */
function source(path: string): { file: string; version: string } {
  for (const file of [path, path.replace(/\.(m?)js$/, '.$1ts')]) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat) return { file, version: `${stat.mtimeMs}-${stat.size}` }
  }
  throw new Error('the file does not exist')
}

let registered = false

/** Lets modules anywhere import `vtcode` and get the running program. */
function resolveOurName(): void {
  if (registered) return
  registered = true
  register(pathToFileURL(programFile('core/kernel/module_hooks.js')))
}
