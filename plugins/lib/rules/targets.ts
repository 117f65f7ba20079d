import { withoutEnd } from '../base/index.js'
import { headOf, programName } from './expand.js'
import { literal, type Argv, type Word } from './words.js'

/** Which words of a program name what it writes. */
interface Writing {
  /** Options whose value is a file that is written, alone or with the value in the same word. */
  options?: RegExp
  /** The same, as one word: `of=FILE`. */
  inWord?: RegExp
  /** Only when one of these is given. */
  needs?: RegExp
  /** The words that are no options: all of them, or the last, into which the others go. */
  words?: 'all' | 'last'
  /** Options that take the next word, which is then no file. */
  valued?: RegExp
  /** So many first words are no files. */
  skips?: number
}

const into: Writing = { words: 'last', options: /^(-t|--target-directory)$/, valued: /^(-S|--suffix|-m|--mode|-o|--owner|-g|--group)$/ }
const writing: Record<string, Writing> = {
  tee: { words: 'all' },
  sponge: { words: 'all' },
  touch: { words: 'all', valued: /^-[drt]$/ },
  truncate: { words: 'all', valued: /^-[sr]$/ },
  rm: { words: 'all' },
  rmdir: { words: 'all' },
  unlink: { words: 'all' },
  shred: { words: 'all', valued: /^-[ns]$/ },
  mkdir: { words: 'all', valued: /^(-m|--mode)$/ },
  mkfifo: { words: 'all' },
  chmod: { words: 'all', skips: 1 },
  chown: { words: 'all', skips: 1 },
  chgrp: { words: 'all', skips: 1 },
  cp: into,
  install: into,
  ln: into,
  mv: { ...into, words: 'all' },
  rename: { words: 'all', skips: 1 },
  rsync: { words: 'last', valued: /^(-e|--rsh)$/ },
  scp: { words: 'last', valued: /^-[cFiJloPS]$/ },
  dd: { inWord: /^of=(.*)$/s },
  sed: { words: 'all', needs: /^-[nErsuz]*i|^--in-place/, valued: /^(-e|-f|--expression|--file)$/ },
  perl: { words: 'all', needs: /^-[a-zA-Z0]*i/, valued: /^-\w*[eE]$/ },
  ruby: { words: 'all', needs: /^-[a-zA-Z0]*i/, valued: /^-\w*e$/ },
  awk: { words: 'all', needs: /^inplace$/ },
  gawk: { words: 'all', needs: /^inplace$/ },
  curl: { options: /^(-\w*o|--output|-\w*c|--cookie-jar|-\w*D|--dump-header|--output-dir|--trace|--trace-ascii|--stderr)$/ },
  wget: { options: /^(-\w*O|--output-document|-\w*o|--output-file|-\w*P|--directory-prefix)$/ },
  git: { needs: /^(config|archive|bundle|diff|log|show|format-patch)$/, options: /^(-f|--file|--output|-o)$/ },
  sort: { options: /^(-\w*o|--output)$/ },
  tar: { options: /^(-C|--directory|--file|-?[a-zA-Z]*f)$/ },
  unzip: { options: /^-d$/ },
  patch: { options: /^(-o|--output|-d|--directory)$/, words: 'all' },
  find: { options: /^-(fprint0?|fprintf|fls)$/ },
  gcc: { options: /^-o$/ },
  cc: { options: /^-o$/ },
  openssl: { options: /^-(out|keyout)$/ },
  'ssh-keygen': { options: /^-f$/ },
  ed: { words: 'all' },
  ex: { words: 'all', valued: /^-[cS]$/ },
  vi: { words: 'all', valued: /^-[cS]$/ },
  vim: { words: 'all', valued: /^-[cS]$/ },
  nano: { words: 'all' },
}

/** Whether it is known which of its words a program writes. */
export const takesFiles = (name: string): boolean => Object.hasOwn(writing, name)

/** The files that a program is known to write, where its words say so. What an interpreter does only it knows. */
export function writtenWords([program, ...words]: Argv): Word[] {
  const name = program && programName(program)
  const shape = name !== undefined && Object.hasOwn(writing, name) ? writing[name]! : undefined
  if (!shape || (shape.needs && !words.some((word) => shape.needs!.test(headOf(word))))) return []
  const { named, plain } = sorted(words, shape)
  if (!shape.words) return named
  const files = plain.slice(shape.skips ?? 0)
  // In a folder that is named as the target everything gets the name it had.
  const folder = named[0] ?? files.at(-1)
  const moved = folder && (shape.words === 'last' || name === 'mv') ? files.filter((word) => word !== folder).map((word) => within(folder, word)) : []
  return [...named, ...(shape.words === 'all' ? files : named[0] ? [] : files.slice(-1)), ...moved]
}

function sorted(words: Argv, { options, inWord, valued }: Writing): { named: Word[]; plain: Word[] } {
  const named: Word[] = []
  const plain: Word[] = []
  let isOption = true
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!
    const head = headOf(word)
    const [, value] = inWord?.exec(head) ?? []
    const [, option = '', joined] = /^(--[\w-]+)=(.*)$/s.exec(head) ?? /^(-[a-zA-Z])(.+)$/s.exec(head) ?? []
    if (value !== undefined) named.push(word.kind === 'static' ? literal(value) : { ...word, text: inWord!.exec(word.text)?.[1] ?? word.text })
    else if (isOption && head === '--') isOption = false
    else if (isOption && options?.test(head)) named.push(...words.slice((index += 1), index + 1))
    else if (isOption && joined !== undefined && options?.test(option)) named.push(literal(joined))
    else if (isOption && valued?.test(head)) index += 1
    else if (!isOption || !/^-./.test(head)) plain.push(word)
  }
  return { named, plain }
}

const within = (folder: Word, { text }: Word): Word => ({ ...folder, text: `${withoutEnd(folder.text, '/')}/${withoutEnd(text, '/').split('/').at(-1)}` })

/** Whether a word that is written may be anything: it begins, in a folder of the workspace, with what only the run will show. */
export function mayBeAnything({ kind, text }: Word): boolean {
  if (kind === 'static' || kind === 'glob') return false
  const [head = ''] = text.replace(/^(~\+|"?\$\{?PWD\}?"?|\$\(pwd\)|`pwd`)\//, './').split(/[$`]|<\(/)
  if (head === text || /^(~|\$\{?(HOME|TMPDIR)\b|\/(tmp|dev|var)\/)/.test(text)) return false
  const last = head.slice(head.lastIndexOf('/') + 1)
  return last === '' || last.startsWith('.')
}
