import { createDiagnostic, toDiagnostic, VtError } from '../shapes/index.js'
import { findProgram, listSearchFolders } from '../system/index.js'
import { findAdapter, type Registry } from '../registry/index.js'
import type { Loader } from './loader.js'

/**
 * Refuses each tool whose manifest its built-in adapter rejects, so that no list offers a tool that always fails.
 * Reports programs that are not on the search path. Runs nothing.
 */
export async function refuseInvalidSlots(
  registry: Registry,
  { render }: Pick<Loader, 'render'>,
  { workspace, path }: { workspace: string; path: string | undefined },
): Promise<void> {
  const known = new Map<string, boolean>()
  let folders: string[] | undefined
  const isFound = (program: string): boolean => {
    if (!known.has(program))
      known.set(program, findProgram(program, (folders ??= listSearchFolders(path, workspace))) !== undefined)
    return known.get(program)!
  }
  for (const slot of registry.slots.values()) {
    const [only, ...others] = slot.chain
    if (!only || others.length > 0 || only.layer === 'builtin') continue
    const adapter = findAdapter(only, registry.adapters)
    if (adapter?.layer !== 'builtin' || adapter.manifest.expands) continue
    // Without input, a template that is valid still complains about absent values.
    const error: unknown = await render(only, {}, slot.info).catch((thrown: unknown) => thrown)
    if (error instanceof VtError && error.code === 'VT_MANIFEST_INVALID') {
      slot.refusal = error
      registry.diagnostics.push(toDiagnostic(error, only.file))
      const info = registry.infos.find(({ id }) => id === only.id)
      if (info) Object.assign(info, { state: 'invalid', reason: error.message })
      continue
    }
    const { program } = slot.info
    if (program === undefined || program.includes('/') || isFound(program)) continue
    const needs = `the program '${program}', which is not on the search path`
    registry.diagnostics.push(createDiagnostic('VT_PLUGIN_REQUIRES', { id: only.id, needs }, [only.file], 'warning'))
  }
}
