/** Settles `reached` when output came and then none for `ms` milliseconds. */
export class SilenceTimer {
  readonly reached: Promise<void>
  private reach!: () => void
  private timer: NodeJS.Timeout | undefined
  constructor(private readonly ms: number) {
    this.reached = new Promise((resolve) => (this.reach = resolve))
  }
  begin(since = 0): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(this.reach, Math.max(0, this.ms - since))
  }
  stop(): void {
    clearTimeout(this.timer)
  }
}
