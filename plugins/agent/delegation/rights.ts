import type { Mode, RightsLeft, SlotInfo } from '../../../core/shapes/index.js'
import { stricterMode } from '../../../core/config/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { leaves } from '../../../core/registry/index.js'
import type { AgentDefinition } from './find.js'

/** What a child may do: never more than its parent. */
export interface ChildRights {
  mode: Mode
  /** Slots by their names, and globs that written paths must match. */
  only: RightsLeft & { tools: readonly string[] }
  /** It can change files. */
  writes: boolean
}
/** The rights that a child cannot exceed. */
export interface ParentRights {
  mode: Mode
  only: RightsLeft | undefined
}
type AskedRights = Pick<AgentDefinition, 'tools' | 'disallowed' | 'mode' | 'trusted'>
/** Belongs to the conversation that has a person, or to the one above. */
const ofParent = ['propose_plan', 'request_user_input']
export const reportTool = 'report_result'
export const agentsTool = 'agents'

/** What both leave; of globs those that both name. */
export function bothRights(
  kernel: Kernel,
  one: RightsLeft | undefined,
  other: RightsLeft | undefined,
): RightsLeft | undefined {
  if (!one || !other) return one ?? other
  const among =
    (names: readonly string[]) =>
    (slot: SlotInfo): boolean =>
      leaves(names, slot)
  const tools =
    one.tools && other.tools
      ? kernel
          .list()
          .filter((slot) => among(one.tools!)(slot) && among(other.tools!)(slot))
          .map(({ slot }) => slot)
      : (one.tools ?? other.tools)
  const writes =
    one.writes && other.writes
      ? one.writes.filter((glob) => other.writes!.includes(glob))
      : (one.writes ?? other.writes)
  return { ...(tools && { tools }), ...(writes && { writes }) }
}

/** Cuts the rights of the parent by the definition. An untrusted definition only reads. */
export function childRights(
  kernel: Kernel,
  parent: ParentRights,
  agent: AskedRights,
  how: { delegates: boolean; write_paths?: readonly string[] },
): ChildRights {
  const mode = agent.trusted ? stricterMode(parent.mode, agent.mode ?? parent.mode) : 'plan'
  // A slot has to be left by each of these lists.
  const limits = [parent.only?.tools, agent.trusted ? undefined : ['read'], agent.tools]
  const isLeft = (slot: SlotInfo): boolean =>
    !ofParent.includes(slot.tool) &&
    limits.every((names) => !names || leaves(names, slot)) &&
    !agent.disallowed.some((name) => leaves([name], slot))
  const left = kernel.list().filter(isLeft)
  const writes = mode !== 'plan' && left.some(({ effects }) => effects.includes('write'))
  const globs = how.write_paths ?? parent.only?.writes
  const delegates =
    how.delegates &&
    agent.trusted &&
    (!agent.tools || agent.tools.includes(agentsTool)) &&
    !agent.disallowed.includes(agentsTool)
  return {
    mode,
    only: {
      tools: [...left.map(({ slot }) => slot), ...(delegates ? [agentsTool] : []), reportTool],
      ...(globs && { writes: globs }),
    },
    writes,
  }
}
