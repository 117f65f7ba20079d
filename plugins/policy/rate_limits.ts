import type { Policy, Workspace } from '../../core/index.js'
import { isSpelling } from '../../core/registry/index.js'

const MINUTE_MS = 60_000

/** Times of the calls that count for each limit. Per workspace: a new session does not reset a limit. */
const callTimes = new WeakMap<Workspace, Map<string, number[]>>()

/** Limits calls a minute for a slot, tool or alias; the hint contains the time to wait. */
const limitRates: Policy = (call, { settings, slot, workspace, explain }) => {
  const limits = Object.entries(settings.policy.constraints).flatMap(([name, { max_calls_per_minute: most }]) =>
    most !== undefined && isSpelling(name, slot) ? [{ name, most }] : [],
  )
  if (limits.length === 0) return undefined
  const counts = callTimes.get(workspace) ?? new Map<string, number[]>()
  callTimes.set(workspace, counts)
  for (const { name, most } of limits) {
    const recent = (counts.get(name) ?? []).filter((at) => call.at - at < MINUTE_MS)
    counts.set(name, recent)
    if (recent.length < most) continue
    const seconds = Math.max(1, Math.ceil((recent[recent.length - most]! + MINUTE_MS - call.at) / 1000))
    return {
      deny: `${name} is limited to ${most} calls a minute.`,
      code: 'VT_POLICY_RATE',
      hint: `Wait ${seconds} s, or do something else meanwhile.`,
      details: { retry_after_secs: seconds },
    }
  }
  // An explained call is not made.
  if (!explain) for (const { name } of limits) counts.get(name)!.push(call.at)
  return undefined
}
export default limitRates
