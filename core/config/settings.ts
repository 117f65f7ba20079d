import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  deepFreeze,
  problem,
  createDiagnostic,
  DEFAULT_TIMEOUTS,
  VtError,
  type Config,
  type Diagnostic,
  type Mode,
  type Schema,
  type Settings,
} from '../shapes/index.js'
import { programFile, sha256 } from '../system/index.js'
import { isWritableByRootOnly, openParseCache, type FoundFile } from '../documents/index.js'
import { readContract } from '../schema/index.js'
import {
  findConsentWorkspace,
  copyConsentedFiles,
  readIdentity,
  toCopyPath,
  toConfigItem,
  toValueItem,
  recordConsent,
  type TrustItem,
} from '../trust/index.js'
import { merge } from './merge.js'
import { findOnly, findWorkspaceFiles, isSameFolder, openFile } from './find_files.js'
import { LOCAL_PLACES, MANAGED_PLACES, OWN_PLACES, STATE_PLACES, WORKSPACE_PLACES } from './places.js'
import {
  parseAssignment,
  createCheckedSource,
  readCodeFile,
  readDataFile,
  isCode,
  type SettingsSource,
} from './source.js'
import { readPeerFiles } from './peer_files.js'
import { readToolPolicy } from './tool_policy.js'
import type { Origin } from './types.js'

/** Gives a settings file its types. */
export const defineConfig = (config: Config): Config => config

export interface SettingsOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Folder of the administrator. */
  admin?: string
  /** Settings of the call: data, `a.b=value`, or a file that replaces the workspace's; later entries win. */
  config?: Config | string | readonly (Config | string)[]
  mode?: Mode
  /** Mode if neither the settings nor the caller give one. */
  default_mode?: Mode
  env: Record<string, string | undefined>
  /** Returns whether the user agreed to this item of the workspace with this content. Default: to none. */
  isTrusted?: (id: string, digest: string) => boolean
  /** The items are only listed: `isTrusted` is no consent of the user. */
  inspecting?: true
  /** Time limit in milliseconds for settings in code. */
  timeoutMs?: number
}
export interface LoadedSettings {
  settings: Settings
  origins: Origin[]
  diagnostics: Diagnostic[]
  files: string[]
  /** Items of the workspace's settings that need consent, given or not. */
  items: TrustItem[]
}

/**
 * Loads and merges the settings of all layers. Forbidden settings of a workspace are ignored and reported. Throws
 * VT_CONFIG_INVALID and VT_CONFIG_AMBIGUOUS with `details.files`.
 */
export async function loadSettings(options: SettingsOptions): Promise<LoadedSettings> {
  const { workspace, env, isTrusted = () => false } = options
  const diagnostics: Diagnostic[] = []
  const items: TrustItem[] = []
  const isConsented = (item: TrustItem): boolean => {
    items.push(item)
    const yes = isTrusted(item.id, item.digest)
    if (yes && options.inspecting !== true) recordConsent(workspace, item.id, item)
    return yes
  }
  const configs = [options.config ?? []].flat() as (Config | string)[]
  const sources = await readFileSources(options, configs, isConsented, diagnostics)
  const files = sources.map(({ file }) => file)
  sources.push(...(await readCallSources(env, configs)))
  for (const source of sources)
    source.isTrusted = (key, value) => isConsented(toValueItem(source.file, key, value, workspace))
  // A copy would compute the origins.
  return Object.assign(mergeSources(sources, options, diagnostics), { files, items })
}

