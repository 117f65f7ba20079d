/** A piece of a word: text, a variable whose value may be known, or what only the shell will know. */
export type WordPiece =
  | { is: 'text'; text: string; quoted: boolean }
  | { is: 'variable'; name: string; quoted: boolean }
  /** `number`: whatever it will be, it is digits. `feed`: a file that the shell makes of the output of a command. */
  | { is: 'other'; of: 'number' | 'feed' | 'any'; quoted: boolean }

/** A word of a command: what it will be, or that only the shell will know. */
export interface Word {
  text: string
  /** `glob`: names of files that begin with the literal text before the first `*`. `variable`: text around variables that hold no secret. */
  kind: 'static' | 'glob' | 'variable' | 'dynamic'
  /** What it is made of, where it is not static. */
  pieces?: readonly WordPiece[]
}
/** One program that a line would start, wherever it stands in it. */
export type Argv = Word[]

export const literal = (text: string): Word => ({ text, kind: 'static' })

/** What stands around a command line and takes part in what it does. */
export interface Around {
  env?: Readonly<Record<string, string>>
  /** What it reads as its standard input. */
  stdin?: string
  /** Whether its standard input is a terminal, into which somebody types later. */
  isTerminal?: boolean
}

/** Everything a command line would do, as far as its text tells. */
export interface ParsedLine {
  /** Simple commands of lists, pipes, substitutions, bodies, and those inside wrappers such as `env` or `xargs`. */
  commands: Argv[]
  /** Further readings of them: variables replaced by the values that the line itself gives them, and texts that are evaluated. */
  readings: Argv[]
  /** Where redirections write. */
  writes: Word[]
  inputs: Word[]
  /** Names of variables that are set. */
  assigned: string[]
  /** It is one command with nothing around it: no list, no loop, no job in the background, no text that it is fed. */
  isSimple: boolean
  /** Why the line cannot be judged as a whole; what was found still counts against it. */
  unknown?: string
  /** Why it cannot be told what it writes, as the end of a sentence. */
  untold?: string
  /** Why a program that it starts cannot be determined from its text. A rule on names cannot answer for it, whatever the rule says. */
  hidden?: string
  /** Why further commands are told to one of its programs later: somebody types them into a terminal. */
  later?: string
}
