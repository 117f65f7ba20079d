import { basename, dirname } from 'node:path'
import { deepFreeze, report } from '../shapes/index.js'
import { wildcard } from '../text/index.js'
import { treesOnce } from '../trust/index.js'
import { rootsOf, type SkillLocations } from './locations.js'
import { scanRoot, stopwatch, type SkillScan, type FoundSkill, type SkillCache } from './scan.js'
import type { Skill, Skills } from './types.js'

/** Finds the skills in all places, in the order of precedence. One bad file never hides another; none disappears silently. */
export function findSkills(locations: SkillLocations, cache: SkillCache = new Map()): Skills {
  const { settings, trusted } = locations
  const finding: SkillScan = { all: [], skipped: [], diagnostics: [], late: stopwatch() }
  const roots = rootsOf(locations, finding.diagnostics)
  for (const root of roots) scanRoot(root, finding, cache)
  identify(finding.all)
  for (const skill of finding.all) {
    const pattern = settings.disable.find((pattern) => wildcard(pattern)(skill.id) || wildcard(pattern)(skill.name))
    if (pattern !== undefined)
      Object.assign(skill, { state: 'inactive', reason: `taken away by '${pattern}' in skills.disable` })
  }
  const isTrusted = (skill: Skill) => skill.layer !== 'workspace' || trusted(skill.folder)
  if (settings.workspace === 'trusted') {
    for (const skill of finding.all) {
      if (skill.state === 'active' && !isTrusted(skill))
        Object.assign(skill, {
          state: 'untrusted',
          reason: 'it comes with the workspace and is not trusted; see `vtcode trust`',
        })
    }
  }
  settle(finding, isTrusted)
  // A plugin that was changed brings nothing.
  const used = roots.filter(
    ({ off, layer }) => off === undefined && (layer !== 'workspace' || settings.workspace !== 'off'),
  )
  const instructions = used.flatMap(({ prefix: plugin, layer, beside }) =>
    (beside?.instructions ?? []).map((file) => ({ plugin, layer, file })),
  )
  const agents = used.flatMap(({ prefix: plugin, beside }) =>
    (beside?.agents ?? []).map((agent) => ({ plugin, ...agent })),
  )
  return Object.freeze({
    ...indexOf(finding, settings.pin),
    instructions: deepFreeze(instructions),
    agents: deepFreeze(agents),
  })
}

/** Ids name exactly one: the second of a name in one place also says the folder that it lies in. */
function identify(skills: FoundSkill[]): void {
  const taken = new Set<string>()
  for (const skill of skills) {
    const [prefix] = skill.id.split(':')
    const nearby = basename(dirname(dirname(skill.folder)))
    let id = skill.id
    if (taken.has(id)) id = `${prefix}/${nearby}:${skill.name}`
    for (let n = 2; taken.has(id); n++) id = `${prefix}/${nearby}@${n}:${skill.name}`
    taken.add(id)
    skill.id = id
  }
}

/** Gives each bare name to one skill: the first, but to one of the workspace only when no other layer has it or the user agreed. */
function settle(finding: SkillScan, isTrusted: (skill: Skill) => boolean): void {
  const names = new Map<string, FoundSkill[]>()
  for (const skill of finding.all) {
    if (skill.state === 'active') names.set(skill.name, [...(names.get(skill.name) ?? []), skill])
  }
  for (const [name, [...rivals]] of names) {
    if (rivals.length === 1) continue
    const winner = rivals.find((skill) => isTrusted(skill)) ?? rivals[0]!
    const digest = digester()
    for (const loser of rivals) {
      if (loser === winner) continue
      const first = finding.all.indexOf(loser) < finding.all.indexOf(winner)
      if (
        loser.body === undefined &&
        digest(winner.folder) !== undefined &&
        digest(loser.folder) === digest(winner.folder)
      ) {
        winner.also_at = [...winner.also_at, loser.folder]
        finding.all.splice(finding.all.indexOf(loser), 1)
        continue
      }
      const reason = first
        ? 'a skill of the workspace takes no name of another layer until you agree to it with `vtcode trust`'
        : `${winner.id} comes first`
      Object.assign(loser, { state: 'shadowed', reason })
      finding.diagnostics.push(
        report(
          'VT_SKILL_SHADOWED',
          { name, winner: winner.id, loser: loser.id, reason },
          [winner.file, loser.file],
          'warning',
        ),
      )
    }
  }
}

function digester(): (folder: string) => string | undefined {
  const tree = treesOnce()
  return (folder) => {
    try {
      return tree(folder).digest
    } catch {
      return undefined
    }
  }
}

function indexOf({ all, skipped, diagnostics }: SkillScan, pins: string[]): Omit<Skills, 'instructions' | 'agents'> {
  const usable = all.filter(({ state }) => state === 'active' || state === 'shadowed')
  const byName = new Map(usable.map((skill) => [skill.id, skill]))
  for (const skill of usable) if (skill.state === 'active') byName.set(skill.name, skill)
  const offered = usable.filter(({ state, hidden }) => state === 'active' && !hidden)
  const pinned = new Set(pins.flatMap((pin) => offered.find(({ name, id }) => name === pin || id === pin) ?? []))
  const catalogue = [...pinned, ...offered.filter((skill) => !pinned.has(skill))]
  return {
    all: deepFreeze(all),
    skipped: deepFreeze(skipped),
    diagnostics: deepFreeze(diagnostics),
    find: (name: string) => byName.get(name),
    catalogue: deepFreeze(catalogue),
  }
}
