/** A word of a command: what it will be, or that only the shell will know. */
export interface Word {
  text: string
  /** `glob`: names of files that begin with the literal text before the first `*`. `variable`: text around variables that hold no secret. */
  kind: 'static' | 'glob' | 'variable' | 'dynamic'
}
/** One program that a line would start, wherever it stands in it. */
export type Argv = Word[]

/** Everything a command line would do, as far as its text tells. */
export interface ParsedLine {
  /** Simple commands of lists, pipes, substitutions, bodies, and those inside wrappers such as `env` or `xargs`. */
  commands: Argv[]
  writes: Word[]
  inputs: Word[]
  /** Names of variables that are set. */
  assigned: string[]
  /** Why the line cannot be judged as a whole; what was found still counts against it. */
  unknown?: string
}
