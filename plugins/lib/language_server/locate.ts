import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import {
  findProgram,
  isForeign,
  isInside,
  isProgram,
  listSearchFolders,
  toRealPath,
} from '../../../core/system/index.js'
import type { LanguageServerDefinition } from './definition.js'

/** The program of a server. */
export interface LocatedProgram {
  file: string
  /** The repository names the program, or it lies there, so the repository decides what runs. */
  inside: boolean
  version?: string
}

/** Returns the root of the project of a file: the nearest folder with a marker, else the root of the workspace. */
export function findProjectRoot(
  workspace: string,
  path: string,
  { root_markers = [] }: LanguageServerDefinition,
): string {
  for (const folder of listFolders(workspace, path))
    if (root_markers.some((name) => isFile(join(folder, name)))) return folder
  return workspace
}

/** Lists the folders above a file, the nearest first, up to the workspace. */
function listFolders(workspace: string, path: string): string[] {
  const folders: string[] = []
  for (let folder = dirname(join(workspace, path)); isInside(workspace, folder); folder = dirname(folder)) {
    folders.push(folder)
    if (folder === workspace) break
  }
  return folders
}

interface Search {
  workspace: string
  /** The file to serve. */
  path: string
  /** The search path of programs. */
  searchPath: string | undefined
}

/**
 * Returns the program of a server: the one of the project, else the first in PATH outside the workspace. Where the
 * project has the package in a version that does not fit, there is none: another version would judge by other rules.
 */
export function locateProgram(
  definition: LanguageServerDefinition,
  { workspace, path, searchPath }: Search,
): LocatedProgram | undefined {
  const { command, file, layer } = definition
  if (command.includes('/')) {
    const program = resolve(dirname(file), command)
    return isProgram(program)
      ? { file: program, inside: layer === 'workspace' || isForeign(program, workspace) }
      : undefined
  }
  for (const folder of listFolders(workspace, path)) {
    const modules = join(folder, 'node_modules')
    const wanted = definition.package
    if (wanted) {
      const found = readPackage(join(modules, wanted.name), command)
      if (found) return fits(wanted, found.version) && isProgram(found.file) ? { ...found, inside: true } : undefined
    } else {
      const program = join(modules, '.bin', command)
      if (isProgram(program)) return { file: program, inside: true }
    }
  }
  return locateInPath(definition, listSearchFolders(searchPath, workspace))
}

/** Describes each definition with its program at the root of a workspace, for a report. */
export const describePrograms = (
  definitions: readonly LanguageServerDefinition[],
  { workspace, searchPath }: Omit<Search, 'path'>,
) =>
  definitions.map((definition) => {
    const { file, version } = locateProgram(definition, { workspace, path: 'file', searchPath }) ?? {}
    const { name, command, languages } = definition
    return { name, command, endings: Object.keys(languages), program: file ?? null, ...(version && { version }) }
  })

function locateInPath(
  { command, package: wanted }: LanguageServerDefinition,
  folders: string[],
): LocatedProgram | undefined {
  const program = findProgram(command, folders)
  if (program === undefined) return undefined
  const real = realpathSync(program)
  if (basename(real) === 'rustup' && !hasToolchainProgram(command)) return undefined
  const inside = isForeign(program)
  if (!wanted) return { file: program, inside }
  const at = real.lastIndexOf(`/node_modules/${wanted.name}/`)
  const found = at < 0 ? undefined : readPackage(join(real.slice(0, at), 'node_modules', wanted.name), command)
  return found && fits(wanted, found.version) ? { file: program, inside, version: found.version } : undefined
}

/** Returns whether a toolchain of rustup has a program: rustup puts each name into PATH, also without the program. */
function hasToolchainProgram(command: string): boolean {
  const toolchains = join(process.env['RUSTUP_HOME'] ?? join(homedir(), '.rustup'), 'toolchains')
  try {
    return readdirSync(toolchains).some((name) => isProgram(join(toolchains, name, 'bin', command)))
  } catch {
    return false
  }
}

function readPackage(folder: string, command: string): { file: string; version: string } | undefined {
  try {
    const { version, bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      version?: unknown
      bin?: string | Record<string, string>
    }
    const file = join(folder, String(typeof bin === 'string' ? bin : bin?.[command]))
    // A package names only its own files as programs.
    if (!isInside(toRealPath(folder), toRealPath(file))) return undefined
    return { file, version: String(version) }
  } catch {
    return undefined
  }
}

function fits(
  { minimum_major = 0, maximum_major = Infinity }: NonNullable<LanguageServerDefinition['package']>,
  version: string,
) {
  const major = Number.parseInt(version, 10)
  return major >= minimum_major && major <= maximum_major
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
