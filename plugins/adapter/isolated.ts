import { dirname, resolve } from 'node:path'
import { toText } from '../../core/text/index.js'
import type { Adapter, Contribution, AdapterContext, Result } from '../../core/index.js'
import { ThrownThere } from './isolated/protocol.js'
import { PluginProcess } from './isolated/plugin_process.js'

/** One process for each plugin of a generation; loose manifests are plugins of their own. */
const processes = new WeakMap<AdapterContext, Map<string, PluginProcess>>()

/** Turns a manifest with a foreign `module` into a function that is called in the process of its plugin. */
const isolated: Adapter = async (contribution, adapterContext) => {
  const owner = processOf(contribution, adapterContext)
  const module = contribution.manifest.module ?? toText(contribution.manifest.alias?.['module'])
  const { file, complete } = await owner.load(contribution, resolve(dirname(contribution.file), module))
  const asked = (...args: unknown[]) => owner.call(contribution, file, 'default', args) as Promise<Result | undefined>
  // What an action throws is an answer like any other, and no better believed.
  const main = contribution.slot === undefined ? asked : (...args: unknown[]) => asked(...args).catch(answered)
  return complete
    ? Object.assign(main, { complete: (...args: unknown[]) => owner.call(contribution, file, 'complete', args) })
    : main
}
export default isolated

function answered(error: unknown): Result {
  if (error instanceof ThrownThere) return { ok: false, error: error.problem }
  throw error
}

function processOf(contribution: Contribution, adapterContext: AdapterContext): PluginProcess {
  const { id, plugin, layer } = contribution
  const known = processes.get(adapterContext) ?? new Map<string, PluginProcess>()
  processes.set(adapterContext, known)
  const key = plugin === layer ? id : plugin
  let owner = known.get(key)
  if (!owner) {
    known.set(key, (owner = new PluginProcess(contribution, adapterContext)))
    adapterContext.onEnd(() => owner!.end())
  }
  return owner
}
