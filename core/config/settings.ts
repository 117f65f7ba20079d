import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  deepFreeze,
  problem,
  report,
  usualWaits,
  VtError,
  type Config,
  type Diagnostic,
  type Mode,
  type Schema,
  type Settings,
} from '../shapes/index.js'
import { programFile, sha256 } from '../system/index.js'
import { closedToOthers, openShelf } from '../documents/index.js'
import { readContract } from '../schema/index.js'
import {
  consentPlace,
  copyOf,
  identityOf,
  inCopy,
  itemForConfig,
  itemForValue,
  keepStanding,
  type TrustItem,
} from '../trust/index.js'
import { merge } from './merge.js'
import { assign, codeEnds, dataEnds, fromCall, fromCode, fromData, isCode, type SettingsSource } from './source.js'
import { fromToolPolicy } from './tool_policy.js'
import type { Origin } from './types.js'

/** Gives a settings file its types. */
export const defineConfig = (config: Config): Config => config

export interface SettingsOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Folder of the machine's administrator. */
  admin?: string
  /** Settings of the call: data, `a.b=value`, or a file that replaces the workspace's; later entries win. */
  config?: Config | string | readonly (Config | string)[]
  mode?: Mode
  /** The mode where neither the settings nor the caller name one. */
  default_mode?: Mode
  env: Record<string, string | undefined>
  /** Whether the user agreed to this item of the workspace, with this content. Default: to none. */
  trusted?: (id: string, digest: string) => boolean
  /** Somebody looks at what waits for consent: what `trusted` answers is no consent of the user. */
  surveying?: true
  /** The time limit, in milliseconds, for settings in code that run in a process of their own. */
  wait?: number
}
export interface LoadedSettings {
  settings: Settings
  origins: Origin[]
  diagnostics: Diagnostic[]
  /** Every settings file that was read. */
  files: string[]
  /** The items of the workspace's settings that need the user's consent, given or not. */
  items: TrustItem[]
}

/**
 * The settings of all layers, merged. Settings that a workspace may not make are ignored and reported; a readable file
 * with a fault throws VT_CONFIG_INVALID or VT_CONFIG_AMBIGUOUS with `details.files`.
 */
export async function loadSettings(options: SettingsOptions): Promise<LoadedSettings> {
  const { workspace, env, trusted = () => false } = options
  const diagnostics: Diagnostic[] = []
  const items: TrustItem[] = []
  const agreed = (item: TrustItem): boolean => {
    items.push(item)
    const yes = trusted(item.id, item.digest)
    if (yes && options.surveying !== true) keepStanding(workspace, item.id, item)
    return yes
  }
  const configs = [options.config ?? []].flat() as (Config | string)[]
  const sources = await fromFiles(options, configs, agreed, diagnostics)
  const files = sources.map(({ file }) => file)
  sources.push(...(await fromCalls(env, configs)))
  for (const source of sources)
    source.trusted = (key, value) => agreed(itemForValue(source.file, key, value, workspace))
  // The merged object is extended, not copied: a copy would compute its origins.
  return Object.assign(laidOver(sources, options, diagnostics), { files, items })
}

