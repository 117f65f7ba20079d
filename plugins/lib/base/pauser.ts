/** Longest time in milliseconds that work may keep the event loop busy. */
const MAX_BUSY_MS = 20

/**
 * Returns a function to await between two steps of long work. The function yields to other tasks once this process was
 * busy for long.
 */
export function createPauser(): () => Promise<void> | undefined {
  let until = performance.now() + MAX_BUSY_MS
  return () => {
    if (performance.now() < until) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        until = performance.now() + MAX_BUSY_MS
        resolve()
      })
    })
  }
}
