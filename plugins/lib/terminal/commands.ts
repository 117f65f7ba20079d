import { Command, CommanderError } from 'commander'
import { nearest } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { pluralize } from '../base/index.js'
import { HELP_WIDTH } from './slot_help.js'
import { toOneLine, say } from './terminal.js'

/** A verb with sub-commands; what it prints goes through the streams of the surface. */
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
const FLAG_OWNERS = {
  '--model': 'it goes with ask, exec, chat and resume',
  '--provider': 'it goes with ask, exec, chat and resume',
  '--session-id': 'it goes with ask, exec, chat and resume --fork',
  '--resume': 'it goes with ask, exec and chat',
  '--continue': 'it goes with ask, exec, chat and resume',
  '--json': 'it goes with call, ask, exec, resume and with lists',
  '--agent': 'agents work beside a conversation, `vtcode agents` lists them',
  '--surface': 'it goes with chat',
  '--remote': 'there are no other machines to work on yet',
}
/** What is wrong, and where the right form stands unless that is said already. */
function reportUsageError(text: string, command: Command, io: Io): void {
  const elsewhere = explainFlag(text)
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

function explainFlag(text: string): string | undefined {
  const flag = /unknown option '(--[a-z-]+)/.exec(text)?.[1] ?? ''
  return Object.hasOwn(FLAG_OWNERS, flag)
    ? `${flag} has no place here; ${FLAG_OWNERS[flag as keyof typeof FLAG_OWNERS]}.`
    : undefined
}

/** A word that is no sub-command. Where one needs no name, commander takes the word for an argument of that one. */
function explainUnknownWord(text: string, word: string, { commands }: Command): string | undefined {
  if (commands.length === 0 || !/^error: (?:unknown command|too many arguments)/.test(text)) return undefined
  const known = commands.map((one) => one.name())
  const like = nearest(word, known)
  return `Unknown sub-command '${toOneLine(word)}'${like === undefined ? '' : ` (did you mean ${like}?)`}; known: ${known.join(', ')}.`
}

function explainExtraWord(
  text: string,
  { args, registeredArguments: { length } }: Command,
  form: string,
): string | undefined {
  if (!text.startsWith('error: too many arguments')) return undefined
  return `'${toOneLine(args[length] ?? '')}' has no place here; \`${form}\` takes ${length === 0 ? 'no word' : pluralize(length, 'word')} besides its flags.`
}
