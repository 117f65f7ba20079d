import { Command, CommanderError } from 'commander'
import { explainFlagHabit } from '../../../core/cli/index.js'
import { findNearest } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { pluralize } from '../base/index.js'
import { HELP_WIDTH } from './slot_help.js'
import { toOneLine, say } from './terminal.js'

/** Creates a verb with sub-commands that prints to the streams of the surface. */
export function createVerb(name: string, description: string, io: Io): Command {
  const command = new Command(`vtcode ${name}`)
  return command
    .description(description)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => HELP_WIDTH,
      outputError: (text) => reportUsageError(text, command, io),
    })
    .showSuggestionAfterError()
    .addHelpText('after', '\nFlags that every verb takes: `vtcode help`.')
}

/**
 * Runs a sub-command and returns the exit code: 2 for a wrong command line, 0 for help, otherwise the result of
 * `done`.
 */
export async function runCommand(command: Command, argv: string[], done: () => number): Promise<number> {
  try {
    await command.parseAsync(argv, { from: 'user' })
    return done()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}

// Hints for flags that only other verbs take.
const FLAG_OWNERS = {
  '--model': 'it goes with ask, exec, chat and resume',
  '--provider': 'it goes with ask, exec, chat and resume',
  '--session-id': 'it goes with ask, exec, chat and resume --fork',
  '--resume': 'it goes with ask, exec and chat',
  '--continue': 'it goes with ask, exec, chat and resume',
  '--json': 'it goes with call, ask, exec, resume and with lists',
  '--agent': 'agents work parallel to a conversation, `vtcode agents` lists them',
  '--surface': 'it goes with chat',
  '--remote': 'there are no other machines to work on yet',
}
/** Prints a usage error, and the command that shows the right form. */
function reportUsageError(text: string, command: Command, io: Io): void {
  const elsewhere = explainFlag(text) ?? explainDash(text)
  if (elsewhere) return say(io, 'error', elsewhere)
  const [word = ''] = command.args
  const typed = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
  const form = [command.name(), ...(typed ? [typed.name()] : [])].join(' ')
  say(
    io,
    'error',
    (!typed && explainUnknownWord(text, word, command)) ||
      explainExtraWord(text, typed ?? command, form) ||
      text.trimEnd().replace(/^error: /, ''),
  )
  io.stderr.write(`See \`${form} --help\`.\n`)
}

/** Explains a text that was read as an option because it begins with a dash. */
function explainDash(text: string): string | undefined {
  const word = /unknown option '(-\S*\s[^]*)'/.exec(text)?.[1]
  return (
    word &&
    `'${toOneLine(word)}' looks like an option, because it begins with a dash. Write it last, after -- and a space.`
  )
}

function explainFlag(text: string): string | undefined {
  const flag = /unknown option '(--?[a-zA-Z-]+)/.exec(text)?.[1] ?? ''
  const habit = explainFlagHabit(flag)
  if (habit !== undefined) return `Unknown option '${flag}'. ${habit}`
  return Object.hasOwn(FLAG_OWNERS, flag)
    ? `${flag} has no place here; ${FLAG_OWNERS[flag as keyof typeof FLAG_OWNERS]}.`
    : undefined
}

/** Explains an unknown sub-command. With a default sub-command, commander reports the word as an extra argument. */
function explainUnknownWord(text: string, word: string, { commands }: Command): string | undefined {
  if (commands.length === 0 || !/^error: (?:unknown command|too many arguments)/.test(text)) return undefined
  const known = commands.map((one) => one.name())
  const like = findNearest(word, known)
  const suggestion = like === undefined ? '' : ` (did you mean ${like}?)`
  return `Unknown sub-command '${toOneLine(word)}'${suggestion}; known: ${known.join(', ')}.`
}

function explainExtraWord(
  text: string,
  { args, registeredArguments: { length } }: Command,
  form: string,
): string | undefined {
  if (!text.startsWith('error: too many arguments')) return undefined
  const words = length === 0 ? 'no word' : pluralize(length, 'word')
  return `'${toOneLine(args[length] ?? '')}' has no place here; \`${form}\` takes ${words} besides its flags.`
}
