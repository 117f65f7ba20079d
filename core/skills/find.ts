import { basename, dirname } from 'node:path'
import { deepFreeze, createDiagnostic } from '../shapes/index.js'
import { compileWildcard } from '../text/index.js'
import { createTreeReader } from '../trust/index.js'
import { listRoots, type SkillLocations } from './locations.js'
import { scanRoot, createDeadline, type SkillScan, type FoundSkill, type SkillCache } from './scan.js'
import type { Skill, Skills } from './types.js'

/**
 * Finds the skills of all roots, in the order of precedence. A bad file never hides another, and every unusable file is
 * reported.
 */
export function findSkills(locations: SkillLocations, cache: SkillCache = new Map()): Skills {
  const { settings, trusted } = locations
  const finding: SkillScan = { all: [], skipped: [], diagnostics: [], isLate: createDeadline() }
  const roots = listRoots(locations, finding.diagnostics)
  for (const root of roots) scanRoot(root, finding, cache)
  assignIds(finding.all)
  for (const skill of finding.all) {
    const pattern = settings.disable.find(
      (pattern) => compileWildcard(pattern)(skill.id) || compileWildcard(pattern)(skill.name),
    )
    if (pattern !== undefined)
      Object.assign(skill, { state: 'inactive', reason: `disabled by '${pattern}' in skills.disable` })
  }
  const isTrusted = (skill: Skill) => skill.layer !== 'workspace' || trusted(skill.folder)
  if (settings.workspace === 'trusted') {
    for (const skill of finding.all) {
      if (skill.state === 'active' && !isTrusted(skill))
        Object.assign(skill, {
          state: 'untrusted',
          reason: 'the skill is part of the workspace and not trusted; see `vtcode trust`',
        })
    }
  }
  resolveNameConflicts(finding, isTrusted)
  // A plugin whose files changed provides nothing.
  const used = roots.filter(
    ({ disabledReason, layer }) =>
      disabledReason === undefined && (layer !== 'workspace' || settings.workspace !== 'off'),
  )
  const instructions = used.flatMap(({ prefix: plugin, layer, packageContent }) =>
    (packageContent?.instructions ?? []).map((file) => ({ plugin, layer, file })),
  )
  const agents = used.flatMap(({ prefix: plugin, packageContent }) =>
    (packageContent?.agents ?? []).map((agent) => ({ plugin, ...agent })),
  )
  return Object.freeze({
    ...createIndex(finding, settings.pin),
    instructions: deepFreeze(instructions),
    agents: deepFreeze(agents),
  })
}

/** Makes ids unique: the second of the same name in one root also contains its parent folder. */
function assignIds(skills: FoundSkill[]): void {
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

/**
 * Gives each bare name to one skill: the first one. A skill of the workspace wins only if no other layer has the name
 * or the user agreed.
 */
function resolveNameConflicts(finding: SkillScan, isTrusted: (skill: Skill) => boolean): void {
  const names = new Map<string, FoundSkill[]>()
  for (const skill of finding.all) {
    if (skill.state === 'active') names.set(skill.name, [...(names.get(skill.name) ?? []), skill])
  }
  for (const [name, [...rivals]] of names) {
    if (rivals.length === 1) continue
    const winner = rivals.find((skill) => isTrusted(skill)) ?? rivals[0]!
    const digest = createDigester()
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
        ? 'a skill of the workspace cannot take a name of another layer; to allow that, use `vtcode trust`'
        : `${winner.id} comes first`
      Object.assign(loser, { state: 'shadowed', reason })
      finding.diagnostics.push(
        createDiagnostic(
          'VT_SKILL_SHADOWED',
          { name, winner: winner.id, loser: loser.id, reason },
          [winner.file, loser.file],
          'warning',
        ),
      )
    }
  }
}

function createDigester(): (folder: string) => string | undefined {
  const tree = createTreeReader()
  return (folder) => {
    try {
      return tree(folder).digest
    } catch {
      return undefined
    }
  }
}

function createIndex(
  { all, skipped, diagnostics }: SkillScan,
  pins: string[],
): Omit<Skills, 'instructions' | 'agents'> {
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
