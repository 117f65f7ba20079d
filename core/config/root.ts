import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { readSmallFile } from '../system/index.js'
import { hasPackageSettings, MAX_PACKAGE_BYTES, PACKAGE_FILE } from '../documents/index.js'
import { OWN_PLACES, RC_PLACES } from './places.js'

const MARKS = ['.vtcode', '.git', ...OWN_PLACES]
/**
 * Returns the nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own
 * `.vtcode` does not count, nor do files such as `~/.vtcoderc`: they would make the home folder the workspace of all
 * folders in it. Above the folder, neither does `/` or a folder that everybody can write: any user could make `/tmp`
 * the workspace of all folders below it.
 */
export function findRoot(start: string, home: string): string {
  const top = realpathSync(start)
  for (let folder = top; ; folder = dirname(folder)) {
    const isTop = dirname(folder) === folder
    if (isMarked(folder, home) && (folder === top || !(isTop || isOpen(folder)))) return folder
    if (isTop) return top
  }
}

function isMarked(folder: string, home: string): boolean {
  const has = (mark: string) => join(folder, mark) !== home && existsSync(join(folder, mark))
  return MARKS.some(has) || (folder !== dirname(home) && (RC_PLACES.some(has) || declaresSettings(folder)))
}

function declaresSettings(folder: string): boolean {
  // The package of a dependency has settings of its own work.
  if (folder.split(sep).includes('node_modules')) return false
  const text = readSmallFile(join(folder, PACKAGE_FILE), MAX_PACKAGE_BYTES)
  return text !== undefined && hasPackageSettings(text)
}

/** Returns whether everybody can write into a folder. */
const isOpen = (folder: string): boolean => process.getuid !== undefined && (statSync(folder).mode & 0o002) !== 0
