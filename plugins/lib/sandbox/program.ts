import { existsSync, realpathSync } from 'node:fs'
import { programFile } from '../../../core/system/index.js'

/** What of this program its processes in a sandbox have to see: its files, and the packages that it imports. */
export const listProgramPaths = (): string[] => [
  ...new Set(
    ['.', '../package.json', '../node_modules']
      .map((path) => programFile(path))
      .filter((path) => existsSync(path))
      .map(findPackageRoot),
  ),
]

/**
 * A folder with the packages that lie beside it: what is imported by name is looked for in the folders above. It is the outermost
 * `node_modules`, for pnpm and npm's `linked` keep each package in a folder inside of it and put up links.
 */
export function findPackageRoot(folder: string): string {
  const real = realpathSync(folder)
  const at = real.indexOf('/node_modules/')
  return at < 0 ? real : real.slice(0, at + '/node_modules'.length)
}