/** Reads the settings files of all layers, the lowest first. `agreed`: the user agreed to an item. */
async function readFileSources(
  options: SettingsOptions,
  configs: (Config | string)[],
  agreed: (item: TrustItem) => boolean,
  diagnostics: Diagnostic[],
): Promise<SettingsSource[]> {
  const { workspace, home, admin = '/etc/vtcode', env, mode } = options
  const input = { cwd: workspace, env, ...(mode && { mode }) }
  const { timeoutMs = DEFAULT_TIMEOUTS.settings } = options
  const cache = openParseCache(home, workspace)
  const own = (layer: 'user' | 'call', found: FoundFile) =>
    isCode(found.file) ? readCodeFile(layer, found, input) : readDataFile(layer, found, cache)
  const sources: SettingsSource[] = []

  for (const folder of [home, join(workspace, '.vtcode')]) requireFolder(folder)
  const managed = await findOnly(admin, MANAGED_PLACES)
  if (managed && isOwnedByRoot([admin, managed.file], diagnostics))
    sources.push(await readDataFile('admin', managed, cache))
  const users = await findOnly(home, OWN_PLACES)
  if (users) {
    requireOwn([home, users.file])
    sources.push(await own('user', users))
  }

  const adopted = findAdoptedFile(home, workspace)
  if (adopted && existsSync(adopted)) {
    requireOwn([home, adopted])
    sources.push(await readDataFile('user', await openFile(adopted), cache))
  }

  const instead = configs.findLast((one) => typeof one === 'string' && !one.includes('='))
  if (typeof instead === 'string') {
    const hint = 'Name a file that exists, or a single setting: --config key=value.'
    if (!existsSync(instead))
      throw problem(
        'VT_CONFIG_INVALID',
        { problem: `Settings file not found: '${instead}'.` },
        { hint, details: { files: [resolve(instead)] } },
      )
    sources.push(await own('call', await openFile(resolve(instead))))
  } else {
    for (const found of await findWorkspaceFiles(workspace, home)) {
      const { file } = found
      const item = isCode(file) ? toConfigItem(file, workspace) : undefined
      if (!item) sources.push(await readDataFile('workspace', found, cache))
      else if (agreed(item))
        sources.push(
          await readCodeFile('workspace', found, input, {
            wait: timeoutMs,
            from: toCopyPath(copyConsentedFiles(home, item.agreed!), item.agreed!, file),
          }),
        )
      else diagnostics.push(createDiagnostic('VT_CONFIG_UNTRUSTED', { file }, [file], 'warning'))
    }
  }
  const policy = join(workspace, '.vtcode/tool-policy.json')
  if (lstatSync(policy, { throwIfNoEntry: false }) && !isSameFolder(dirname(policy), home))
    sources.push(await readToolPolicy(policy, workspace, diagnostics))
  return [...sources, ...readPeerFiles(workspace, env, diagnostics)]
}

/** Reads the settings from variables and options, in this order. */
async function readCallSources(env: SettingsOptions['env'], configs: (Config | string)[]): Promise<SettingsSource[]> {
  const sources: SettingsSource[] = []
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('VTCODE__') || text === undefined) continue
    sources.push(await createCheckedSource(name, parseAssignment(name.slice(8).toLowerCase().split('__'), text)))
  }
  for (const one of configs) {
    const equals = typeof one === 'string' ? one.indexOf('=') : -1
    if (typeof one !== 'string') sources.push(await createCheckedSource('options', one))
    else if (equals >= 0)
      sources.push(
        await createCheckedSource(
          `--config ${one}`,
          parseAssignment(one.slice(0, equals).split('.'), one.slice(equals + 1)),
        ),
      )
  }
  return sources
}

/** Parsed once for all kernels. */
let settingsSchema: Schema | undefined

/**
 * Merges these sources, in the requested mode. Without a source, uses the defaults of the build and computes origins on
 * first use.
 */
function mergeSources(
  sources: SettingsSource[],
  { mode, default_mode }: SettingsOptions,
  diagnostics: Diagnostic[],
): Pick<LoadedSettings, 'settings' | 'origins' | 'diagnostics'> {
  const unset = sources.length === 0
  if (default_mode !== undefined)
    sources.unshift({ layer: 'builtin', file: 'default_mode', value: { policy: { mode: default_mode } } })
  if (mode !== undefined) sources.push({ layer: 'call', file: 'mode', value: { policy: { mode } } })
  const computeMerge = () => merge((settingsSchema ??= readContract('config.1.json')), sources)
  if (unset) {
    const settings = readDefaults()
    settings.policy.mode = mode ?? default_mode ?? settings.policy.mode
    let origins: Origin[] | undefined
    return {
      settings: deepFreeze(settings),
      get origins() {
        return (origins ??= computeMerge().origins)
      },
      diagnostics,
    }
  }
  const { settings, origins, diagnostics: ignored } = computeMerge()
  return { settings: deepFreeze(settings) as Settings, origins, diagnostics: [...diagnostics, ...ignored] }
}

