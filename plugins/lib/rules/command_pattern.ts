import { isPartialMatch, matchSequence, compileWildcard } from '../../../core/text/index.js'
import { baseName, listSubcommandReadings, type Argv, type Word } from '../shell/index.js'

/**
 * Pattern for the words of a command. `*` at the end (or `:*`) matches any further words, `*` between words any
 * words, `*` in a word any characters.
 */
export interface CommandPattern {
  /**
   * For deny and ask: compares the base name of the program, and the words also without the options before a
   * subcommand. After the first word that is not static, anything may follow.
   */
  matches(argv: Argv): boolean
  /** For allow: every word is static and the program is given by its bare name. */
  covers(argv: Argv): boolean
  /** Returns the words of a covered command that must be paths inside the workspace. */
  findFiles?(argv: Argv): string[]
}

type PatternElement = '*' | ((text: string) => boolean)

export function compileCommandPattern(spec: string): CommandPattern {
  const words = spec.replace(/:\*$/, ' *').trim().split(/\s+/)
  const elements = words.map((word): PatternElement => (word === '*' ? '*' : compileWildcard(word)))
  const matches = (pattern: PatternElement[], texts: string[]): boolean =>
    matchSequence(
      pattern,
      texts,
      (element) => element === '*',
      (element, item) => element !== '*' && element(item),
    )
  const concerns = (argv: Argv): boolean => {
    const known = argv.findIndex(({ kind }) => kind !== 'static')
    const texts = (known < 0 ? argv : argv.slice(0, known)).map(normalizeWord)
    if (known < 0) return matches(elements, texts)
    return isPartialMatch(
      elements,
      texts,
      (element) => element === '*',
      (element, text) => element !== '*' && element(text),
    )
  }
  return {
    matches: (argv) => concerns(argv) || listSubcommandReadings(argv).some(concerns),
    covers: (argv) =>
      argv.every(({ kind }) => kind === 'static') &&
      matches(
        elements,
        argv.map(({ text }) => text),
      ),
  }
}

const normalizeWord = (word: Word, index: number): string => (index === 0 ? baseName(word.text) : word.text)
