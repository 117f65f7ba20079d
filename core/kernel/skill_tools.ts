import { firstLine, inside } from '../base/index.js'
import type { Skill } from '../skills/index.js'
import { treeDigest } from '../trust/index.js'
import type { Generation } from './generation.js'
import type { SkillActivation } from './plugin_types.js'

/** What bringing needs of the kernel, in whose turn it runs. */
export interface Turn {
  current(): Generation
  /** The next generation, with these skills beside those that take part already. */
  build(more: readonly Skill[]): Promise<Generation>
  /** Contract: false, and the generation is not entered, when the kernel has been closed. */
  enter(next: Generation): boolean
}

/** The skills whose manifests take part. */
export class ActivatedSkills {
  /** By folder: the sessions that loaded it, and its files as they were then. */
  private readonly known = new Map<string, { skill: Skill; sessions: Set<string>; digest: string }>()
  constructor(private readonly turn: Turn) {}

  all(): Skill[] {
    return [...this.known.values()].map(({ skill }) => skill)
  }

  /** Where anything of the skill waits for consent, the next generation is built and not entered: it tells what that would be. */
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

  /** Forgets what this session alone had loaded. Was there anything? */
  leave(session: string): boolean {
    const idle = [...this.known].filter(([, { sessions }]) => sessions.delete(session) && sessions.size === 0)
    return idle.filter(([folder]) => this.known.delete(folder)).length > 0
  }
}

function of({ folder }: Skill, { registry }: Generation): SkillActivation {
  const infos = registry.infos.filter(({ file }) => inside(folder, file))
  return { active: infos.filter(({ state }) => state === 'active'), left: infos.filter(({ state }) => state !== 'active') }
}
