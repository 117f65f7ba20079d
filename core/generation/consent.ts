import { join } from 'node:path'
import { loadSettings, type SettingsOptions } from '../config/index.js'
import { discoverManifests, findMarkers, listPlugins } from '../manifests/index.js'
import { findSkills } from '../skills/index.js'
import {
  toTrustItem,
  toSkillItem,
  needsConsent,
  createTreeReader,
  joinItems,
  type Trust,
  type TrustItem,
} from '../trust/index.js'

/**
 * Lists everything in a workspace that needs the user's consent, given or not, and runs none of it: settings in code
 * are read only if trusted already. An item that cannot be hashed is left out, because it is never trusted.
 */
export async function listConsentItems({
  user,
  trust,
  ...options
}: SettingsOptions & { user: string; trust: Trust }): Promise<TrustItem[]> {
  // Data that waits for consent may name more manifests, so the search treats its consent as given.
  const loaded = await loadSettings({
    ...options,
    inspecting: true,
    isTrusted: (id, digest) => id.includes('#') || trust.isTrusted({ id, digest }),
  })
  const { contributions, packages } = await discoverManifests({ ...options, user, loaded })
  const found = new Map(loaded.items.map((item) => [item.id, item]))
  const tree = createTreeReader()
  for (const contribution of contributions) {
    if (!needsConsent(contribution)) continue
    try {
      const item = toTrustItem(contribution, options.workspace, tree)
      found.set(item.id, joinItems(item, found.get(item.id)))
    } catch {
      // The contribution stays untrusted, which `doctor` reports.
    }
  }
  const findOrigin = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const skills = findSkills({
    ...options,
    cwd: process.cwd(),
    user,
    plugins: listPlugins({ contributions, packages }),
    settings: loaded.settings.skills,
    findOrigin,
    trusted: () => false,
  })
  const withManifests = skills.all.filter(
    ({ layer, folder }) => layer === 'workspace' && findMarkers(folder).length > 0,
  )
  const skillContributions =
    withManifests.length === 0
      ? []
      : (await discoverManifests({ ...options, user, loaded, skills: withManifests })).contributions.filter(
          (one) => one.skill,
        )
  for (const skill of skills.all.filter(({ layer }) => layer === 'workspace')) {
    // Consent decides whether the skill is listed, takes a name from another layer, or adds tools.
    const manifestPaths = findMarkers(skill.folder).map((name) => join(skill.folder, name))
    const rival = skill.state === 'shadowed' && skills.find(skill.name)?.layer !== 'workspace'
    if (skill.state === 'inactive' || (skill.state !== 'untrusted' && !rival && manifestPaths.length === 0)) continue
    try {
      const item = toSkillItem(skill.folder, options.workspace, manifestPaths)
      const parts = skillContributions
        .filter(({ root }) => root === skill.folder)
        .map((one) => toTrustItem(one, options.workspace, tree))
      found.set(
        item.id,
        parts.reduceRight((whole, part) => joinItems(whole, part), item),
      )
    } catch {
      // The skill cannot be hashed, and is never trusted.
    }
  }
  return [...found.values()]
}
