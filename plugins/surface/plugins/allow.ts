import type { Io, Kernel } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { allowedHere } from '../../lib/own_files/index.js'
import { confirm, isInteractive, toOneLine } from '../../lib/terminal/index.js'
import { slotMeant } from './bench.js'

/** The rules that let its tools run unasked and nothing else: one a slot, and one a server, whose tools are known once it runs. */
function rulesFor({ name, contributions }: Pick<Inspection, 'name' | 'contributions'>): string[] {
  const rules = contributions.flatMap((contribution) => {
    const { kind, name: own, manifest, stage } = contribution
    const slot = slotMeant(contribution)
    if (kind !== 'action' || stage === 'override' || stage === 'fallback') return []
    if (slot !== undefined) return [slot]
    return manifest['mcp'] === undefined ? [] : [`mcp__plugin_${name}_${own}__*`.replace(/[^\w*-]/g, '_')]
  })
  return [...new Set(rules)]
}

/** One question after consent, with the exact rules; a plugin that is brought into a workspace waits for trust, and is not asked about. */
export async function askToAllow(
  inspection: Inspection,
  { kernel, io, here = false, yes = false }: { kernel: Kernel; io: Io; here?: boolean; yes?: boolean },
): Promise<void> {
  const allowed = allowedHere(kernel.inspection.home, kernel.workspace)
  const rules = rulesFor(inspection).filter((rule) => !allowed.rules.includes(rule))
  if (rules.length === 0 || here || yes || !isInteractive(io)) return
  io.stderr.write(
    `Rules that would allow its tools in this workspace:\n${rules.map((rule) => `  ${toOneLine(rule)}\n`).join('')}`,
  )
  if (await confirm(io, 'Allow its tools?')) allowed.write([...allowed.rules, ...rules])
}

/** What was allowed for a plugin goes with it: another one of its name is asked about anew. */
export function forget(inspection: Pick<Inspection, 'name' | 'contributions'>, { kernel }: { kernel: Kernel }): void {
  const allowed = allowedHere(kernel.inspection.home, kernel.workspace)
  const gone = rulesFor(inspection)
  const left = allowed.rules.filter((rule) => !gone.includes(rule))
  if (left.length < allowed.rules.length) allowed.write(left)
}
