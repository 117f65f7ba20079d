import { firstLine } from '../shapes/index.js'
import { isInside } from '../system/index.js'
import type { Skill } from '../skills/index.js'
import { readTreeDigest } from '../trust/index.js'
import type { Generation } from './generation.js'
import type { SkillActivation } from '../contract/index.js'

/** The parts of the kernel that activating a skill needs. */
export interface GenerationControl {
  current(): Generation
  /** Builds the next generation with these skills and the active ones. */
  build(more: readonly Skill[]): Promise<Generation>
  /** Activates a generation. Contract: returns false, and does not activate it, if the kernel is closed. */
  enter(next: Generation): boolean
}

/** The skills whose manifests are active. */
export class ActivatedSkills {
  /** By folder: the sessions that loaded the skill, and the digest of its files at that time. */
  private readonly known = new Map<string, { skill: Skill; sessions: Set<string>; digest: string }>()
  constructor(private readonly turn: GenerationControl) {}

  all(): Skill[] {
    return [...this.known.values()].map(({ skill }) => skill)
  }

  /**
   * Activates the manifests of a skill. If a part of the skill waits for consent, the next generation is only built, to
   * report what the skill would add.
   */
  async activate(skill: Skill, session: string): Promise<SkillActivation> {
    try {
      const digest = readTreeDigest(skill.folder)
      const known = this.known.get(skill.folder)
      if (known?.digest === digest) {
        known.sessions.add(session)
        return splitInfos(skill, this.turn.current())
      }
      const next = await this.turn.build(known ? [] : [skill])
      const { active, inactive } = splitInfos(skill, next)
      if (active.length === 0 || inactive.some(({ state }) => state === 'untrusted') || !this.turn.enter(next)) {
        await next.end()
        return { active: [], inactive: [...active, ...inactive] }
      }
      this.known.set(skill.folder, { skill, sessions: new Set([...(known?.sessions ?? []), session]), digest })
      return { active, inactive }
    } catch (error) {
      const { id, layer, file } = skill
      return {
        active: [],
        inactive: [{ id, kind: 'unknown', layer, file, state: 'invalid', reason: firstLine(error) }],
      }
    }
  }

  /** Removes the skills that only this session had loaded. Returns whether there were any. */
  release(session: string): boolean {
    const idle = [...this.known].filter(([, { sessions }]) => sessions.delete(session) && sessions.size === 0)
    return idle.filter(([folder]) => this.known.delete(folder)).length > 0
  }
}

function splitInfos({ folder }: Skill, { registry }: Generation): SkillActivation {
  const infos = registry.infos.filter(({ file }) => isInside(folder, file))
  return {
    active: infos.filter(({ state }) => state === 'active'),
    inactive: infos.filter(({ state }) => state !== 'active'),
  }
}
