import { nearest, report, type Contribution, type Diagnostic, type JsonObject, type Settings, type VtError } from '../base/index.js'
import type { Withheld } from '../registry/index.js'
import { readContract } from '../schema/index.js'

/** Lifecycle event to groups of hooks; `layer` and `by` of a plugin's group name its layer and its plugin. */
export type HookGroups = Readonly<Record<string, readonly JsonObject[]>>

export interface Consent {
  /** Contributions without consent; hooks of a changed plugin are added to them. */
  withheld: Map<string, Withheld>
  /** Rejects for a plugin whose files differ from those that the user agreed to. */
  verify(contribution: Contribution): Promise<void>
  dataOf(contribution: Contribution): string
}

/** The lifecycle hooks of the settings and, after them, those of plugins whose present files the user agreed to. */
export async function hooksOf(settings: Settings, contributions: readonly Contribution[], { withheld, verify, dataOf }: Consent): Promise<HookGroups> {
  const block: Record<string, readonly JsonObject[]> = { ...(settings['hooks'] as HookGroups) }
  for (const one of contributions.filter(({ kind, id }) => kind === 'hooks' && !withheld.has(id))) {
    const changed = await verify(one).then(() => undefined, (error: VtError) => error)
    if (changed) {
      withheld.set(one.id, { state: 'unlocked', error: changed })
      continue
    }
    const whose = { layer: one.layer, by: { ...one, data: dataOf(one) } }
    for (const [event, groups] of Object.entries(one.manifest.hooks!)) block[event] = [...(block[event] ?? []), ...groups.map((group) => ({ ...group, ...whose }))]
  }
  return block
}

/** Hooks for events that never happen: a misspelt event name would leave a guard without effect. */
export function unknownEvents(block: HookGroups): Diagnostic[] {
  const named = Object.keys(block)
  if (named.length === 0) return []
  const { hooks } = readContract('config.1.json')['properties'] as Record<string, { 'x-fired'?: string[] }>
  const fired = hooks!['x-fired']!
  const folded = (event: string) => event.replaceAll('_', '').toLowerCase()
  const unknown = named.filter((event) => !fired.some((known) => folded(known) === folded(event)))
  return unknown.map((event) => {
    const like = nearest(event, fired)
    return report('VT_HOOK_NEVER', { event, nearest: like ? `; nearest: ${like}` : '' }, [], 'warning')
  })
}
