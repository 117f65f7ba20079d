import { join, relative } from 'node:path'
import { problem, type VtError } from '../shapes/index.js'
import type { LoadedSettings } from '../config/index.js'
import type { Discovery } from '../manifests/index.js'
import type { Withheld } from '../registry/index.js'
import { needsConsent, type Guard, type LockVerifier, type MissingGuard, type Trust } from '../trust/index.js'

type Found = Pick<Discovery, 'contributions' | 'invalid'>

/**
 * Returns the contributions that may not run, by id: their files differ from the lock, or the user has not agreed to
 * them.
 */
export function findWithheld(
  { contributions }: Found,
  trust: Trust,
  lockVerifier: LockVerifier,
): Map<string, Withheld> {
  const withheld = new Map<string, Withheld>()
  const trusted = trust.listTrusted(contributions.filter(needsConsent))
  for (const contribution of contributions) {
    const { id, root } = contribution
    const unlocked = lockVerifier.findObjection(contribution)
    if (unlocked) {
      const agreed = lockVerifier.findEntry(root) !== undefined
      withheld.set(id, { state: 'unlocked', error: unlocked, agreed })
    } else if (needsConsent(contribution) && !trusted.has(contribution)) {
      const earlier = trust.findEarlier(contribution)
      withheld.set(id, {
        state: 'untrusted',
        error: problem('VT_PLUGIN_UNTRUSTED', { id }, earlier && { hint: CHANGED_HINT }),
        ...(earlier && { agreed: true, ...(earlier.guards && { covers: earlier.guards }) }),
      })
    }
  }
  return withheld
}
const CHANGED_HINT = 'It changed since you agreed to it. Check it and agree with `vtcode trust`.'

interface LostGuard extends Pick<MissingGuard, 'id' | 'covers'> {
  error: VtError
}

/**
 * Returns the guards that the user agreed to and that are not there any more: changed settings with hooks or in code,
 * and manifests that are gone or replaced. Changed manifests are withheld.
 */
export function findLostGuards(sources: {
  found: Found
  loaded: Pick<LoadedSettings, 'items' | 'settings' | 'origins'>
  trust: Trust
  workspace: string
}): LostGuard[] {
  const { loaded, trust } = sources
  const changed = new Map<string, LostGuard>()
  for (const item of loaded.items) {
    const { id } = item
    const earlier = trust.isTrusted(item) ? undefined : trust.findEarlier(id)
    if (earlier && (earlier.guards ?? item.guards ?? []).length > 0)
      changed.set(id, { id, error: problem('VT_PLUGIN_UNTRUSTED', { id }, { hint: CHANGED_HINT }) })
  }
  return [...changed.values(), ...trust.list().flatMap(({ id }) => findLostManifest(id, sources) ?? [])]
}

function findLostManifest(
  id: string,
  { found, loaded, trust, workspace }: Parameters<typeof findLostGuards>[0],
): LostGuard | undefined {
  // A skill is there only while it is loaded.
  if (id.startsWith('skill:')) return undefined
  const { guards = [] } = trust.findEarlier(id) ?? {}
  const lost = guards.find(({ manifest }) => manifest && isLost(manifest, found, loaded, workspace))?.manifest
  if (!lost) return undefined
  const error = problem(
    'VT_PLUGIN_LOCK',
    {
      id,
      problem: `guards calls with your consent, but ${lost.file} is missing or not used`,
      way: `Restore it and agree with \`vtcode trust\`, or give the guard up with \`vtcode trust revoke ${id}\`.`,
    },
    { details: { files: [join(workspace, lost.file)] } },
  )
  return { id, error, covers: guards }
}

/** Returns whether a manifest takes no part any more, although the user's own settings do not leave it out. */
function isLost(
  { file, kind }: NonNullable<Guard['manifest']>,
  { contributions, invalid }: Found,
  { settings: { plugins }, origins }: Pick<LoadedSettings, 'settings' | 'origins'>,
  workspace: string,
): boolean {
  const isAt = (one: { file: string }): boolean => relative(workspace, one.file) === file
  if (contributions.some((one) => isAt(one) && one.kind === kind)) return false
  const unused = invalid.filter(isAt)
  if (unused.length > 0) return unused.some((one) => one.state === 'invalid' || one.removed_by === 'workspace')
  // Only the user may leave out all plugins of a workspace: a repository must not end its own guard.
  const isOwn = (path: string): boolean => origins.find((one) => one.path === path)?.layer !== 'workspace'
  const isOff = plugins.enabled === false && isOwn('plugins.enabled')
  return !isOff && !(plugins.workspace === 'off' && isOwn('plugins.workspace'))
}
