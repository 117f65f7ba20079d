import { trimEndChars } from '../base/index.js'
import { programName, withText, type Argv, type ParsedCommand, type Word } from './words.js'

/** Programs that write every file which their words name. */
const WRITES_ALL = new RegExp(
  `^(${[
    'tee|sponge|touch|truncate|rm|rmdir|unlink|shred|mkdir|mkfifo|chmod|chown|chgrp|mv|rename|patch',
    'ed|ex|vi|vim|nano|curl|wget',
  ].join('|')})$`,
)
/** Programs that write the last of their files, or into it. */
const WRITES_LAST = /^(cp|install|ln|rsync|scp|mv)$/
const TARGET_FOLDER = /^(-t|--target-directory)$/
/** Programs that change the files which their words name if an option says so. */
const IN_PLACE: Record<string, RegExp> = {
  sed: /^-[nErsuz]*i|^--in-place/,
  perl: /^-[a-zA-Z0]*i/,
  ruby: /^-[a-zA-Z0]*i/,
  awk: /^inplace$/,
  gawk: /^inplace$/,
  find: /^-(delete|exec|execdir|ok|okdir)$/,
}
/** Options whose value is a file that is written, for most programs that have them. */
const OUTPUT_OPTION = new RegExp(
  `^(${[
    '-[oOd]|-[a-z]?f|-out|-keyout|-fprint[0f]?|-fls',
    '--(output|file|output-document|directory-prefix|cookie-jar|dump-header|output-dir|trace|stderr)',
  ].join('|')})$`,
)

/** Options whose value is the folder in which a program works. */
const FOLDER_OPTION = /^(-[CD]|--(chdir|directory|prefix))$/
/** Programs that only enter that folder. */
const ENTERS = /^(env|git|make|sudo)$/

/** Checks whether the words by which a program names written files are known. */
export const hasTargets = (name: string): boolean =>
  WRITES_ALL.test(name) || WRITES_LAST.test(name) || name === 'dd' || Object.hasOwn(IN_PLACE, name)

/** Returns the words that name files which a program writes, for a short list of programs and options. */
export function findTargets([program, ...words]: Argv): Word[] {
  const name = programName(program) ?? ''
  const valued = [...findValues(words, OUTPUT_OPTION), ...(ENTERS.test(name) ? [] : findValues(words, FOLDER_OPTION))]
  const files = words.filter(({ text }) => !/^-./.test(text))
  if (name === 'dd')
    return words.flatMap((word) => (word.text.startsWith('of=') ? withText(word, word.text.slice(3)) : []))
  if (name === 'find')
    return words.some(({ text }) => IN_PLACE['find']!.test(text))
      ? [
          ...valued,
          ...words.slice(
            0,
            words.findIndex(({ text }) => /^-./.test(text)),
          ),
        ]
      : valued
  if (Object.hasOwn(IN_PLACE, name)) return words.some(({ text }) => IN_PLACE[name]!.test(text)) ? files : []
  const folder = findValues(words, TARGET_FOLDER)
  if (WRITES_LAST.test(name) && folder.length === 0)
    return [...(name === 'mv' ? files : files.slice(-1)), ...placeInto(files), ...valued]
  return WRITES_ALL.test(name) || WRITES_LAST.test(name) ? [...files, ...folder, ...valued] : valued
}

/** Returns the folders that the options of a program let it work in. */
export const findFolders = ([program, ...words]: Argv): Word[] =>
  ENTERS.test(programName(program) ?? '') ? findValues(words, FOLDER_OPTION) : []

/** Returns the values of options spelled in two words, with `=`, or as one letter followed by the value. */
export function findValues(words: Argv, option: RegExp): Word[] {
  return words.flatMap((word, at) => {
    if (option.test(word.text)) return words.slice(at + 1, at + 2)
    const [, name = '', value] = /^(--[\w-]+)=(.*)$/s.exec(word.text) ?? /^(-[a-zA-Z])(.+)$/s.exec(word.text) ?? []
    return value !== undefined && option.test(name) ? [withText(word, value)] : []
  })
}

/** Returns the names that files have in the folder into which they go. */
function placeInto(files: Word[]): Word[] {
  const folder = files.at(-1)
  return folder
    ? files
        .slice(0, -1)
        .map(({ text }) =>
          withText(folder, `${trimEndChars(folder.text, '/')}/${trimEndChars(text, '/').split('/').at(-1)}`),
        )
    : []
}

/**
 * Checks whether a written file may be any file of the workspace: only the run decides the beginning of its name, or
 * it may be hidden.
 */
export function isOpenTarget({ kind, text }: Word, { changesFolders }: ParsedCommand): boolean {
  if (kind === 'glob') return /(^|\/)\.[^/]*[*?[]/.test(text)
  if (kind !== 'dynamic' || /^\/(tmp|dev|var)\//.test(text)) return false
  if (!changesFolders && /^(~\/|\$\{?(HOME|TMPDIR)\b)/.test(text)) return false
  const [head = ''] = text.split(/[$`{~]|<\(/)
  const last = head.slice(head.lastIndexOf('/') + 1)
  return last === '' || last.startsWith('.')
}
