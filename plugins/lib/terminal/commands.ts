import { Command, CommanderError } from 'commander'
import type { Io } from '../../../core/kernel/index.js'
import { helpWidth } from './slot_help.js'
import { say } from './terminal.js'

/** A verb with sub-commands; what it prints goes through the streams of the surface. */
export function verb(name: string, description: string, io: Io): Command {
  return new Command(`vtcode ${name}`)
    .description(description)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void io.stdout.write(text), writeErr: (text) => void io.stderr.write(text), getOutHelpWidth: () => helpWidth, outputError: (text) => explain(text, name, io) })
    .showSuggestionAfterError()
    .addHelpText('after', '\nFlags that every verb takes: `vtcode help`.')
}

/** Runs the sub-command that the words name. A wrong command line is 2, help is 0; otherwise the action says it by `done`. */
export async function runCommand(command: Command, argv: string[], done: () => number): Promise<number> {
  try {
    await command.parseAsync(argv, { from: 'user' })
    return done()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}

// Flags that one verb knows and another does not: where they belong.
const belongs = {
  '--model': 'it goes with ask, exec, chat and resume',
  '--provider': 'it goes with ask, exec, chat and resume',
  '--session-id': 'it goes with ask, exec, chat and resume --fork',
  '--resume': 'it goes with ask, exec and chat',
  '--continue': 'it goes with ask, exec, chat and resume',
  '--json': 'it goes with call, ask, exec, resume and with lists',
  '--agent': 'there are no agents to choose from yet',
  '--surface': 'the chat is drawn inline, and --plain is line by line',
  '--remote': 'there are no other machines to work on yet',
}
/** What is wrong, and where the right form stands unless that is said already. */
function explain(text: string, name: string, io: Io): void {
  const reason = known(text)
  say(io, 'error', reason ?? text.trimEnd().replace(/^error: /, ''))
  if (reason === undefined) io.stderr.write(`See \`vtcode ${name} --help\`.\n`)
}

function known(text: string): string | undefined {
  const flag = /unknown option '(--[a-z-]+)/.exec(text)?.[1] ?? ''
  // A word that is no sub-command is taken for an argument of the one that needs no name.
  if (text.includes("too many arguments for 'list'")) return 'Unknown sub-command; --help lists them.'
  return Object.hasOwn(belongs, flag) ? `${flag} has no place here; ${belongs[flag as keyof typeof belongs]}.` : undefined
}
