import { join } from 'node:path'
import { loadSettings, type SettingsOptions } from '../config/index.js'
import { discoverManifests, markers, pluginsOf } from '../manifests/index.js'
import { findSkills } from '../skills/index.js'
import {
  itemFor,
  itemForSkill,
  needsConsent,
  treesOnce,
  withSentences,
  type Trust,
  type TrustItem,
} from '../trust/index.js'

/**
 * Everything in a workspace that needs the user's consent, given or not, without running any of it: settings
 * in code are read only when they are trusted already. An item that cannot be hashed is left out: it is never trusted.
 */
export async function consentItems({
  user,
  trust,
  ...options
}: SettingsOptions & { user: string; trust: Trust }): Promise<TrustItem[]> {
  // Data that waits for consent may name more manifests, so the search treats its consent as given.
  const loaded = await loadSettings({
    ...options,
    surveying: true,
    trusted: (id, digest) => id.includes('#') || trust.isTrusted({ id, digest }),
  })
  const { contributions, packages } = await discoverManifests({ ...options, user, loaded })
  const found = new Map(loaded.items.map((item) => [item.id, item]))
  const tree = treesOnce()
  for (const contribution of contributions) {
    if (!needsConsent(contribution)) continue
    try {
      const item = itemFor(contribution, options.workspace, tree)
      found.set(item.id, withSentences(item, found.get(item.id)?.uncovered))
    } catch {
      // The contribution stays untrusted, which `doctor` reports.
    }
  }
  const declaredBy = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const skills = findSkills({
    ...options,
    cwd: process.cwd(),
    user,
    plugins: pluginsOf({ contributions, packages }),
    settings: loaded.settings.skills,
    declaredBy,
    trusted: () => false,
  })
  const bringing = skills.all.filter(({ layer, folder }) => layer === 'workspace' && markers(folder).length > 0)
  const brought =
    bringing.length === 0
      ? []
      : (await discoverManifests({ ...options, user, loaded, skills: bringing })).contributions.filter(
          (one) => one.skill,
        )
  for (const skill of skills.all.filter(({ layer }) => layer === 'workspace')) {
    // Consent decides whether the skill is listed, takes a name from another layer, or adds tools.
    const brings = markers(skill.folder).map((name) => join(skill.folder, name))
    const rival = skill.state === 'shadowed' && skills.find(skill.name)?.layer !== 'workspace'
    if (skill.state === 'inactive' || (skill.state !== 'untrusted' && !rival && brings.length === 0)) continue
    try {
      const item = itemForSkill(skill.folder, options.workspace, brings)
      found.set(
        item.id,
        withSentences(
          item,
          brought
            .filter(({ root }) => root === skill.folder)
            .flatMap((one) => itemFor(one, options.workspace, tree).uncovered ?? []),
        ),
      )
    } catch {
      // The skill cannot be hashed, and is never trusted.
    }
  }
  return [...found.values()]
}
