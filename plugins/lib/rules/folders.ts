import type { Argv, ParsedCommand } from '../shell/index.js'
import { isInside, reached, type WordPlace } from './named.js'

const changers = ['cd', 'pushd', 'popd', 'chdir']
const most = 16

export const changesFolder = ([program]: Argv): boolean => changers.includes(program?.text ?? '')

/**
 * Every place in which a command of the line may run: where the line begins, and where a `cd` in it leads. A word is harmless only if it
 * is in all of them, so it does not matter which `cd` comes to pass. None when a `cd` cannot be followed.
 */
export async function commandFolders(line: ParsedCommand, start: WordPlace): Promise<WordPlace[]> {
  const places = [start]
  for (const argv of line.commands.filter(changesFolder)) {
    const target = targetOf(argv)
    if (target === undefined || places.length >= most) return []
    for (const place of [...places]) {
      const folder = reached(target, place)
      if (folder === undefined || !(await isInside(target, place))) return []
      places.push({ ...place, folder })
    }
  }
  return places
}

/** The one word of a `cd` that leads down and nowhere else, whatever was done before: the shell undoes `..` in its own way. */
export function targetOf([program, word, ...more]: Argv): string | undefined {
  const plain =
    program?.text === 'cd' &&
    word?.kind === 'static' &&
    more.length === 0 &&
    !/^[-~+]|^$/.test(word.text) &&
    !word.text.split('/').includes('..')
  return plain ? word.text : undefined
}
