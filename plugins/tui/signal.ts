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
const settling_ms = 40
const ending = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Guards the terminal against every way in which a process ends or stops. Returns what takes the guards away. */
export function guardTerminal({ leave, enter, end }: SignalHandlers): () => void {
  let timer: NodeJS.Timeout | undefined
  const stopped = (): void => {
    leave(false)
    // Without a handler of a host nobody stops the process now.
    if (process.listenerCount('SIGTSTP') > 1) return
    process.off('SIGTSTP', stopped)
    process.kill(process.pid, 'SIGTSTP')
    timer = setTimeout(() => process.prependListener('SIGTSTP', stopped), settling_ms / 2)
  }
  const continued = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!process.listeners('SIGTSTP').includes(stopped)) process.prependListener('SIGTSTP', stopped)
      enter()
    }, settling_ms)
  }
  const enders = ending.map((signal) => {
    const ended = (): void => {
      end(signal)
      if (process.listenerCount(signal) > 1) return
      // As without us: the process ends by the signal, with the terminal as it was.
      leave(true)
      process.off(signal, ended)
      process.kill(process.pid, signal)
    }
    return [signal, ended] as const
  })
  const gone = (): void => leave(true)
  process.on('exit', gone)
  process.prependListener('SIGTSTP', stopped)
  process.on('SIGCONT', continued)
  for (const [signal, ended] of enders) process.prependListener(signal, ended)
  return () => {
    clearTimeout(timer)
    process.off('exit', gone)
    process.off('SIGTSTP', stopped)
    process.off('SIGCONT', continued)
    for (const [signal, ended] of enders) process.off(signal, ended)
  }
}
