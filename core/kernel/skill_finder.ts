import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Diagnostic, Settings } from '../base/index.js'
import type { Origin } from '../config/index.js'
import { fromError } from '../manifests/index.js'
import { findSkills, type SkillCache, type SkillPlaces, type Skills, type SkillSettings } from '../skills/index.js'
import { itemForSkill, type LockVerifier, type Trust } from '../trust/index.js'
import type { Host } from './plugin_types.js'

export interface Finder extends Omit<SkillPlaces, 'cwd' | 'settings' | 'said' | 'trusted'> {
  loaded: { settings: Settings; readonly origins: Origin[] }
  trust: Pick<Trust, 'isTrusted'>
  seals: LockVerifier
}

/** Looks for the skills when somebody asks; a start that needs none finds none. */
export function skillFinder({ loaded, trust, seals, ...places }: Finder): Host['skills'] {
  const cache: SkillCache = new Map()
  let found: Skills | undefined
  const said = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const trusted = (folder: string) => {
    try {
      return trust.isTrusted(itemForSkill(folder, places.workspace))
    } catch {
      return false
    }
  }
  return ({ fresh = false } = {}) => {
    if (!fresh && found) return found
    const plugins = places.plugins.map((plugin) => ({ ...plugin, ...faultOf(plugin, seals) }))
    return (found = findSkills({ ...places, plugins, cwd: process.cwd(), settings: loaded.settings['skills'] as SkillSettings, said, trusted }, cache))
  }
}

/** Skills of a plugin that is no longer what was agreed to are not used either; one without skills is not read for that. */
function faultOf({ root, skills }: SkillPlaces['plugins'][number], seals: LockVerifier): { fault?: Diagnostic } {
  const error = skills || existsSync(join(root, 'skills')) ? seals.fault(root) : undefined
  return error ? { fault: fromError(error, root) } : {}
}

/** Where skills lie, as far as they are looked after. */
export const skillPlaces = ({ workspace, home, user }: { workspace: string; home: string; user: string }): string[] =>
  [home, ...[workspace, user].flatMap((folder) => [join(folder, '.agents'), join(folder, '.claude')]), join(workspace, '.vtcode')].map((folder) => join(folder, 'skills'))
