import type { Io } from '../../../core/index.js'
import { isInteractive, pickOne } from '../../lib/terminal/index.js'

/** Thrown when a person ends the questions. */
export class StoppedByPerson extends Error {}

export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
}

/** Questions to a person, each with a default for runs that ask no one. */
export class Interview {
  /** `true` if a person is asked. */
  readonly interactive: boolean

  constructor(
    private readonly io: Io,
    readonly yes: boolean,
  ) {
    this.interactive = !yes && isInteractive(io)
  }

  /** Returns the chosen value, or `otherwise` in a run that asks no one. Throws StoppedByPerson. */
  async choose<T extends string>(message: string, choices: readonly Choice<T>[], otherwise: T): Promise<T> {
    if (!this.interactive) return otherwise
    const chosen = await pickOne(this.io, message, choices, otherwise)
    if (chosen === undefined || this.io.signal.aborted) throw new StoppedByPerson()
    return chosen
  }

  /** Asks for yes or no; returns `otherwise` in a run that asks no one. Throws StoppedByPerson. */
  async confirm(message: string, otherwise: boolean): Promise<boolean> {
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

  /** Asks a person for approval to write; a run that asks no one needs --yes. */
  confirmWrite(message: string): Promise<boolean> {
    return this.interactive ? this.confirm(message, true) : Promise.resolve(this.yes)
  }
}
