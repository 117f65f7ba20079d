import { deadline } from '../../../core/system/index.js'
import { problem } from '../../../core/index.js'

/** How many times longer than at first the pause is at most. */
const longest = 32

/**
 * Runs work for a series of requests: one run at a time, one more for all that came meanwhile, and never more often than every `pause_ms`.
 * Where requests go on without end the pause doubles each time, until it was quiet for as long as a pause.
 */
export function coalesced(work: () => Promise<void>, pause_ms: number, signal: AbortSignal): () => void {
  let requested = false
  let running = false
  const run = async (): Promise<void> => {
    running = true
    try {
      for (let times = 1; requested && !signal.aborted; times = Math.min(longest, times * 2)) {
        requested = false
        await work().catch(() => {})
        await pause(pause_ms * times, signal)
      }
    } catch {
      // The server has ended.
    } finally {
      running = false
    }
  }
  return () => {
    requested = true
    if (!running) void run()
  }
}

/** Throws VT_CALL_ABORTED. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 && !signal.aborted) return
  using limit = deadline(ms, signal)
  if (!limit.signal.aborted)
    await new Promise((resolve) => limit.signal.addEventListener('abort', resolve, { once: true }))
  if (!limit.expired) throw problem('VT_CALL_ABORTED')
}
