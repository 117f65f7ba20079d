import { startDeadline } from '../../../core/system/index.js'
import { problem } from '../../../core/index.js'

/** The longest pause, as a multiple of the first. */
const MAX_FACTOR = 32

/**
 * Runs work for a series of requests: one run at a time, one more for all requests in between, and at most one every
 * `pause_ms`. The pause doubles with each run, until one pause passes without a request.
 */
export function coalesce(work: () => Promise<void>, pause_ms: number, signal: AbortSignal): () => void {
  let requested = false
  let running = false
  const run = async (): Promise<void> => {
    running = true
    try {
      for (let times = 1; requested && !signal.aborted; times = Math.min(MAX_FACTOR, times * 2)) {
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
  using limit = startDeadline(ms, signal)
  if (!limit.signal.aborted)
    await new Promise((resolve) => limit.signal.addEventListener('abort', resolve, { once: true }))
  if (!limit.expired) throw problem('VT_CALL_ABORTED')
}