/** The settings files of all layers, the lowest first. `agreed` tells whether the user agreed to an item of the workspace. */
async function fromFiles(
  options: SettingsOptions,
  configs: (Config | string)[],
  agreed: (item: TrustItem) => boolean,
  diagnostics: Diagnostic[],
): Promise<SettingsSource[]> {
  const { workspace, home, admin = '/etc/vtcode', env, mode } = options
  const circumstances = { cwd: workspace, env, ...(mode && { mode }) }
  const { wait = usualWaits.settings } = options
  const shelf = openShelf(home, workspace)
  const own = (layer: 'user' | 'call', file: string) =>
    isCode(file) ? fromCode(layer, file, circumstances) : fromData(layer, file, { shelf })
  const sources: SettingsSource[] = []

  for (const folder of [home, join(workspace, '.vtcode')]) requireFolder(folder)
  const managed = only(named(join(admin, 'vtcode.config'), dataEnds))
  if (managed && ownedByRoot([admin, managed], diagnostics)) sources.push(await fromData('admin', managed, { shelf }))
  const users = only(named(join(home, 'vtcode.config'), [...codeEnds, ...dataEnds]))
  if (users) {
    requireOwn([home, users])
    sources.push(await own('user', users))
  }

  const adopted = adoptedFile(home, workspace)
  if (adopted && existsSync(adopted)) {
    requireOwn([home, adopted])
    sources.push(await fromData('user', adopted, { shelf }))
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
    sources.push(await own('call', resolve(instead)))
  } else {
    for (const file of workspaceFiles(workspace, home)) {
      const item = isCode(file) ? itemForConfig(file, workspace) : undefined
      if (!item) sources.push(await fromData('workspace', file, { within: workspace, shelf }))
      else if (agreed(item))
        sources.push(
          await fromCode('workspace', file, circumstances, {
            wait,
            from: inCopy(copyOf(home, item.agreed!), item.agreed!, file),
          }),
        )
      else diagnostics.push(report('VT_CONFIG_UNTRUSTED', { file }, [file], 'warning'))
    }
  }
  const policy = join(workspace, '.vtcode/tool-policy.json')
  if (lstatSync(policy, { throwIfNoEntry: false }) && !sameFolder(dirname(policy), home))
    sources.push(await fromToolPolicy(policy, workspace, diagnostics))
  return sources
}

/** The settings from variables and options, in this order. */
async function fromCalls(env: SettingsOptions['env'], configs: (Config | string)[]): Promise<SettingsSource[]> {
  const sources: SettingsSource[] = []
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('VTCODE__') || text === undefined) continue
    sources.push(await fromCall(name, assign(name.slice(8).toLowerCase().split('__'), text)))
  }
  for (const one of configs) {
    const equals = typeof one === 'string' ? one.indexOf('=') : -1
    if (typeof one !== 'string') sources.push(await fromCall('options', one))
    else if (equals >= 0)
      sources.push(await fromCall(`--config ${one}`, assign(one.slice(0, equals).split('.'), one.slice(equals + 1))))
  }
  return sources
}

/** The schema of the settings, parsed once for all kernels of a process. */
let settingsSchema: Schema | undefined

/**
 * The settings from these sources, in the requested mode. Most starts have no source: they take the defaults that the build
 * wrote, and the origins are computed on first use.
 */
function laidOver(
  sources: SettingsSource[],
  { mode, default_mode }: SettingsOptions,
  diagnostics: Diagnostic[],
): Pick<LoadedSettings, 'settings' | 'origins' | 'diagnostics'> {
  const unset = sources.length === 0
  if (default_mode !== undefined)
    sources.unshift({ layer: 'builtin', file: 'default_mode', value: { policy: { mode: default_mode } } })
  if (mode !== undefined) sources.push({ layer: 'call', file: 'mode', value: { policy: { mode } } })
  const laid = () => merge((settingsSchema ??= readContract('config.1.json')), sources)
  if (unset) {
    const settings = defaults()
    settings.policy.mode = mode ?? default_mode ?? settings.policy.mode
    let origins: Origin[] | undefined
    return {
      settings: deepFreeze(settings),
      get origins() {
        return (origins ??= laid().origins)
      },
      diagnostics,
    }
  }
  const { settings, origins, diagnostics: ignored } = laid()
  return { settings: deepFreeze(settings) as Settings, origins, diagnostics: [...diagnostics, ...ignored] }
}

/** The file of the settings that the user adopted from this workspace; nothing where the user never adopted any. */
export function adoptedFile(home: string, workspace: string, how: { make?: true } = {}): string | undefined {
  const folder = join(home, 'workspaces')
  if (!how.make && !existsSync(folder)) return undefined
  return join(folder, sha256(identityOf(consentPlace(workspace, home))).slice(0, 16), 'policy.json')
}

/** The settings of a user who has set nothing. */
export function defaults(): Settings {
  return JSON.parse(readFileSync(programFile('manifests/schema/_defaults.json'), 'utf8'))
}

