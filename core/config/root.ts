import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own `.vtcode` marks no workspace, and of
 * folders above neither does what lies in `/` or where everybody may write: anybody could make that of all below `/tmp`.
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

/** Whether everybody may write into a folder. */
const isOpen = (folder: string): boolean => process.getuid !== undefined && (statSync(folder).mode & 0o002) !== 0
