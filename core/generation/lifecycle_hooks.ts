import {
  report,
  type Contribution,
  type Diagnostic,
  type JsonObject,
  type Settings,
  type VtError,
} from '../shapes/index.js'
import { nearest } from '../text/index.js'
import type { Withheld } from '../registry/index.js'
import { readContract } from '../schema/index.js'
import type { LockVerifier } from '../trust/index.js'

/** Lifecycle event to groups of hooks; `layer` and `by` of a plugin's group name its layer and its plugin. */
export type HookGroups = Readonly<Record<string, readonly JsonObject[]>>

export interface Consent {
  /** Contributions without consent; hooks of a changed plugin are added to them. */
  withheld: Map<string, Withheld>
  /** Rejects for a plugin whose files differ from those that the user agreed to. */
  verify(contribution: Contribution): Promise<unknown>
  dataOf(contribution: Contribution): string
  lockVerifier: Pick<LockVerifier, 'guards' | 'entryOf'>
}

/**
 * The lifecycle hooks of the settings and, after them, those of plugins whose present files the user agreed to. A plugin that has changed since
 * runs none of its hooks; calls that they would have been told of beforehand are asked about instead.
 */
export async function hooksOf(
  settings: Settings,
  contributions: readonly Contribution[],
  { withheld, verify, dataOf, lockVerifier }: Consent,
): Promise<HookGroups> {
  const block: Record<string, readonly JsonObject[]> = { ...(settings.hooks as HookGroups) }
  const add = (event: string, groups: readonly JsonObject[]) =>
    void (block[event] = [...(block[event] ?? []), ...groups])
  const found = contributions.filter(({ kind }) => kind === 'hooks')
  for (const one of found) {
    const known = withheld.get(one.id)
    const changed = known
      ? known.error
      : await verify(one).then(
          () => undefined,
          (error: VtError) => error,
        )
    if (changed && !known) withheld.set(one.id, { state: 'unlocked', error: changed })
    // What nobody has agreed to guards nothing.
    if (known && (known.state !== 'unlocked' || !lockVerifier.entryOf(one.root))) continue
    const whose = { layer: one.layer, by: { ...one, data: dataOf(one) } }
    for (const [event, groups] of Object.entries(one.manifest.hooks!)) {
      if (!changed)
        add(
          event,
          groups.map((group) => ({ ...group, ...whose })),
        )
      // Where the hooks themselves may have changed nobody knows which calls they were for.
      else if (!known && isGuard(event))
        add(
          event,
          groups.map((group) => ({
            ...group,
            ...whose,
            hooks: ((group['hooks'] ?? []) as JsonObject[]).map((entry) => ({ ...entry, ...lost(said(changed)) })),
          })),
        )
    }
    if (known) add('PreToolUse', [{ hooks: [lost(said(known.error))] }])
  }
  for (const { name, root } of lockVerifier.guards()) {
    if (found.some((one) => one.root === root || one.plugin === name)) continue
    add('PreToolUse', [
      { hooks: [lost(`The lifecycle hooks of ${name}, which guard calls, are missing: look at ${root}.`)] },
    ])
  }
  return block
}

const isGuard = (event: string): boolean =>
  ['pretooluse', 'beforetool'].includes(event.replaceAll('_', '').toLowerCase())

const said = ({ message, problem: { hint } }: VtError): string => `${message} ${hint}`

/** A hook that does not run: the call is asked about, with the reason. */
const lost = (reason: string): JsonObject => ({ withheld: reason, on_error: 'ask', onError: 'ask', async: false })

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
