import { existsSync, realpathSync } from 'node:fs'
import { programFile } from '../../../core/system/index.js'

/** Returns the paths that processes of this program need in a sandbox: its files and the packages that it imports. */
export const listProgramPaths = (): string[] => [
  ...new Set(
    ['.', '../package.json', '../node_modules']
      .map((path) => programFile(path))
      .filter((path) => existsSync(path))
      .map(findImportRoot),
  ),
]

/**
 * Returns the outermost `node_modules` around a folder, else the folder. Imports search all parent folders. pnpm, and
 * npm with `install-strategy=linked`, keep packages in inner folders and link to them.
 */
export function findImportRoot(folder: string): string {
  const real = realpathSync(folder)
  const at = real.indexOf('/node_modules/')
  return at < 0 ? real : real.slice(0, at + '/node_modules'.length)
}
