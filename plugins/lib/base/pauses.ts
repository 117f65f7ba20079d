/** Milliseconds for which nobody else waits long. */
const mostBusy = 20

/** What is awaited between two pieces of one work that may be long: it lets others go on where this process was kept busy. */
export function pauses(): () => Promise<void> | undefined {
  let until = performance.now() + mostBusy
  return () => {
    if (performance.now() < until) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        until = performance.now() + mostBusy
        resolve()
      })
    })
  }
}
