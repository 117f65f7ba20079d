import { toText } from '../../../core/text/index.js'
import { findFolders, type Argv, type ParsedCommand, type Word } from '../shell/index.js'
import type { CallFacts } from './facts.js'
import { isWordInside, resolveWord, type WorkingFolder } from './word_paths.js'

const FOLDER_COMMANDS = ['cd', 'pushd', 'popd', 'chdir']
const MAX_FOLDERS = 16

export const isFolderChange = ([program]: Argv): boolean => FOLDER_COMMANDS.includes(program?.text ?? '')

/** Returns the words of a command that name folders which it enters. */
export const listEnteredFolders = (argv: Argv): Word[] =>
  isFolderChange(argv) ? argv.slice(1).filter(({ text }) => !text.startsWith('-')) : findFolders(argv)

export const readWorkdir = ({ call: { input } }: CallFacts): string => toText(input.workdir ?? input.cwd ?? '.')
export const toWorkingFolder = (facts: CallFacts): WorkingFolder => ({
  folder: readWorkdir(facts),
  workspace: facts.workspace,
})

/**
 * Returns every folder in which a command of the line may run: the start folder, and each target of a `cd`. A word is
 * harmless only if it is harmless in all of them. Empty if a `cd` cannot be followed.
 */
export async function listWorkingFolders(line: ParsedCommand, facts: CallFacts): Promise<WorkingFolder[]> {
  const places = [toWorkingFolder(facts)]
  for (const argv of line.commands.filter(isFolderChange)) {
    const target = readCdTarget(argv)
    if (target === undefined || places.length >= MAX_FOLDERS) return []
    for (const place of [...places]) {
      const folder = resolveWord(target, place)
      if (folder === undefined || !(await isWordInside(target, place))) return []
      places.push({ ...place, folder })
    }
  }
  return places
}

/** Returns the target of a `cd` that only leads down; the shell resolves `..` in its own way. */
export function readCdTarget([program, word, ...more]: Argv): string | undefined {
  const plain =
    program?.text === 'cd' &&
    word?.kind === 'static' &&
    more.length === 0 &&
    !/^[-~+]|^$/.test(word.text) &&
    !word.text.split('/').includes('..')
  return plain ? word.text : undefined
}
