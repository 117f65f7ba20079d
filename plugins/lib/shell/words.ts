/** A word of a command, and how much of it is known before the command runs. */
export interface Word {
  /** The word after quoting is removed; of a `dynamic` word, its source. */
  text: string
  /**
   * `static`: the program gets exactly `text`. `glob`: the shell replaces the pattern by names of files. `dynamic`:
   * only the run decides what the program gets, which may be several words or none.
   */
  kind: 'static' | 'glob' | 'dynamic'
  /** True if a dynamic word is exactly one word at run time, because it is quoted. */
  isOne?: true
}

/** One program with its arguments, wherever it occurs in a line. */
export type Argv = Word[]

export const literal = (text: string): Word => ({ text, kind: 'static' })
export const isStatic = ({ kind }: Word): boolean => kind === 'static'
/** Returns a word that is the end of another, of the same kind. */
export const withText = (word: Word, text: string): Word => ({ ...word, text })
export const baseName = (text: string): string => text.slice(text.lastIndexOf('/') + 1)
/** Returns true if a word is exactly one word at run time. */
export const isOneWord = (word: Word): boolean => isStatic(word) || word.isOne === true
/** A path below a folder that only the run decides, whose last part is plain text. */
const PLAIN_END = /^[^`]*[^`/]\/[\w.@+-]+$/
/** Returns the last part of the path of a program, or `undefined` if only the run decides which program it is. */
export const programName = (word: Word | undefined): string | undefined =>
  word && (isStatic(word) || (isOneWord(word) && PLAIN_END.test(word.text))) ? baseName(word.text) : undefined
/** Returns true if the last part of the path is known. */
export const hasKnownName = (word: Word): boolean =>
  isStatic(word) || (word.kind === 'dynamic' && PLAIN_END.test(word.text))

/** Returns the values of options spelled in two words, with `=`, or as one letter followed by the value. */
export function findValues(words: Argv, option: RegExp): Word[] {
  return words.flatMap((word, at) => {
    if (option.test(word.text)) return words.slice(at + 1, at + 2)
    const [, name = '', value] = /^(--[\w-]+)=(.*)$/s.exec(word.text) ?? /^(-[a-zA-Z])(.+)$/s.exec(word.text) ?? []
    return value !== undefined && option.test(name) ? [withText(word, value)] : []
  })
}

/** Input of a command line besides its text. */
export interface CommandInput {
  env?: Readonly<Record<string, string>>
  /** The text of the standard input. */
  stdin?: string
  /** True if the standard input is a terminal, for later input. */
  isTerminal?: boolean
}

/** A command line as far as its text can be read. */
export interface ParsedCommand {
  /**
   * The simple commands of the line, with those inside substitutions, bodies, wrappers such as `env` or `xargs`, and
   * texts for a shell.
   */
  commands: Argv[]
  /** Targets of output redirections. */
  writes: Word[]
  inputs: Word[]
  /** Names of the variables that the line sets. */
  assigned: string[]
  /** True if the line may set a variable that names a folder of the user, or splits words differently. */
  changesFolders: boolean
  /** True if the line is one command without a list, a loop, a background job or a here-document. */
  isSimple: boolean
  /** Clause that says why the line is more than simple commands: no rule on commands allows it. */
  dynamic?: string
  /** Clause that says why `commands` may lack a program that the line starts. */
  hidden?: string
  /** Clause that says why later terminal input may start further programs. */
  typed?: string
}
