import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own `.vtcode` marks no workspace. */
export function findRoot(start: string, home: string): string {
  const marks = ['.vtcode', '.git', ...['ts', 'mts', 'js', 'mjs', 'json', 'yaml', 'yml'].map((end) => `vtcode.config.${end}`)]
  const top = realpathSync(start)
  for (let folder = top; ; folder = dirname(folder)) {
    if (marks.some((mark) => join(folder, mark) !== home && existsSync(join(folder, mark)))) return folder
    if (dirname(folder) === folder) return top
  }
}
