/** Handlers of a session for stop, continue and end of the process. */
export interface SignalHandlers {
  /** Restores the terminal synchronously. `over`: for good. */
  leave(over: boolean): void
  /** Takes the terminal again. */
  enter(): void
  /** Called when a signal ends the process. */
  end(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void
}

// Delay after which other handlers have switched raw mode.
const SETTLE_MS = 40
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Restores the terminal whenever the process ends or stops. Returns a function that removes the handlers. */
export function guardTerminal({ leave, enter, end }: SignalHandlers): () => void {
  let timer: NodeJS.Timeout | undefined
  const onStop = (): void => {
    leave(false)
    // Stop the process, unless a handler of the host does.
    if (process.listenerCount('SIGTSTP') > 1) return
    process.off('SIGTSTP', onStop)
    process.kill(process.pid, 'SIGTSTP')
    timer = setTimeout(() => process.prependListener('SIGTSTP', onStop), SETTLE_MS / 2)
  }
  const onContinue = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!process.listeners('SIGTSTP').includes(onStop)) process.prependListener('SIGTSTP', onStop)
      enter()
    }, SETTLE_MS)
  }
  const endHandlers = END_SIGNALS.map((signal) => {
    const onSignal = (): void => {
      end(signal)
      if (process.listenerCount(signal) > 1) return
      // End by the signal, with the terminal restored.
      leave(true)
      process.off(signal, onSignal)
      process.kill(process.pid, signal)
    }
    return [signal, onSignal] as const
  })
  const onExit = (): void => leave(true)
  process.on('exit', onExit)
  process.prependListener('SIGTSTP', onStop)
  process.on('SIGCONT', onContinue)
  for (const [signal, ended] of endHandlers) process.prependListener(signal, ended)
  return () => {
    clearTimeout(timer)
    process.off('exit', onExit)
    process.off('SIGTSTP', onStop)
    process.off('SIGCONT', onContinue)
    for (const [signal, ended] of endHandlers) process.off(signal, ended)
  }
}
