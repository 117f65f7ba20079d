import { readGitStarts } from './git_starts.js'
import { findOptionCommands, startsFromSed } from './option_commands.js'
import type { StartedPrograms } from './started_programs.js'
import { isOneWord, isStatic, literal, programName, withText, type Argv, type Word } from './words.js'
import { ALIASES, EVERY, WRAPPERS, type Wrapper } from './wrapper_table.js'

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'rbash', 'mksh', 'yash', 'posh', 'fish', 'csh', 'tcsh']
/** Shells whose syntax differs from that of sh. */
const OTHER_SHELLS = ['zsh', 'fish', 'csh', 'tcsh']

const hide = (reason: string): StartedPrograms => ({ hidden: reason })

/** Removes one layer of wrapping; the result is empty for a program that starts no other. */
export function unwrapCommand([program, ...rest]: Argv): StartedPrograms {
  const name = programName(program)
  if (name === undefined || name === '') return hide('the name of a program in it is only known when it runs')
  const wrapper = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : /^ld-linux.*\.so/.test(name) ? 'nohup' : name
  if (Object.hasOwn(WRAPPERS, wrapper))
    return { ...unwrap(wrapper, rest, WRAPPERS[wrapper]!), ...readOptionCommands(wrapper, rest) }
  if (SHELLS.includes(name)) return readShell(rest, OTHER_SHELLS.includes(name))
  if (name === 'git') return readGitStarts(rest)
  if (name === 'find') return readFind(rest)
  if (name === 'fd' || name === 'fdfind') return readFd(rest)
  if (name === 'sed') return startsFromSed(rest) ? hide('the script of sed may start a program') : {}
  return readOptionCommands(name, rest) ?? (Object.hasOwn(BUILTINS, name) ? BUILTINS[name]!(rest) : {})
}

function readOptionCommands(name: string, words: Argv): StartedPrograms | undefined {
  const texts = findOptionCommands(name, words)
  return texts.length > 0 ? readTexts(texts) : undefined
}

function unwrap(name: string, words: Argv, wrapper: Wrapper): StartedPrograms {
  if (name === 'env' && words.some(({ text }) => /^-[a-zA-Z]*S|^--split/.test(text)))
    return hide('`env -S` splits text itself')
  if (name === 'command' && /^-p*[vV]/.test(words[0]?.text ?? '')) return {}
  const inner = skipOptions(words, wrapper)
  const command = inner.commands?.[0]
  if (name === 'xargs')
    return takesProgramFromInput(command ?? [], findMark(words))
      ? { ...inner, ...hide('a program in it comes from the input of another') }
      : inner
  if (wrapper.fed && command?.length === 0) return { ...inner, readsInput: true }
  if (!wrapper.joins || !command) return inner
  const end = command.findIndex(({ text }) => text.startsWith(':::'))
  return { ...inner, ...readTexts([joinWords(end < 0 ? command : command.slice(0, end))]), commands: [command] }
}

/** Returns the mark that xargs replaces by its input; without a mark the input goes to the end. */
function findMark(words: Argv): string | undefined {
  const at = words.findIndex(({ text }) => /^-[iI]|^--replace/.test(text))
  if (at < 0) return undefined
  const { text } = words[at]!
  return /^(?:-[iI]|--replace=?)(.+)$/.exec(text)?.[1] ?? (text === '-I' ? words[at + 1]?.text : '{}')
}

/** Checks whether the input, placed at `mark` or at the end, would be a program or a part of a shell text. */
function takesProgramFromInput(command: Argv, mark: string | undefined): boolean {
  const [program] = command
  if (!program) return false
  if (mark !== undefined && program.text.includes(mark)) return true
  const { commands = [], scripts = [], readsInput } = unwrapCommand(command)
  if (mark !== undefined && scripts.some((script) => script.includes(mark))) return true
  if (mark === undefined && (readsInput === true || commands.some((inner) => inner.length === 0))) return true
  return commands.some((inner) => takesProgramFromInput(inner, mark))
}

