import { isBegunBy, matchSequence, wildcard } from '../../../core/text/index.js'
import { baseName, type Argv, type Word } from '../shell/index.js'

/** A pattern over the words of a command: a final `*` (or `:*`) is any further words, `*` between is any words, `*` in a word is characters. */
export interface CommandPattern {
  /** For deny and ask: by base name of the program; from the first word on that is not static, anything may follow. */
  matches(argv: Argv): boolean
  /** For allow: every word is static and the program stands there by its bare name. */
  covers(argv: Argv): boolean
  /** What of a covered command has to lie inside the workspace. */
  findFiles?(argv: Argv): string[]
}

type PatternElement = '*' | ((text: string) => boolean)

export function compileCommandPattern(spec: string): CommandPattern {
  const words = spec.replace(/:\*$/, ' *').trim().split(/\s+/)
  const elements = words.map((word): PatternElement => (word === '*' ? '*' : wildcard(word)))
  const matches = (pattern: PatternElement[], texts: string[]): boolean =>
    matchSequence(
      pattern,
      texts,
      (element) => element === '*',
      (element, item) => element !== '*' && element(item),
    )
  return {
    matches: (argv) => {
      const known = argv.findIndex(({ kind }) => kind !== 'static')
      const texts = (known < 0 ? argv : argv.slice(0, known)).map(normalizeWord)
      if (known < 0) return matches(elements, texts)
      return isBegunBy(
        elements,
        texts,
        (element) => element === '*',
        (element, text) => element !== '*' && element(text),
      )
    },
    covers: (argv) =>
      argv.every(({ kind }) => kind === 'static') &&
      matches(
        elements,
        argv.map(({ text }) => text),
      ),
  }
}

const normalizeWord = (word: Word, index: number): string => (index === 0 ? baseName(word.text) : word.text)
