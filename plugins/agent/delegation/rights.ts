import type { Mode, RightsScope, SlotInfo } from '../../../core/shapes/index.js'
import { pickStricterMode } from '../../../core/config/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { hasGrant } from '../../../core/registry/index.js'
import type { AgentSettings } from '../base/index.js'
import type { AgentDefinition } from './find_agents.js'

/** The rights of a child: never more than those of its parent. */
export interface ChildRights {
  mode: Mode
  /** The names of allowed slots, and globs that written paths must match. */
  only: RightsScope & { tools: readonly string[] }
  /** The child can change files. */
  writes: boolean
}
/** The rights that a child cannot exceed. */
export interface ParentRights {
  mode: Mode
  only: RightsScope | undefined
}
type RequestedRights = Pick<AgentDefinition, 'tools' | 'disallowed' | 'mode' | 'trusted'>
/** Tools that only a conversation with a person may use. */
const PARENT_TOOLS = ['propose_plan', 'request_user_input']
export const REPORT_TOOL = 'report_result'
export const AGENTS_TOOL = 'agents'

/** Removes the tools of delegated work that a conversation may not use. */
export const excludeDelegationTools = <T extends { name: string }>(
  tools: T[],
  { isPart, canDelegate }: { isPart: boolean; canDelegate: boolean },
): T[] => tools.filter(({ name }) => (name === REPORT_TOOL ? isPart : name !== AGENTS_TOOL || canDelegate))

/** Returns whether a conversation below `depth` others may start agents. */
export const mayDelegate = (settings: Pick<AgentSettings, 'subagents'>, depth: number): boolean =>
  settings.subagents.enabled && depth < settings.subagents.max_depth

/** The number of conversations above that of a person; 1 in a program that the command of an agent started. */
export const countOuterConversations = (env: Record<string, string | undefined>): number =>
  env['VTCODE'] === '1' ? 1 : 0

/** Returns the rights that both scopes allow: of globs, the members of both lists. */
export function intersectRights(
  kernel: Kernel,
  one: RightsScope | undefined,
  other: RightsScope | undefined,
): RightsScope | undefined {
  if (!one || !other) return one ?? other
  const isAmong =
    (names: readonly string[]) =>
    (slot: SlotInfo): boolean =>
      hasGrant(names, slot)
  const tools =
    one.tools && other.tools
      ? kernel
          .list()
          .filter((slot) => isAmong(one.tools!)(slot) && isAmong(other.tools!)(slot))
          .map(({ slot }) => slot)
      : (one.tools ?? other.tools)
  const writes =
    one.writes && other.writes
      ? one.writes.filter((glob) => other.writes!.includes(glob))
      : (one.writes ?? other.writes)
  return { ...(tools && { tools }), ...(writes && { writes }) }
}

/** Limits the rights of the parent to those of the definition. An untrusted definition only reads. */
export function computeChildRights(
  kernel: Kernel,
  parent: ParentRights,
  agent: RequestedRights,
  how: { delegates: boolean; write_paths?: readonly string[] },
): ChildRights {
  const mode = agent.trusted ? pickStricterMode(parent.mode, agent.mode ?? parent.mode) : 'plan'
  // Each of these lists must allow the slot.
  const limits = [parent.only?.tools, agent.trusted ? undefined : ['read'], agent.tools]
  const isAllowed = (slot: SlotInfo): boolean =>
    !PARENT_TOOLS.includes(slot.tool) &&
    limits.every((names) => !names || hasGrant(names, slot)) &&
    !agent.disallowed.some((name) => hasGrant([name], slot))
  const allowed = kernel.list().filter(isAllowed)
  const writes = mode !== 'plan' && allowed.some(({ effects }) => effects.includes('write'))
  const globs = how.write_paths ?? parent.only?.writes
  const delegates =
    how.delegates &&
    agent.trusted &&
    (!agent.tools || agent.tools.includes(AGENTS_TOOL)) &&
    !agent.disallowed.includes(AGENTS_TOOL)
  return {
    mode,
    only: {
      tools: [...allowed.map(({ slot }) => slot), ...(delegates ? [AGENTS_TOOL] : []), REPORT_TOOL],
      ...(globs && { writes: globs }),
    },
    writes,
  }
}
