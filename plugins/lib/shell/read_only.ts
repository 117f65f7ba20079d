import { canSetVariables } from './variables.js'
import type { Argv, Word } from './words.js'

/** Options and words with which a program only reads. Other flags may be harmful. */
export interface ReadOnlyUse {
  /** Short options, alone or in clusters. A letter before `:` takes a value; one before `.` may have it in its word. */
  short?: string
  long?: string[]
  /** Kind of the words that are no options. `glob`: files whose names are printed, but not their content. */
  words: 'files' | 'glob' | 'text' | 'none' | ((text: string) => boolean)
  /** Allows a count as an option: `head -20`. */
  count?: true
}

const READ_ONLY_PROGRAMS: Record<string, ReadOnlyUse> = {
  ls: {
    short: 'aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1',
    long: [
      'all',
      'almost-all',
      'color',
      'directory',
      'full-time',
      'human-readable',
      'inode',
      'recursive',
      'reverse',
      'size',
      'sort',
      'time-style',
    ],
    words: 'glob',
  },
  pwd: { short: 'LP', words: 'none' },
  cat: {
    short: 'AbeEnstTuv',
    long: ['number', 'number-nonblank', 'show-all', 'show-ends', 'show-tabs', 'squeeze-blank'],
    words: 'files',
  },
  head: { short: 'n:c:qv', long: ['lines', 'bytes', 'quiet', 'verbose'], words: 'files', count: true },
  tail: { short: 'n:c:qv', long: ['lines', 'bytes', 'quiet', 'verbose'], words: 'files', count: true },
  wc: { short: 'clLmw', long: ['bytes', 'chars', 'lines', 'words', 'max-line-length'], words: 'files' },
  stat: { short: 'c:fLt', long: ['format', 'printf', 'terse', 'file-system', 'dereference'], words: 'glob' },
  file: { short: 'biL0hN', long: ['brief', 'mime', 'mime-type', 'mime-encoding', 'no-dereference'], words: 'files' },
  du: {
    short: 'abchkmsSxd:',
    long: ['all', 'apparent-size', 'bytes', 'human-readable', 'max-depth', 'summarize', 'total'],
    words: 'glob',
  },
  df: {
    short: 'ahHiklPTt:',
    long: ['all', 'human-readable', 'inodes', 'portability', 'print-type', 'total'],
    words: 'files',
  },
  date: { short: 'uI', long: ['utc', 'iso-8601', 'rfc-3339'], words: (text) => text.startsWith('+') },
  uname: { short: 'asnrvmpio', long: ['all'], words: 'none' },
  whoami: { words: 'none' },
  id: { short: 'gGnru', words: (text) => /^\w[\w-]*$/.test(text) },
  basename: { short: 'as:z', words: 'text' },
  dirname: { short: 'z', words: 'text' },
  realpath: { short: 'emPLsz', words: 'files' },
  readlink: { short: 'efmnqsvz', words: 'files' },
  true: { words: 'text' },
  false: { words: 'text' },
  echo: { short: 'neE', words: 'text' },
  printf: { words: 'text' },
  sleep: { words: (text) => /^\d{1,3}(\.\d+)?s?$/.test(text) },
  cmp: { short: 'bls', words: 'files' },
  sha256sum: { short: 'bt', long: ['tag'], words: 'files' },
}

/** Returns the files of a command that only reads; `undefined` if it may do more. */
export function findReadOnlyFiles(argv: Argv): string[] | undefined {
  const [program, ...words] = argv
  if (program?.kind !== 'static' || canSetVariables(argv)) return undefined
  if (program.text === 'test' || program.text === '[') return findTestFiles(words)
  const shape = Object.hasOwn(READ_ONLY_PROGRAMS, program.text) ? READ_ONLY_PROGRAMS[program.text]! : undefined
  return shape && listOperands(words, shape)
}

/** Checks whether a program shows no content of the files that its words name. */
export const showsNoContent = ([program]: Argv): boolean =>
  program !== undefined &&
  (program.text === 'test' ||
    program.text === '[' ||
    (Object.hasOwn(READ_ONLY_PROGRAMS, program.text) && READ_ONLY_PROGRAMS[program.text]!.words !== 'files'))

export function listOperands(words: Argv, shape: ReadOnlyUse): string[] | undefined {
  const files: string[] = []
  let options = true
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!
    const isOption = options && word.text.startsWith('-') && word.text !== '-'
    if (isOption && word.text === '--') options = false
    else if (isOption) {
      const taken = word.kind === 'static' ? countOptionWords(word.text, words[index + 1], shape) : 0
      if (!taken) return undefined
      index += taken - 1
    } else if (!isOperand(word, shape)) return undefined
    else if ((shape.words === 'files' || shape.words === 'glob') && word.text !== '-') files.push(toLiteralPart(word))
  }
  return files
}

/** Returns how many words an option takes; 0 for an unknown one. A program without options prints its words. */
function countOptionWords(text: string, next: Word | undefined, shape: ReadOnlyUse): number {
  if (shape.words === 'text' && !shape.short) return 1
  if (text.startsWith('--')) return shape.long?.includes(text.slice(2).split('=')[0]!) ? 1 : 0
  if (shape.count && /^-\d+$/.test(text)) return 1
  const letters = text.slice(1)
  for (let at = 0; at < letters.length; at += 1) {
    const known = shape.short?.indexOf(letters[at]!) ?? -1
    if (known < 0 || ':.'.includes(letters[at]!)) return 0
    const value = shape.short![known + 1]
    if (value === '.') return 1
    if (value !== ':') continue
    if (at < letters.length - 1) return 1
    return next?.kind === 'static' ? 2 : 0
  }
  return 1
}

// The shell replaces a glob by names of files. Only a literal beginning keeps such a name from being read as an option.
function isOperand(word: Word, shape: ReadOnlyUse): boolean {
  if (typeof shape.words === 'function') return word.kind === 'static' && shape.words(word.text)
  if (word.kind === 'glob') return (shape.words === 'glob' || shape.words === 'text') && toLiteralPart(word) !== ''
  return word.kind === 'static' && shape.words !== 'none'
}

const toLiteralPart = (word: Word): string =>
  word.kind === 'glob' ? word.text.slice(0, word.text.search(/[*?[]/)) : word.text

const TEST_OPERATORS = /^(-[abcdefghknprstuwxzGLNOS]|-n|-z|=|==|!=|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef|!|\(|\)|-o|\])$/
function findTestFiles(words: Argv): string[] | undefined {
  if (words.some(({ kind, text }) => kind !== 'static' || (text.startsWith('-') && !TEST_OPERATORS.test(text))))
    return undefined
  return words.flatMap((word, index) =>
    /^-[abcdefghkprsuwxGLNOS]$/.test(words[index - 1]?.text ?? '') ? [word.text] : [],
  )
}
