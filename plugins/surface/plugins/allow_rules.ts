import type { Io, Kernel } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { openAllowList } from '../../lib/own_files/index.js'
import { confirm, isInteractive, toOneLine } from '../../lib/terminal/index.js'
import { resolveSlotName } from './trial_kernel.js'

/**
 * Lists the rules that allow the tools of a plugin and nothing else: one for each slot and one for each server, whose
 * tools are unknown until it runs.
 */
function listAllowRules({ name, contributions }: Pick<Inspection, 'name' | 'contributions'>): string[] {
  const rules = contributions.flatMap((contribution) => {
    const { kind, name: own, manifest, stage } = contribution
    const slot = resolveSlotName(contribution)
    if (kind !== 'action' || stage === 'override' || stage === 'fallback') return []
    if (slot !== undefined) return [slot]
    return manifest['mcp'] === undefined ? [] : [`mcp__plugin_${name}_${own}__*`.replace(/[^\w*-]/g, '_')]
  })
  return [...new Set(rules)]
}

/**
 * Asks once, after consent, whether to allow the tools, and shows the exact rules. A plugin of a workspace waits for
 * trust instead.
 */
export async function askToAllow(
  inspection: Inspection,
  { kernel, io, here = false, yes = false }: { kernel: Kernel; io: Io; here?: boolean; yes?: boolean },
): Promise<void> {
  const allowed = openAllowList(kernel.inspection.home, kernel.workspace)
  const rules = listAllowRules(inspection).filter((rule) => !allowed.rules.includes(rule))
  if (rules.length === 0 || here || yes || !isInteractive(io)) return
  io.stderr.write(
    'Rules that allow the tools of this plugin in this ' +
      `workspace:\n${rules.map((rule) => `  ${toOneLine(rule)}\n`).join('')}`,
  )
  if (await confirm(io, 'Allow its tools?')) allowed.write([...allowed.rules, ...rules])
}

/** Removes the allow rules of a plugin, so that another plugin of its name is asked about again. */
export function forgetAllowRules(
  inspection: Pick<Inspection, 'name' | 'contributions'>,
  { kernel }: { kernel: Kernel },
): void {
  const allowed = openAllowList(kernel.inspection.home, kernel.workspace)
  const removed = listAllowRules(inspection)
  const kept = allowed.rules.filter((rule) => !removed.includes(rule))
  if (kept.length < allowed.rules.length) allowed.write(kept)
}