/** The faults of one settings file, by line; none when the file may be used. A file in code runs in a process of its own. */
export async function validateConfigFile(file: string): Promise<Diagnostic[]> {
  const path = resolve(file)
  try {
    if (isCode(path))
      await fromCode('call', path, { cwd: process.cwd(), env: process.env }, { wait: usualWaits.settings })
    else await fromData('call', path)
    return []
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    const { code, message, hint, details } = error.problem
    return [{ code, severity: 'error', message, hint, files: details?.['files'] as string[] }]
  }
}

/** Every file with settings, consents or locks, whether it exists or not. */
export function settingsLocations({
  workspace,
  home,
  admin = '/etc/vtcode',
}: {
  workspace: string
  home: string
  admin?: string
}): string[] {
  const folder = join(workspace, '.vtcode')
  const stems = [
    join(admin, 'vtcode.config'),
    join(home, 'vtcode.config'),
    join(workspace, 'vtcode.config'),
    join(folder, 'config'),
    join(folder, 'config.local'),
  ]
  const others = [
    join(folder, 'tool-policy.json'),
    join(home, 'trust.json'),
    join(home, 'plugins.lock.json'),
    join(folder, 'plugins.lock.json'),
  ]
  return [...stems.flatMap((stem) => named(stem, [...codeEnds, ...dataEnds])), ...others]
}

const named = (stem: string, endings: readonly string[]): string[] => endings.map((end) => `${stem}.${end}`)

/** The settings files of a workspace; a later file overrides an earlier one. The user's own folder is not read twice. */
function workspaceFiles(workspace: string, home: string): string[] {
  const folder = join(workspace, '.vtcode')
  const root = named(join(workspace, 'vtcode.config'), [...codeEnds, ...dataEnds])
  const below = (stem: string) => (sameFolder(folder, home) ? [] : named(join(folder, stem), dataEnds))
  const stems = [[...root, ...below('config')], below('config.local')]
  return stems.map(only).filter((file) => file !== undefined)
}

/** The one of these files that exists. Throws VT_CONFIG_AMBIGUOUS when there are two. */
function only(candidates: readonly string[]): string | undefined {
  const found = candidates.filter((file) => lstatSync(file, { throwIfNoEntry: false }))
  if (found.length > 1)
    throw problem('VT_CONFIG_AMBIGUOUS', { files: found.join(' and ') }, { details: { files: found } })
  return found[0]
}

function sameFolder(a: string, b: string): boolean {
  if (!existsSync(a) || !existsSync(b)) return false
  const [one, other] = [statSync(a), statSync(b)]
  return one.dev === other.dev && one.ino === other.ino
}

/** The settings folder is a real folder or missing; later reads may rely on that. */
function requireFolder(path: string): void {
  const wrong = (what: string, hint: string) =>
    problem('VT_CONFIG_INVALID', { problem: `${path} ${what}` }, { details: { files: [path] }, hint })
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory() === false)
      throw wrong('is not a folder.', 'Move it away: settings, sessions and the journal of changes belong there.')
    if (found) accessSync(path, constants.R_OK | constants.X_OK)
  } catch (error) {
    if (error instanceof VtError) throw error
    throw wrong(
      `cannot be opened (${(error as NodeJS.ErrnoException).code}).`,
      'Settings and sessions lie there, perhaps of another user: chown it to yourself, or work elsewhere.',
    )
  }
}

/** Only the user may write a settings file, because it decides what runs. Throws VT_CONFIG_EXPOSED: going on without the file would lose its rules too. */
function requireOwn(paths: string[]): void {
  const foreign = paths.find((path) => {
    const { uid, mode } = statSync(path)
    return process.getuid !== undefined && ((uid !== 0 && uid !== process.getuid()) || (mode & 0o002) !== 0)
  })
  if (foreign !== undefined) throw problem('VT_CONFIG_EXPOSED', { file: foreign }, { details: { files: [foreign] } })
}

function ownedByRoot(paths: string[], diagnostics: Diagnostic[]): boolean {
  const open = paths.find((path) => !closedToOthers(path))
  if (open !== undefined) diagnostics.push(report('VT_CONFIG_FOREIGN', { file: open }, [open], 'warning'))
  return open === undefined
}
