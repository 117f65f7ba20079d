import {
  createDiagnostic,
  type Contribution,
  type Diagnostic,
  type JsonObject,
  type Settings,
  type VtError,
} from '../shapes/index.js'
import { findNearest } from '../text/index.js'
import type { Withheld } from '../registry/index.js'
import { readContract } from '../schema/index.js'
import { isGuardEvent, type LockVerifier } from '../trust/index.js'

/** Groups of hooks by lifecycle event; `layer` and `by` of a group name its layer and its plugin. */
export type HookGroups = Readonly<Record<string, readonly JsonObject[]>>

export interface HookConsent {
  /** Contributions without consent; hooks of a changed plugin are added to them. */
  withheld: Map<string, Withheld>
  /** Rejects for a plugin whose files differ from those that the user agreed to. */
  verify(contribution: Contribution): Promise<unknown>
  findDataFolder(contribution: Contribution): string
  lockVerifier: Pick<LockVerifier, 'guards'>
}

/**
 * Collects the lifecycle hooks of the settings and, after them, of plugins whose present files the user agreed to. A
 * plugin that changed since runs no hooks; the user is asked about calls that its hooks would have seen.
 */
export async function collectHooks(
  settings: Settings,
  contributions: readonly Contribution[],
  { withheld, verify, findDataFolder, lockVerifier }: HookConsent,
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
    // Hooks without any consent guard no calls.
    if (known && (!known.agreed || known.covers?.length === 0)) continue
    const whose = { layer: one.layer, by: { ...one, data: findDataFolder(one) } }
    for (const [event, groups] of Object.entries(one.manifest.hooks!)) {
      if (!changed)
        add(
          event,
          groups.map((group) => ({ ...group, ...whose })),
        )
      // If the hooks themselves changed, the calls that they guarded are unknown.
      else if (!known && isGuardEvent(event))
        add(
          event,
          groups.map((group) => ({
            ...group,
            ...whose,
            hooks: ((group['hooks'] ?? []) as JsonObject[]).map((entry) => ({
              ...entry,
              ...createWithheldHook(formatError(changed)),
            })),
          })),
        )
    }
    if (known) add('PreToolUse', [{ hooks: [createWithheldHook(formatError(known.error))] }])
  }
  for (const { name, root } of lockVerifier.guards()) {
    if (found.some((one) => one.root === root || one.plugin === name)) continue
    add('PreToolUse', [
      { hooks: [createWithheldHook(`The lifecycle hooks of ${name}, which guard calls, are missing. Check ${root}.`)] },
    ])
  }
  return block
}

const formatError = ({ message, problem: { hint } }: VtError): string => `${message} ${hint}`

/** Creates a hook that does not run: the user is asked about the call, with the reason. */
const createWithheldHook = (reason: string): JsonObject => ({
  withheld: reason,
  on_error: 'ask',
  onError: 'ask',
  async: false,
})

/** Reports hooks for events that never happen: a misspelt event name would leave a guard without effect. */
export function findUnknownEvents(block: HookGroups): Diagnostic[] {
  const named = Object.keys(block)
  if (named.length === 0) return []
  const { hooks } = readContract('config.1.json')['properties'] as Record<string, { 'x-fired'?: string[] }>
  const fired = hooks!['x-fired']!
  const foldEvent = (event: string) => event.replaceAll('_', '').toLowerCase()
  const unknown = named.filter((event) => !fired.some((known) => foldEvent(known) === foldEvent(event)))
  return unknown.map((event) => {
    const like = findNearest(event, fired)
    return createDiagnostic('VT_HOOK_NEVER', { event, nearest: like ? `; nearest: ${like}` : '' }, [], 'warning')
  })
}
