import { Command, CommanderError } from 'commander'
import type { Io } from '../../core/index.js'

/** A verb with sub-commands; what it prints goes through the streams of the surface. */
export function verb(name: string, description: string, io: Io): Command {
  return new Command(`vtcode ${name}`)
    .description(description)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void io.stdout.write(text), writeErr: (text) => void io.stderr.write(text) })
    .showSuggestionAfterError()
}

/** Runs the sub-command that the words name. A wrong command line is 2, help is 0; otherwise the action says it by `done`. */
export async function run(command: Command, argv: string[], done: () => number): Promise<number> {
  try {
    await command.parseAsync(argv, { from: 'user' })
    return done()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}
