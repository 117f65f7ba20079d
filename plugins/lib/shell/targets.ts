import { trimEndChars } from '../base/index.js'
import { findBackups, findCompressed } from './derived_targets.js'
import { findSedTargets } from './option_commands.js'
import { findGitTargets, findGitTrees } from './git_targets.js'
import { findValues, isStatic, literal, programName, withText, type Argv, type Word } from './words.js'

/** Programs that write every file which their words name. */
const WRITES_ALL = new RegExp(
  `^(${[
    'tee|sponge|touch|truncate|rm|rmdir|unlink|shred|mkdir|mkfifo|chmod|chown|chgrp|mv|rename|patch',
    'ed|ex|vi|vim|nano|curl|wget|script|setfacl|chattr|logsave',
  ].join('|')})$`,
)
/** Programs that write the last of their files, or into it. */
const WRITES_LAST = /^(cp|install|ln|rsync|scp|mv)$/
/** Programs that read the first of their files and write the second. */
const WRITES_SECOND = /^(uniq|xxd)$/
const TARGET_FOLDER = /^(-[a-zA-Z]*t|--targ[a-z-]*)$/
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
const FOLDER_OPTION = /^(-[CD]|--(chdir|directory|prefix|cwd|workdir|working-directory|work-tree|dir))$/
/** Programs that only enter that folder. */
const ENTERS = /^(env|git|make|sudo)$/
/** A cluster of options of tar whose value is a folder. */
const TAR_FOLDER = /^-?[a-zA-Z]*C$/

/** Checks whether the words by which a program names written files are known. */
export const hasTargets = (name: string): boolean =>
  WRITES_ALL.test(name) || WRITES_LAST.test(name) || name === 'dd' || Object.hasOwn(IN_PLACE, name)

/** Returns the words that name files which a program writes, for a short list of programs and options. */
export function findTargets([program, ...words]: Argv): Word[] {
  const name = programName(program) ?? ''
  const written = findCompressed(name, words) ?? findNamedTargets(name, words)
  return [...written, ...findBackups(name, words, written)]
}

function findNamedTargets(name: string, words: Argv): Word[] {
  const valued = [...findValues(words, OUTPUT_OPTION), ...(ENTERS.test(name) ? [] : findValues(words, FOLDER_OPTION))]
  const files = words.filter(({ text }) => !/^-./.test(text))
  if (name === 'dd')
    return words.flatMap((word) => (word.text.startsWith('of=') ? withText(word, word.text.slice(3)) : []))
  if (name === 'find') return [...valued, ...listChangedFolders(words)]
  const inScript = name === 'sed' ? findSedTargets(words) : []
  if (Object.hasOwn(IN_PLACE, name))
    return words.some(({ text }) => IN_PLACE[name]!.test(text)) ? [...files, ...inScript] : inScript
  if (WRITES_SECOND.test(name)) return files.slice(1)
  if (name === 'git') return [...valued, ...findGitTargets(words)]
  const folder = findTargetFolder(name, words)
  if (WRITES_LAST.test(name) && folder.length === 0)
    return [...(name === 'mv' ? files : files.slice(-1)), ...placeInto(files), ...valued]
  if (WRITES_LAST.test(name)) return [...files, ...placeInto([...files, ...folder]), ...folder, ...valued]
  return WRITES_ALL.test(name) ? [...files, ...valued] : valued
}

/** Tests of find that choose files by their names. */
const FIND_FILTER = /^-i?(name|path|wholename|regex)$/
/** Returns the folders in which find deletes files or starts a program. */
function listChangedFolders(words: Argv): Word[] {
  if (!words.some(({ text }) => IN_PLACE['find']!.test(text))) return []
  const folders = words.slice(
    0,
    words.findIndex(({ text }) => /^-./.test(text)),
  )
  return folders.length > 0 ? folders : [literal('.')]
}

/** Returns the folder for the copies; the same letter of rsync and scp has another meaning. */
const findTargetFolder = (name: string, words: Word[]): Word[] =>
  /^(rsync|scp)$/.test(name) ? [] : findValues(words, TARGET_FOLDER)

/** Programs that copy, move, remove or change folders with their content; all but the first two need an option. */
const TREE_PROGRAMS = /^(mv|rsync|cp|scp|install|rm|chmod|chown|chgrp)$/
const RECURSIVE = /^-[a-zA-Z]*[rRa]|^--(recursive|archive)$/
/** Option by which the last name is the copy itself, not a folder for it. */
const NO_FOLDER = /^-[a-zA-Z]*T|^--no-target-directory$/

/** Returns the words that name folders which a program copies, moves, removes or changes with their content. */
export function findTrees([program, ...words]: Argv): Word[] {
  const name = programName(program) ?? ''
  if (name === 'git') return findGitTrees(words)
  if (name === 'find') return words.some(({ text }) => FIND_FILTER.test(text)) ? [] : listChangedFolders(words)
  const isWhole = /^(mv|rsync)$/.test(name) || words.some(({ text }) => RECURSIVE.test(text))
  if (!TREE_PROGRAMS.test(name) || !isWhole) return []
  const [folder] = findTargetFolder(name, words)
  const files = words.filter((word) => !/^-./.test(word.text) && word !== folder)
  const all = folder ? [...files, folder] : files
  if (!WRITES_LAST.test(name)) return all
  // In the working folder only the placed names count, unless a source is the content of a folder.
  const isContent =
    words.some(({ text }) => NO_FOLDER.test(text)) || all.slice(0, -1).some(({ text }) => text.endsWith('/'))
  const isHere = /^\.\/*$/.test(all.at(-1)?.text ?? '') && !isContent
  return [...(isHere ? all.slice(0, -1) : all), ...placeInto(all)]
}

/** Returns the folders that the options of a program let it work in. */
export const findFolders = ([program, ...words]: Argv): Word[] => [
  ...findValues(words, FOLDER_OPTION),
  ...(programName(program) === 'tar' ? findValues(words, TAR_FOLDER) : []),
]

const BRACES = /^([^{}$`~*?[\\]*)\{([^{}$`~*?[\\]*,[^{}$`~*?[\\]*)\}([^{}$`~*?[\\]*)$/
/** Returns the words of one pair of braces around plain names. */
function expandBraces(word: Word): Word[] {
  const [, before = '', names, after = ''] = BRACES.exec(word.text) ?? []
  return names === undefined ? [word] : names.split(',').map((name) => literal(before + name + after))
}

/** Returns the names that files have in the folder into which they go. */
function placeInto(files: Word[]): Word[] {
  const folder = files.at(-1)
  return folder
    ? files
        .slice(0, -1)
        .flatMap(expandBraces)
        .map((file) =>
          withText(
            isStatic(file) ? folder : file,
            `${trimEndChars(folder.text, '/')}/${trimEndChars(file.text, '/').split('/').at(-1)}`,
          ),
        )
    : []
}
