import type { Io } from '../../../core/index.js'
import { isInteractive, pickOne } from '../../lib/terminal/index.js'

/** A person ended the questions. */
export class StoppedByPerson extends Error {}

export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
}

/** Questions to a person, each with what is taken where nobody is asked. */
export class Interview {
  /** Whether somebody is asked. */
  readonly asks: boolean

  constructor(
    private readonly io: Io,
    readonly yes: boolean,
  ) {
    this.asks = !yes && isInteractive(io)
  }

  /** One of these; the first where nobody is asked. Throws StoppedByPerson. */
  async choose<T extends string>(message: string, choices: readonly Choice<T>[], otherwise: T): Promise<T> {
    if (!this.asks) return otherwise
    const chosen = await pickOne(this.io, message, choices, otherwise)
    if (chosen === undefined || this.io.signal.aborted) throw new StoppedByPerson()
    return chosen
  }

  /** Yes or no; `otherwise` where nobody is asked. Throws StoppedByPerson. */
  async wants(message: string, otherwise: boolean): Promise<boolean> {
    return (
      (await this.choose(
        message,
        [
          { value: 'yes', label: 'Yes' },
          { value: 'no', label: 'No' },
        ],
        otherwise ? 'yes' : 'no',
      )) === 'yes'
    )
  }

  /** The last word before something is written: a person's, or --yes. */
  agrees(message: string): Promise<boolean> {
    return this.asks ? this.wants(message, true) : Promise.resolve(this.yes)
  }
}
