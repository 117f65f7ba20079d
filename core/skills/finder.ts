import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { toDiagnostic, type Diagnostic, type Settings } from '../shapes/index.js'
import type { Origin } from '../config/index.js'
import { toSkillItem, type LockVerifier, type Trust } from '../trust/index.js'
import { findSkills } from './find.js'
import type { SkillLocations } from './locations.js'
import type { SkillCache } from './scan.js'
import type { Skills } from './types.js'

export interface SkillFinderOptions extends Omit<SkillLocations, 'cwd' | 'settings' | 'findOrigin' | 'trusted'> {
  loaded: { settings: Settings; readonly origins: Origin[] }
  trust: Pick<Trust, 'isTrusted'>
  lockVerifier: LockVerifier
}

/** Creates a function that finds the skills on first use, so that a start without skills searches nothing. */
export function createSkillFinder({
  loaded,
  trust,
  lockVerifier,
  ...locations
}: SkillFinderOptions): (how?: { fresh?: boolean }) => Skills {
  const cache: SkillCache = new Map()
  let found: Skills | undefined
  const findOrigin = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const isTrusted = (folder: string) => {
    try {
      return trust.isTrusted(toSkillItem(folder, locations.workspace))
    } catch {
      return false
    }
  }
  return ({ fresh = false } = {}) => {
    if (!fresh && found) return found
    const plugins = locations.plugins.map((plugin) => ({ ...plugin, ...checkLock(plugin, lockVerifier) }))
    return (found = findSkills(
      { ...locations, plugins, cwd: process.cwd(), settings: loaded.settings.skills, findOrigin, trusted: isTrusted },
      cache,
    ))
  }
}

/**
 * Returns the fault that disables the skills of a plugin: its files differ from those that the user agreed to. A plugin
 * without skills is not read.
 */
function checkLock(
  { root, skills }: SkillLocations['plugins'][number],
  lockVerifier: LockVerifier,
): { fault?: Diagnostic } {
  const error = skills || existsSync(join(root, 'skills')) ? lockVerifier.findFault(root) : undefined
  return error ? { fault: toDiagnostic(error, root) } : {}
}

/** Lists the skill folders that are watched. */
export const listSkillFolders = ({
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
