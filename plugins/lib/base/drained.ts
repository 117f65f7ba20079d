/** Resolves when a stream takes more, or is closed and never will. Nothing listens on it then: one that is waited for often keeps no listeners. */
export function waitForDrain(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })
}