/** Skips the options of a wrapper. A word that is not static may be several options, so the rest is uncertain. */
function skipOptions(words: Argv, wrapper: Wrapper): StartedPrograms {
  const assigned: Word[] = []
  const texts: Word[] = []
  let index = 0
  let positional = wrapper.positional ?? 0
  for (; index < words.length; index += 1) {
    const { text } = words[index]!
    if (text === '--') {
      index += 1
      break
    }
    if (wrapper.assigns && /^[^-=][^=]*=/.test(text)) assigned.push(words[index]!)
    else if (/^-./.test(text)) {
      const takesText = wrapper.script?.test(text) === true
      if (takesText || takesNext(text, wrapper)) index += 1
      if (takesText && words[index]) texts.push(words[index]!)
    } else if (positional > 0) positional -= 1
    else break
  }
  const command = wrapper.positional === EVERY ? [] : words.slice(index + positional)
  const own = words.slice(0, index).filter((word) => !texts.includes(word))
  const unclear =
    own.some((word) => !isOneWord(word)) || (command[0] !== undefined && programName(command[0]) === undefined)
  return {
    commands: [command],
    ...readTexts(texts),
    assigned,
    ...(unclear && hide('the program after a wrapper is only known when it runs')),
  }
}

/** Checks whether an option takes the next word. In a cluster such as `-un` the rest of the cluster is the value. */
function takesNext(option: string, { valued = '', long }: Wrapper): boolean {
  if (option.startsWith('--')) return !option.includes('=') && long?.includes(option.slice(2)) === true
  const at = [...option].findIndex((letter, index) => index > 0 && valued.includes(letter))
  return at === option.length - 1
}

