import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, relative } from 'node:path'

/** Folders where programs are looked for: those of PATH, without relative ones and without anything of the workspace. */
export function searchPath(path: string | undefined, workspace: string): string[] {
  return (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder) && !inside(folder, workspace))
}

const inside = (folder: string, workspace: string): boolean => {
  const way = relative(workspace, folder)
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

/** The absolute path of a program by its bare name. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  if (!/^[^/\\\0]+$/.test(name)) return undefined
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
