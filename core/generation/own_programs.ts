import { existsSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import type { Contribution, Layer } from '../shapes/index.js'
import { findModulePath, isInside } from '../system/index.js'
import type { LoadedSettings, SettingsOptions } from '../config/index.js'
import { addOwnPaths, findImports, listFileWords, resolveFileBelow } from '../trust/index.js'

/** Keys whose texts are the words of a program. */
const PROGRAM_KEYS = ['command', 'args', 'run', 'notify_command', 'shell']
/** Variables of the environment that name a program of the user. */
const PROGRAM_VARIABLE = /^(?:VISUAL|EDITOR|BROWSER|VTCODE_\w+_BIN)$/

interface OwnPrograms {
  locations: { workspace: string; user: string }
  env: Readonly<Record<string, string | undefined>>
  config: SettingsOptions['config']
  loaded: Pick<LoadedSettings, 'settings' | 'origins' | 'files'>
  found: { contributions: readonly Contribution[] }
}

/**
 * Records the files of the workspace that belong to the user: settings files, plugins that a setting of the user names,
 * and files that the words of the user's own commands name directly. As with consent, no program is followed.
 */
export function recordOwnPrograms(all: OwnPrograms): void {
  const { locations, env, config, loaded, found } = all
  const { workspace } = locations
  addOwnPaths(workspace, loaded.files)
  // The code next to a settings file of the workspace needs consent.
  for (const one of [config ?? []].flat())
    if (typeof one === 'string' && !one.includes('=')) addOwnPaths(workspace, listCode(workspace, resolve(one)))
  recordCommands(all)
  const programs = Object.entries(env).filter(([name]) => PROGRAM_VARIABLE.test(name))
  for (const [, value = ''] of programs) recordWords(all, [value], [workspace])
  for (const one of found.contributions)
    if (isOwn(one.layer) && !one.fromSettings && isInside(workspace, one.file)) recordPlugin(all, one)
}

/** Records the files that commands in the settings of the user name, also from a working folder of a server. */
function recordCommands(all: OwnPrograms): void {
  const { workspace } = all.locations
  const own = mentionsProgram(all.loaded) ? all.loaded.origins.filter(({ layer }) => isOwn(layer)) : []
  const folders = own.flatMap(({ path, value }) =>
    path.endsWith('.cwd') && typeof value === 'string' ? [resolve(workspace, value)] : [],
  )
  for (const { path, file, value } of own) {
    const texts = listProgramTexts(value, PROGRAM_KEYS.includes(path.slice(path.lastIndexOf('.') + 1)))
    recordWords(all, texts, [workspace, ...folders, ...(isAbsolute(file) ? [dirname(file)] : [])])
  }
}

/** Records the folder of a plugin, or a loose manifest with its code, and the files that its commands name. */
function recordPlugin(all: OwnPrograms, { layer, plugin, root, file, manifest }: Contribution): void {
  const { workspace } = all.locations
  const module = findModulePath(manifest)
  if (plugin !== layer && root !== workspace) addOwnPaths(workspace, [root], { folder: true })
  else addOwnPaths(workspace, [file, ...(module ? listCode(workspace, resolve(dirname(file), module)) : [])])
  recordWords(all, listProgramTexts(manifest, false), [dirname(file), root, workspace])
}

/** Records the paths that words of commands name from these folders. */
function recordWords({ locations, env }: OwnPrograms, texts: readonly string[], folders: readonly string[]): void {
  const { workspace, user } = locations
  const names = texts
    .flatMap(listFileWords)
    .map((word) =>
      word
        .replace(/^~(?=\/)/, () => user)
        .replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced?: string, bare?: string) => env[braced ?? bare!] ?? whole),
    )
  const resolveNames = (from: readonly string[]) => names.flatMap((name) => from.map((folder) => resolve(folder, name)))
  // A command may enter a folder that it names, and find its files there.
  const entered = resolveNames(folders).filter((path) => path !== workspace && isFolderBelow(workspace, path))
  for (const name of names) {
    const paths = new Set([...folders, ...entered].map((folder) => resolve(folder, name)))
    addOwnPaths(workspace, paths, { sure: /[/.]/.test(name) && !/\s/.test(name) })
  }
}

/** Never throws: a word may be a whole script, far longer than a path. */
const isFolderBelow = (workspace: string, path: string): boolean => isInside(workspace, path) && existsSync(`${path}/.`)

const isOwn = (layer: Layer): boolean => layer !== 'workspace' && layer !== 'builtin'

/** Returns whether a setting starts a program. Origins of plain defaults are not computed for nothing. */
const mentionsProgram = ({ settings }: Pick<LoadedSettings, 'settings'>): boolean => {
  const { hooks, mcp, secrets, custom_providers, agent, automation, exec } = settings
  const text = JSON.stringify([hooks, mcp.servers, secrets, custom_providers, agent, automation.distributed])
  return /"(?:command|notify_command)":/.test(text) || exec.shell.includes('/')
}

/** Lists the texts of a value that are words of a program. */
function listProgramTexts(value: unknown, isProgram: boolean): string[] {
  if (typeof value === 'string') return isProgram ? [value] : []
  return Object.entries(value ?? {}).flatMap(([key, item]) =>
    listProgramTexts(item, isProgram || PROGRAM_KEYS.includes(key)),
  )
}

/** Lists a file with code and the files that its text names, also the source of a compiled file. */
const listCode = (workspace: string, path: string): string[] =>
  [path, path.replace(/js$/, 'ts')].flatMap((file) => {
    const real = resolveFileBelow(workspace, file)
    return real === undefined ? [file] : [file, ...findImports(workspace, real)]
  })
