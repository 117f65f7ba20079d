/** The seconds until a program is ended, counted from its start or from the last call on it. */
export interface TimeLimit {
  seconds: number
  since: 'start' | 'call'
}

/** Calls a function once when a time limit is reached. */
export class LimitTimer {
  private timer: NodeJS.Timeout
  private stopped = false

  constructor(
    public limit: TimeLimit,
    private readonly run: () => void,
  ) {
    this.timer = this.start()
  }

  /** Notes a call on the program. */
  touch(): void {
    if (this.limit.since === 'call') this.timer.refresh()
  }

  /** Replaces the limit; the new one begins now. */
  replace(limit: TimeLimit): void {
    clearTimeout(this.timer)
    this.limit = limit
    if (!this.stopped) this.timer = this.start()
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  private start(): NodeJS.Timeout {
    return setTimeout(this.run, this.limit.seconds * 1000)
  }
}