/** Returns the settings file that the user adopted from this workspace, if any was ever adopted. */
export function findAdoptedFile(home: string, workspace: string, how: { make?: true } = {}): string | undefined {
  const folder = join(home, 'workspaces')
  if (!how.make && !existsSync(folder)) return undefined
  return join(folder, sha256(readIdentity(findConsentWorkspace(workspace, home))).slice(0, 16), 'policy.json')
}

export function readDefaults(): Settings {
  return JSON.parse(readFileSync(programFile('manifests/schema/_defaults.json'), 'utf8'))
}

/** Returns the faults of one settings file, by line. A file in code runs in a child process. */
export async function validateConfigFile(file: string): Promise<Diagnostic[]> {
  const path = resolve(file)
  try {
    if (isCode(path))
      await readCodeFile(
        'call',
        await openFile(path),
        { cwd: process.cwd(), env: process.env },
        { wait: DEFAULT_TIMEOUTS.settings },
      )
    else await readDataFile('call', await openFile(path))
    return []
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    const { code, message, hint, details } = error.problem
    return [{ code, severity: 'error', message, hint, files: details?.['files'] as string[] }]
  }
}

/** Lists all possible files with settings, consents or locks. */
export function listSettingsLocations({
  workspace,
  home,
  admin = '/etc/vtcode',
}: {
  workspace: string
  home: string
  admin?: string
}): string[] {
  const folder = join(workspace, '.vtcode')
  const places = [
    ...MANAGED_PLACES.map((place) => join(admin, place)),
    ...OWN_PLACES.map((place) => join(home, place)),
    ...[...WORKSPACE_PLACES, ...STATE_PLACES, ...LOCAL_PLACES].map((place) => join(workspace, place)),
  ]
  const others = [
    join(folder, 'tool-policy.json'),
    join(home, 'trust.json'),
    join(home, 'plugins.lock.json'),
    join(folder, 'plugins.lock.json'),
  ]
  return [...places, ...others]
}

/** Requires the settings folder to be a real folder or missing. */
function requireFolder(path: string): void {
  const wrong = (what: string, hint: string) =>
    problem('VT_CONFIG_INVALID', { problem: `${path} ${what}` }, { details: { files: [path] }, hint })
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory() === false)
      throw wrong('is not a folder.', 'Move it: settings, sessions and the journal of changes belong there.')
    if (found) accessSync(path, constants.R_OK | constants.X_OK)
  } catch (error) {
    if (error instanceof VtError) throw error
    throw wrong(
      `cannot be opened (${(error as NodeJS.ErrnoException).code}).`,
      'Settings and sessions belong there. Run chown to own it, or work in another folder.',
    )
  }
}

/** Throws VT_CONFIG_EXPOSED if other users can write a settings file. */
function requireOwn(paths: string[]): void {
  const foreign = paths.find((path) => {
    const { uid, mode } = statSync(path)
    return process.getuid !== undefined && ((uid !== 0 && uid !== process.getuid()) || (mode & 0o002) !== 0)
  })
  if (foreign !== undefined) throw problem('VT_CONFIG_EXPOSED', { file: foreign }, { details: { files: [foreign] } })
}

function isOwnedByRoot(paths: string[], diagnostics: Diagnostic[]): boolean {
  const open = paths.find((path) => !isWritableByRootOnly(path))
  if (open !== undefined) diagnostics.push(createDiagnostic('VT_CONFIG_FOREIGN', { file: open }, [open], 'warning'))
  return open === undefined
}
