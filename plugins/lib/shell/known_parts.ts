import type { ParsedCommand, Word } from './words.js'

/** The beginning and the end of a word that are known before the command runs. */
export interface KnownParts {
  head: string
  tail: string
}

/** Signs of an expansion, with the name of a variable. */
const EXPANSION = /\$\w*|[`{}()~*?[\]<>!@+#%^]/
/** A path in the home or in the folder for temporary files. */
const USER_PATH = /^(~\/|\$\{?(HOME|TMPDIR)\b)/

/** Returns the known parts of a word that the shell expands. Several words have no known parts. */
export function readKnownParts({ text, isOne }: Word, isTarget: boolean): KnownParts {
  if (!isOne && !isTarget) return { head: '', tail: '' }
  const parts = text.split(EXPANSION)
  return { head: parts[0]!, tail: parts.at(-1)! }
}

/** Checks whether a dynamic target of a write is in a folder of the user or of the machine. */
export const isElsewhere = ({ text }: Word, { changesFolders }: ParsedCommand): boolean =>
  /^\/(tmp|dev|var)\//.test(text) || (!changesFolders && USER_PATH.test(text))
