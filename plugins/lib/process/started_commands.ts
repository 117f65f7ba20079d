import type { Context } from '../../../core/contract/index.js'

/** A command that takes input, as a person knows it. */
export interface StartedCommand {
  command: string | string[]
  cwd: string
  /** Of this one start: another program under the same id has another. */
  mark: string
}

/** What runs under which id in the session of a caller, for whoever is asked about what is sent to it. */
export const startedCommands = ({ session }: Pick<Context, 'session'>): Map<string, StartedCommand> =>
  session.state('exec/commands', () => new Map<string, StartedCommand>())
