/** What a session does when the process is stopped, goes on, or has to end. */
export interface SignalHandlers {
  /** Gives the terminal back; at once. `over`: for good. */
  leave(over: boolean): void
  /** Takes it again. */
  enter(): void
  /** Somebody outside wants the process to end. */
  end(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void
}

// Whoever else takes raw mode away and back when the process is stopped has done so by then.
const SETTLE_MS = 40
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Guards the terminal against every way in which a process ends or stops. Returns what takes the guards away. */
export function guardTerminal({ leave, enter, end }: SignalHandlers): () => void {
  let timer: NodeJS.Timeout | undefined
  const onStop = (): void => {
    leave(false)
    // Without a handler of a host nobody stops the process now.
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
      // As without us: the process ends by the signal, with the terminal as it was.
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
