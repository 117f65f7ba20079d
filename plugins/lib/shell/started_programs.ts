import type { Argv, Word } from './words.js'

/** Programs that another program starts. */
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
  /** A shell reads commands from its standard input. */
  readsInput?: true
  /** Clause that says why the line is dynamic although every program is known. */
  dynamic?: string
  /** Clause that says why the started program is unknown. */
  hidden?: string
}
