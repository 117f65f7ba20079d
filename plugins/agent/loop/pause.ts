import { unlessAborted } from '../../lib/base/index.js'

/** Holds what wants to pass while it is shut. */
export class Gate {
  private opened: Promise<void> = Promise.resolve()
  private release: (() => void) | undefined

  shut(): void {
    if (!this.release) this.opened = new Promise((resolve) => (this.release = resolve))
  }
  open(): void {
    this.release?.()
    this.release = undefined
  }
  /** Resolves when it is open. Throws the reason of the signal. */
  async passed(signal: AbortSignal): Promise<void> {
    if (this.release) await unlessAborted(signal, this.opened)
  }
}
