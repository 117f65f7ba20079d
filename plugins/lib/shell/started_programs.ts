import type { Argv, Word } from './words.js'

/** What a program that starts other programs would start. */
export interface StartedPrograms {
  commands?: Argv[]
  /** Texts that a shell reads as commands. */
  scripts?: string[]
  /** Values of settings of git, which may be commands. */
  settings?: string[]
  /** `NAME=value` words. */
  assigned?: Word[]
  /** Files from which a shell reads commands. */
  files?: Word[]
  /** Whether a shell reads commands from its standard input. */
  readsInput?: true
  /** Why the line is dynamic although every program is known, as a clause. */
  dynamic?: string
  /** Why the program that starts is unknown, as a clause. */
  hidden?: string
}
