import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own
 * `.vtcode` does not count. Above the folder, neither does `/` or a folder that everybody can write: any user could
 * make `/tmp` the workspace of all folders below it.
 */
export function findRoot(start: string, home: string): string {
  const marks = [
    '.vtcode',
    '.git',
    ...['ts', 'mts', 'js', 'mjs', 'json', 'yaml', 'yml'].map((end) => `vtcode.config.${end}`),
  ]
  const top = realpathSync(start)
  for (let folder = top; ; folder = dirname(folder)) {
    const isMarked = marks.some((mark) => join(folder, mark) !== home && existsSync(join(folder, mark)))
    const isTop = dirname(folder) === folder
    if (isMarked && (folder === top || !(isTop || isOpen(folder)))) return folder
    if (isTop) return top
  }
}

/** Returns whether everybody can write into a folder. */
const isOpen = (folder: string): boolean => process.getuid !== undefined && (statSync(folder).mode & 0o002) !== 0
