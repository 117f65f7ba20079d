import { lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { toRealPath } from '../../../core/system/index.js'
import { compileWildcard } from '../../../core/text/index.js'
import { listEntries } from '../git/index.js'
import { literal, programName, type Argv, type ParsedCommand, type Word } from '../shell/index.js'
import type { CallFacts } from './facts.js'
import { listEnteredFolders, readWorkdir } from './folders.js'
import { isKnownHome, resolveOnMachine } from './word_paths.js'

const MAX_MATCHES = 2000
const PATTERN = /[*?[]/

/**
 * Returns a pattern and the existing names in a folder that it matches; `undefined` if they are too many. Brackets
 * match any characters here, because their meaning depends on the language of the shell.
 */
export function expandPattern(text: string, folder: string, home: string): string[] | undefined {
  let found = ['']
  const names = text.split('/')
  for (const [at, name] of names.entries()) {
    const isLast = at === names.length - 1
    if (PATTERN.test(name)) {
      const matches = compileName(name)
      found = found.flatMap((before) =>
        listEntries(toRealPath(resolveOnMachine(before || '.', folder, home)))
          .filter((entry) => (isLast || entry.isFolder || entry.isLink) && matches(entry.name))
          .map((entry) => before + entry.name)
          .concat(name.startsWith('.') ? [`${before}.`, `${before}..`] : []),
      )
    } else found = found.map((before) => before + name)
    if (found.length > MAX_MATCHES) return undefined
    if (!isLast) found = found.map((before) => `${before}/`)
  }
  return [text, ...found]
}

function compileName(name: string): (entry: string) => boolean {
  const wide = name.replace(/\[.*\]/s, '*').replaceAll('\\', '?')
  const matches = compileWildcard(wide, true)
  // In some languages a shell counts bytes.
  const matchesBytes = compileWildcard(wide.replaceAll('?', '*'))
  return (entry) =>
    (!entry.startsWith('.') || name.startsWith('.')) && (/^[ -~]*$/.test(entry) ? matches : matchesBytes)(entry)
}

/** Words that change which names a pattern matches. */
const MATCHING_OPTION = /^shopt$|BASHOPTS|GLOBIGNORE|dotglob|nocaseglob|globstar|extglob/

/** Checks whether a line or its variables change which names a pattern matches. */
const changesMatching = ({ commands, assigned }: ParsedCommand, { call: { input } }: CallFacts): boolean =>
  [...assigned, ...Object.keys((input.env ?? {}) as object)].some((name) => MATCHING_OPTION.test(name)) ||
  commands.some((argv) => argv.some(({ text }) => MATCHING_OPTION.test(text)))

/** Folders in which the words of a line may be resolved. */
export interface LineFolders {
  /** Absolute paths, the start folder first. */
  paths: string[]
  /** True if the line may enter a folder that only the run decides. */
  hasUnknown: boolean
  /** Returns the paths that a word may name in a folder, as words; `undefined` if only the run decides. */
  expand(word: Word, folder: string): string[] | undefined
}

const MAX_FOLDERS = 64

/** Returns the folders that a line may enter, by a `cd` or an option such as `-C`. */
export function listLineFolders(line: ParsedCommand, facts: CallFacts): LineFolders {
  const { root, user } = facts.workspace
  const isLoose = changesMatching(line, facts)
  const expand: LineFolders['expand'] = (word, folder) => {
    if (word.kind === 'static' || isKnownHome(word, line)) return [word.text]
    return word.kind === 'glob' && !isLoose ? expandPattern(word.text, folder, user) : undefined
  }
  const paths = new Set([resolve(root, readWorkdir(facts))])
  let hasUnknown = false
  for (const word of line.commands.flatMap(listEnteredFolders)) {
    for (const folder of [...paths]) {
      const inner = expand(word, folder)
      hasUnknown ||= inner === undefined
      for (const one of inner ?? [])
        for (const path of [resolveOnMachine(one, folder, user), resolve(folder, one)])
          if (paths.size < MAX_FOLDERS && isFolder(path)) paths.add(path)
    }
  }
  return { paths: [...paths], hasUnknown: hasUnknown || paths.size >= MAX_FOLDERS, expand }
}

function isFolder(path: string): boolean {
  return lstatSync(toRealPath(path), { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Returns the commands of a line, also with patterns replaced by the names that they match in each folder. */
export const expandLine = (line: ParsedCommand, folders: LineFolders): Argv[] => [
  ...line.commands,
  ...folders.paths.flatMap((folder) => expandCommands(line, folder, folders)),
]

/**
 * Returns the commands of a line with each pattern replaced by the names that it matches in a folder: by all of them,
 * and by each alone, because the place of a name may decide its use.
 */
const expandCommands = ({ commands }: ParsedCommand, folder: string, { expand }: LineFolders): Argv[] =>
  commands.flatMap((argv) => {
    if (argv.every(({ kind }) => kind !== 'glob') || programName(argv[0]) === undefined) return [argv]
    const words = argv.map((word): Argv => {
      const [text, ...names] = word.kind === 'glob' ? (expand(word, folder) ?? [word.text]) : []
      return text === undefined ? [word] : (names.length > 0 ? names : [text]).map(literal)
    })
    const count = Math.max(...words.map(({ length }) => length))
    const single = Array.from({ length: count }, (_, at) => words.map((names) => names[at % names.length]!))
    return [words.flat(), ...single]
  })

/** Checks whether a folder has folders or links whose names begin with a text. */
export const hasFolderLike = (folder: string, start: string): boolean =>
  listEntries(toRealPath(folder)).some(({ name, isFolder: is, isLink }) => (is || isLink) && name.startsWith(start))
