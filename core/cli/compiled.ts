import { lstatSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { homeOf, makeFolder } from '../base/index.js'

/**
 * Keeps what V8 compiles of the program for its next start, where this Node can. It lies in the user's home: what is read from it runs. Where
 * another place is meant, or the folder is anybody else's too, nothing is kept.
 */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
  if (!enableCompileCache || process.argv.some((word) => /^--home(?:=|$)/.test(word))) return
  const folder = join(homeOf({}), 'cache', 'compiled')
  try {
    makeFolder(folder, 0o700)
    const { uid, mode } = lstatSync(folder)
    if (process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)) enableCompileCache(folder)
  } catch {
    // Without a place to write to, every start compiles.
  }
}
