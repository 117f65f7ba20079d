import type { Result } from '../../../core/base/index.js'
import { ownCall } from '../loop/index.js'
import type { PlannedPart } from './plan_part.js'
import { agentsTool } from './rights.js'
import type { DelegatingConversation } from './types.js'

/** What a person, or a policy, says against work that changes files; nothing where it may begin. */
export async function refusalOf(thread: DelegatingConversation, { agent, label, isolation, write_paths }: PlannedPart['child'], signal: AbortSignal): Promise<Result | undefined> {
  const input = { action: 'begin', agent, isolation, ...(label !== '' && { label }), ...(write_paths && { write_paths: [...write_paths] }) }
  const { result } = await ownCall(thread, agentsTool, input, signal)
  return result.ok ? undefined : result
}
