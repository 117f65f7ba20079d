import { dirname, resolve } from 'node:path'
import { toText } from '../../core/text/index.js'
import type { Adapter, Contribution, AdapterContext, Result } from '../../core/index.js'
import { ModuleError } from './isolated/protocol.js'
import { PluginProcess } from './isolated/plugin_process.js'

/**
 * The processes of each generation: of a plugin, one for the parts with the same access to network and programs. A
 * loose manifest counts as a plugin of its own.
 */
const processes = new WeakMap<AdapterContext, Map<string, PluginProcess>>()

/** Turns a manifest with a foreign `module` into a function that runs in the process of its plugin. */
const isolate: Adapter = async (contribution, adapterContext) => {
  const owner = openPluginProcess(contribution, adapterContext)
  const module = contribution.manifest.module ?? toText(contribution.manifest.alias?.['module'])
  const { file, complete } = await owner.load(contribution, resolve(dirname(contribution.file), module))
  const callDefault = (...args: unknown[]) =>
    owner.call(contribution, file, 'default', args) as Promise<Result | undefined>
  // An error thrown by an action becomes a failed result and is trusted no more than any other.
  const main =
    contribution.slot === undefined ? callDefault : (...args: unknown[]) => callDefault(...args).catch(toErrorResult)
  return complete
    ? Object.assign(main, {
        // The other parts of the place hold the environment of the program.
        complete: (argument: unknown, value: unknown, { session }: { session: string }) =>
          owner.call(contribution, file, 'complete', [
            argument,
            value,
            { session, workspace: { root: adapterContext.workspace } },
          ]),
      })
    : main
}
export default isolate

function toErrorResult(error: unknown): Result {
  if (error instanceof ModuleError) return { ok: false, error: error.problem }
  throw error
}

function openPluginProcess(contribution: Contribution, adapterContext: AdapterContext): PluginProcess {
  const { id, plugin, layer } = contribution
  const known = processes.get(adapterContext) ?? new Map<string, PluginProcess>()
  processes.set(adapterContext, known)
  const effects = adapterContext.listEffects(contribution)
  const access = [effects.includes('net'), effects.includes('exec')].join()
  const key = `${plugin === layer ? id : plugin} ${access}`
  let owner = known.get(key)
  if (!owner) {
    known.set(key, (owner = new PluginProcess(contribution, adapterContext)))
    adapterContext.onEnd(() => owner!.end())
  }
  return owner
}
