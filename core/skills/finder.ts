import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fromError, type Diagnostic, type Settings } from '../shapes/index.js'
import type { Origin } from '../config/index.js'
import { itemForSkill, type LockVerifier, type Trust } from '../trust/index.js'
import { findSkills } from './find.js'
import type { SkillLocations } from './locations.js'
import type { SkillCache } from './scan.js'
import type { Skills } from './types.js'

export interface Finder extends Omit<SkillLocations, 'cwd' | 'settings' | 'declaredBy' | 'trusted'> {
  loaded: { settings: Settings; readonly origins: Origin[] }
  trust: Pick<Trust, 'isTrusted'>
  lockVerifier: LockVerifier
}

/** Finds the skills on first use; a start that needs no skills searches none. */
export function skillFinder({
  loaded,
  trust,
  lockVerifier,
  ...locations
}: Finder): (how?: { fresh?: boolean }) => Skills {
  const cache: SkillCache = new Map()
  let found: Skills | undefined
  const declaredBy = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const trusted = (folder: string) => {
    try {
      return trust.isTrusted(itemForSkill(folder, locations.workspace))
    } catch {
      return false
    }
  }
  return ({ fresh = false } = {}) => {
    if (!fresh && found) return found
    const plugins = locations.plugins.map((plugin) => ({ ...plugin, ...faultOf(plugin, lockVerifier) }))
    return (found = findSkills(
      { ...locations, plugins, cwd: process.cwd(), settings: loaded.settings.skills, declaredBy, trusted },
      cache,
    ))
  }
}

/** Disables the skills of a plugin whose files differ from those that the user agreed to; a plugin without skills is not read for that. */
function faultOf(
  { root, skills }: SkillLocations['plugins'][number],
  lockVerifier: LockVerifier,
): { fault?: Diagnostic } {
  const error = skills || existsSync(join(root, 'skills')) ? lockVerifier.fault(root) : undefined
  return error ? { fault: fromError(error, root) } : {}
}

/** The skill folders that are watched. */
export const skillLocations = ({
  workspace,
  home,
  user,
}: {
  workspace: string
  home: string
  user: string
}): string[] =>
  [
    home,
    ...[workspace, user].flatMap((folder) => [join(folder, '.agents'), join(folder, '.claude')]),
    join(workspace, '.vtcode'),
  ].map((folder) => join(folder, 'skills'))
