import { firstLine } from '../shapes/index.js'
import { inside } from '../system/index.js'
import type { Skill } from '../skills/index.js'
import { treeDigest } from '../trust/index.js'
import type { Generation } from './generation.js'
import type { SkillActivation } from '../contract/index.js'

/** The parts of the kernel that activating a skill needs. */
export interface Turn {
  current(): Generation
  /** Builds the next generation, with these skills beside the active ones. */
  build(more: readonly Skill[]): Promise<Generation>
  /** Contract: false, and the generation is not entered, when the kernel has been closed. */
  enter(next: Generation): boolean
}

/** The skills whose manifests are active. */
export class ActivatedSkills {
  /** By folder: the sessions that loaded the skill, and the digest of its files at that time. */
  private readonly known = new Map<string, { skill: Skill; sessions: Set<string>; digest: string }>()
  constructor(private readonly turn: Turn) {}

  all(): Skill[] {
    return [...this.known.values()].map(({ skill }) => skill)
  }

  /** Where a part of the skill waits for consent, the next generation is built but not entered: it shows what the skill would add. */
  async bring(skill: Skill, session: string): Promise<SkillActivation> {
    try {
      const digest = treeDigest(skill.folder)
      const known = this.known.get(skill.folder)
      if (known?.digest === digest) {
        known.sessions.add(session)
        return of(skill, this.turn.current())
      }
      const next = await this.turn.build(known ? [] : [skill])
      const { active, left } = of(skill, next)
      if (active.length === 0 || left.some(({ state }) => state === 'untrusted') || !this.turn.enter(next)) {
        await next.end()
        return { active: [], left: [...active, ...left] }
      }
      this.known.set(skill.folder, { skill, sessions: new Set([...(known?.sessions ?? []), session]), digest })
      return { active, left }
    } catch (error) {
      const { id, layer, file } = skill
      return { active: [], left: [{ id, kind: 'unknown', layer, file, state: 'invalid', reason: firstLine(error) }] }
    }
  }

  /** Removes the skills that only this session had loaded. Returns whether there were any. */
  leave(session: string): boolean {
    const idle = [...this.known].filter(([, { sessions }]) => sessions.delete(session) && sessions.size === 0)
    return idle.filter(([folder]) => this.known.delete(folder)).length > 0
  }
}

function of({ folder }: Skill, { registry }: Generation): SkillActivation {
  const infos = registry.infos.filter(({ file }) => inside(folder, file))
  return {
    active: infos.filter(({ state }) => state === 'active'),
    left: infos.filter(({ state }) => state !== 'active'),
  }
}
