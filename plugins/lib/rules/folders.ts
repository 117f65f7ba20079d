import type { Argv, ParsedCommand } from '../shell/index.js'
import { isInside, resolveWord, type WorkingFolder } from './named.js'

const FOLDER_COMMANDS = ['cd', 'pushd', 'popd', 'chdir']
const MAX_FOLDERS = 16

export const isFolderChange = ([program]: Argv): boolean => FOLDER_COMMANDS.includes(program?.text ?? '')

/**
 * Every place in which a command of the line may run: where the line begins, and where a `cd` in it leads. A word is harmless only if it
 * is in all of them, so it does not matter which `cd` comes to pass. None when a `cd` cannot be followed.
 */
export async function findWorkingFolders(line: ParsedCommand, start: WorkingFolder): Promise<WorkingFolder[]> {
  const places = [start]
  for (const argv of line.commands.filter(isFolderChange)) {
    const target = readCdTarget(argv)
    if (target === undefined || places.length >= MAX_FOLDERS) return []
    for (const place of [...places]) {
      const folder = resolveWord(target, place)
      if (folder === undefined || !(await isInside(target, place))) return []
      places.push({ ...place, folder })
    }
  }
  return places
}

/** The one word of a `cd` that leads down and nowhere else, whatever was done before: the shell undoes `..` in its own way. */
export function readCdTarget([program, word, ...more]: Argv): string | undefined {
  const plain =
    program?.text === 'cd' &&
    word?.kind === 'static' &&
    more.length === 0 &&
    !/^[-~+]|^$/.test(word.text) &&
    !word.text.split('/').includes('..')
  return plain ? word.text : undefined
}
