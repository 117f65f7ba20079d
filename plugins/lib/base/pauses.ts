/** Milliseconds for which nobody else waits long. */
const MAX_BUSY_MS = 20

/** What is awaited between two pieces of one work that may be long: it lets others go on where this process was kept busy. */
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