/** Reads the words of a shell: options, then the text after `-c`, or a file. */
function readShell(words: Argv, isOther: boolean): StartedPrograms {
  const files: Word[] = []
  let takesText = false
  let index = 0
  for (; /^[-+]./.test(words[index]?.text ?? ''); index += 1) {
    const { text } = words[index]!
    if (text === '--') {
      index += 1
      break
    }
    if (/^--(rcfile|init-file)$/.test(text)) files.push(...words.slice((index += 1), index + 1))
    if (text.startsWith('--')) continue
    takesText ||= /^-.*c/.test(text)
    if (/^-.*s/.test(text)) return { readsInput: true, files }
    if (/[oO]$/.test(text)) index += 1
  }
  const operand = words[words[index]?.text === '-' ? index + 1 : index]
  if (words.slice(0, index).some((word) => !isStatic(word)))
    return hide('a shell gets options that are only known when it runs')
  if (!takesText)
    return operand
      ? { dynamic: 'a shell reads its commands from a file', files: [...files, operand] }
      : { readsInput: true, files }
  const isForeign = isOther && !/^[\w\s./:@,+%&|;'"-]*$/.test(operand?.text ?? '')
  return {
    files,
    ...(operand ? readTexts([operand]) : hide('a shell gets no text')),
    ...(isForeign && hide('its text is for a shell that is not sh or bash')),
  }
}

/**
 * Reads commands of find, which end with `;` or `+`. Such a word outside a command means that a dynamic word starts
 * another.
 */
function readFind(words: Argv): StartedPrograms {
  const commands: Argv[] = []
  let isUnclear = words.some((word) => word.kind === 'dynamic' && /^[-$`]/.test(word.text) && !isOneWord(word))
  for (let index = 0; index < words.length; index += 1) {
    const { text, kind } = words[index]!
    if (kind === 'static' && /^-(exec|execdir|ok|okdir)$/.test(text)) {
      const at = words.findIndex((word, place) => place > index && (word.text === ';' || word.text === '+'))
      const end = at < 0 ? words.length : at
      commands.push(words.slice(index + 1, end))
      index = end
    } else isUnclear ||= text === ';' || text === '+'
  }
  isUnclear ||= commands.some((command) => takesProgramFromInput(command, '{}'))
  return { commands, ...(isUnclear && hide('the program that find starts is only known when it runs')) }
}

function readFd(words: Argv): StartedPrograms {
  const at = words.findIndex(({ text }) => /^(-[xX]|--exec(-batch)?)$/.test(text))
  if (at < 0) return {}
  const command = words.slice(at + 1)
  return {
    commands: [command],
    ...(takesProgramFromInput(command, '{') && hide('the program that fd starts is only known when it runs')),
  }
}

/** Texts that a shell reads as commands; a text that is not static hides them. */
function readTexts(texts: Argv, tail = ''): StartedPrograms {
  if (!texts.every(isStatic)) return hide('a shell gets text that is only known when it runs')
  return { scripts: texts.map(({ text }) => text + tail) }
}

const joinWords = (words: Argv): Word => ({
  text: words.map(({ text }) => text).join(' '),
  kind: words.every(isStatic) ? 'static' : 'dynamic',
})

/** Checks whether socat starts a program at an address. */
const isCommandAddress = ({ text, kind }: Word): boolean => kind !== 'static' || /^(exec|system|shell):/i.test(text)
const hideCommands = (): StartedPrograms => hide('it stores commands for later')
const readScriptFile = (words: Argv): StartedPrograms => ({
  dynamic: 'it reads commands from a file',
  files: words.slice(words[0]?.text === '--' ? 1 : 0).slice(0, 1),
})
/** Reads the value of an option, to which the shell adds words when it runs it. */
const readOptionText =
  (letter: string) =>
  (words: Argv): StartedPrograms =>
    readTexts(
      words.flatMap(({ text }, at) =>
        new RegExp(`^-\\w*${letter}$`).test(text)
          ? (words[at + 1] ?? [])
          : text.startsWith(`-${letter}`)
            ? literal(text.slice(2))
            : [],
      ),
      ' "$@"',
    )

/** Built-ins of a shell that run a text or a file, and programs with a text for a shell among their words. */
const BUILTINS: Record<string, (words: Argv) => StartedPrograms> = {
  eval: (words) => readTexts([joinWords(words[0]?.text === '--' ? words.slice(1) : words)]),
  trap: ([first, ...rest]) => {
    const action = first?.text === '--' ? rest[0] : first
    return !action || action.text === '-' || /^-[lpP]/.test(action.text) ? {} : readTexts([action])
  },
  '.': readScriptFile,
  source: readScriptFile,
  alias: (words) =>
    readTexts(
      words.flatMap((word) =>
        !isStatic(word) ? word : word.text.includes('=') ? literal(word.text.slice(word.text.indexOf('=') + 1)) : [],
      ),
      ' "$@"',
    ),
  bwrap: () => hide('it starts a program after options of its own'),
  capsh: () => hide('it starts a program after options of its own'),
  tmux: () => hide('it starts programs in a terminal of its own'),
  screen: () => hide('it starts programs in a terminal of its own'),
  hyperfine: (words) => readTexts(words.filter(({ text }) => !text.startsWith('-'))),
  socat: (words) =>
    readTexts(words.filter(isCommandAddress).map((word) => withText(word, word.text.replace(/^\w+:/, '')))),
  sg: (words) => readTexts(words.filter(({ text }) => text !== '-' && text !== '-c').slice(1)),
  hash: readOptionText('p'),
  mapfile: readOptionText('C'),
  readarray: readOptionText('C'),
  enable: (words) =>
    words.some(({ text }) => /^-\w*f/.test(text)) ? hide('`enable -f` loads a built-in from a file') : {},
  compgen: hideCommands,
  complete: hideCommands,
  bind: hideCommands,
  fc: hideCommands,
  at: hideCommands,
  batch: hideCommands,
  crontab: hideCommands,
}
