import type { Policy, Workspace } from '../../core/index.js'
import { concerns } from '../../core/registry/index.js'

const minute = 60_000

/** When calls that count towards each limit were made. By workspace, not by session: a limit that ends with a new session is none. */
const made = new WeakMap<Workspace, Map<string, number[]>>()

/** So many calls a minute as the settings say, for the slot, tool or alias they say it of; the reader is told how long to wait. */
const rate_limits: Policy = (call, { settings, slot, workspace, explain }) => {
  const limits = Object.entries(settings.policy.constraints).flatMap(([name, { max_calls_per_minute: most }]) =>
    most !== undefined && concerns(name, slot) ? [{ name, most }] : [],
  )
  if (limits.length === 0) return undefined
  const counts = made.get(workspace) ?? new Map<string, number[]>()
  made.set(workspace, counts)
  for (const { name, most } of limits) {
    const recent = (counts.get(name) ?? []).filter((at) => call.at - at < minute)
    counts.set(name, recent)
    if (recent.length < most) continue
    const seconds = Math.max(1, Math.ceil((recent[recent.length - most]! + minute - call.at) / 1000))
    return {
      deny: `${name} is limited to ${most} calls a minute.`,
      code: 'VT_POLICY_RATE',
      hint: `Wait ${seconds} s, or do something else meanwhile.`,
      details: { retry_after_secs: seconds },
    }
  }
  // What is only explained is not made.
  if (!explain) for (const { name } of limits) counts.get(name)!.push(call.at)
  return undefined
}
export default rate_limits
