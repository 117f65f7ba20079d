import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { keepSecretsOf } from '../base/index.js'

/**
 * The nearest folder upwards with settings, `.vtcode` or `.git`, else the folder itself. The user's own `.vtcode` marks no workspace, and of
 * folders above neither does what lies in `/` or where everybody may write: anybody could make that of all below `/tmp`.
 */
export function findRoot(start: string, home: string): string {
  const marks = ['.vtcode', '.git', ...['ts', 'mts', 'js', 'mjs', 'json', 'yaml', 'yml'].map((end) => `vtcode.config.${end}`)]
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

/** What a kernel is told, with the environment that is meant: a home that is said holds there too, and what names call secret is kept so. */
export function surrounded<T extends { home?: string; env?: Record<string, string | undefined> }>(options: T): T & { env: Record<string, string | undefined> } {
  const { home, env = process.env } = options
  if (env !== process.env) keepSecretsOf(env)
  return { ...options, env: home === undefined || env['HOME'] === home ? env : { ...env, HOME: home } }
}
