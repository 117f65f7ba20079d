import type { Context } from '../../../core/contract/index.js'

/** A running command that accepts input, described for a person. */
export interface StartedCommand {
  command: string | string[]
  cwd: string
  /** Identifies this start; another program under the same id has another mark. */
  mark: string
  isRunning(): boolean
}

/** Returns the started commands by id in a session, so that a question about input can name its command. */
export const getStartedCommands = ({ session }: Pick<Context, 'session'>): Map<string, StartedCommand> =>
  session.state('exec/commands', () => new Map<string, StartedCommand>())

/** Checks whether a command of a session runs, which may be between two calls. */
export const hasRunningCommand = (session: Context['session']): boolean =>
  [...getStartedCommands({ session }).values()].some((command) => command.isRunning())
