import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import {
  problem,
  createDiagnostic,
  type Diagnostic,
  type Layer,
  type ManifestEntry,
  type Settings,
} from '../shapes/index.js'
import { compareBytes, isInside, programFile } from '../system/index.js'
import type { Origin } from '../config/index.js'
import { isWritableByRootOnly, readBytes } from '../documents/index.js'
import type { Skill } from '../skills/index.js'
import { readInstalled } from '../trust/index.js'
import { listManifestFiles, type ManifestPlace } from './read.js'

export interface DiscoverOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Replaces `~`. */
  user: string
  /** Folder of the machine's administrator. */
  admin?: string
  env: Record<string, string | undefined>
  /** The settings and the files of their entries; paths of an entry are relative to its file. */
  loaded: { settings: Settings; origins: readonly Origin[] }
  /** Loaded skills whose folders hold manifests. */
  skills?: readonly Pick<Skill, 'name' | 'folder' | 'layer'>[]
}
/** A file or folder of manifests, with its entry in the settings. */
export interface ManifestSource extends ManifestPlace {
  /** `plugin` has a `vtcode.yaml` or `vtcode/`, `skill` a `SKILL.md` too; `folder` and `file` are loose manifests. */
  form: 'builtin' | 'plugin' | 'package' | 'skill' | 'folder' | 'file'
  path: string
  /** Name of the plugin of its contributions. */
  plugin: string
  entry?: ManifestEntry
}
/** A pattern of contribution ids that the settings exclude. */
export interface Removal {
  pattern: string
  layer: Layer
  /** The file or other source of the pattern. */
  file: string
}
export interface ManifestLocations {
  sources: ManifestSource[]
  removals: Removal[]
  diagnostics: Diagnostic[]
  /** Every file and folder that was searched for, present or not. */
  searchedPaths: string[]
}

/** The manifests of the program itself. */
export const builtinSource: ManifestSource = {
  form: 'builtin',
  layer: 'builtin',
  path: programFile('manifests'),
  root: programFile(),
  plugin: 'builtin',
}
const reserved = /^(?:builtin|admin|user|workspace|call|root.*)$/
// Order in which plugins keep a name that two share: a cloned repository never takes one over.
export const precedence: readonly Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']

/**
 * Finds the sources of manifests in the order they are read: built-in, administrator, settings, user, workspace. Throws
 * VT_RELOAD_REFUSED.
 */
export function findManifestLocations({
  workspace,
  home,
  user,
  admin = '/etc/vtcode',
  loaded,
  skills = [],
}: DiscoverOptions): ManifestLocations {
  const diagnostics: Diagnostic[] = []
  const { plugins } = loaded.settings
  const findOrigin = (name: string) => loaded.origins.find(({ path }) => path === name)
  // Layers extend this list, so each item has its own origin.
  const removals: Removal[] = plugins.disable.map((pattern, index) =>
    toRemoval(pattern, findOrigin(`plugins.disable.${index}`)),
  )
  const builtin: ManifestSource[] = []
  const entries: ManifestSource[] = []
  const own = [join(home, 'plugins'), join(user, '.agents', 'plugins')]
  const theirs = [join(workspace, '.vtcode', 'plugins'), join(workspace, '.agents', 'plugins')]
  const searchedPaths = [...own, ...theirs, createServerSource(workspace).path]
  for (const [index, declared] of loaded.settings.manifests.entries()) {
    const entry = typeof declared === 'string' ? { from: declared } : declared
    if (entry.from === 'builtin') {
      builtin.push(builtinSource)
      continue
    }
    const origin = findOrigin(`manifests.${index}`)
    const layer = origin?.layer ?? 'call'
    const base = origin && isAbsolute(origin.file) ? dirname(origin.file) : workspace
    if (entry.from.startsWith('!')) removals.push(toRemoval(entry.from.slice(1), origin))
    else {
      const path = resolvePath(entry.from, { base, user })
      searchedPaths.push(...(path === undefined ? [] : [path]))
      entries.push(...resolveSource(entry, path, layer, { base, workspace }, diagnostics))
    }
  }
  if (plugins.enabled === false) return { sources: builtin, removals, diagnostics, searchedPaths }

  const isLinked = createLinkChecker(home)
  const findPluginsBelow = (layer: Layer, ...dirs: string[]) =>
    dirs.flatMap((dir) => findPlugins(dir, layer, diagnostics, layer === 'user' ? isLinked : undefined))
  const all = [
    ...builtin,
    ...(checkRootOwnership(join(admin, 'plugins'), diagnostics)
      ? findPluginsBelow('admin', join(admin, 'plugins'))
      : []),
    ...entries,
    ...findPluginsBelow('user', ...own),
    ...findPluginsBelow('workspace', ...theirs),
    ...findServerSource(workspace, loaded.settings),
    // A skill's plugin has a name that no folder can have, so it never renames another plugin.
    ...skills
      .filter(({ folder }) => findMarkers(folder).length > 0)
      .map(({ name, folder, layer }): ManifestSource => ({
        form: 'skill',
        layer,
        path: folder,
        root: folder,
        plugin: `${name}@skill`,
      })),
  ]
  // If the workspace is the home folder, its plugins are read once, as the user's.
  const first = all.filter(({ path }, at) => all.findIndex((other) => other.path === path) === at)
  const sources = first.filter(({ layer }) => layer !== 'workspace' || plugins.workspace !== 'off')
  makeNamesUnique(sources, diagnostics)
  return { sources, removals, diagnostics, searchedPaths: [...searchedPaths, ...skills.map(({ folder }) => folder)] }
}

/** Creates a check whether `vtcode plugins add --link` made a link. */
function createLinkChecker(home: string): (name: string, target: string) => boolean {
  let lock: ReturnType<typeof readInstalledPlugins> | undefined
  return (name, target) => {
    const { type, path } = (lock ??= readInstalledPlugins(home))[name]?.source ?? {}
    return type === 'link' && path === target
  }
}

const toRemoval = (pattern: string, origin: Origin | undefined): Removal => ({
  pattern,
  layer: origin?.layer ?? 'call',
  file: origin?.file ?? 'options',
})

/** Returns the source of the servers that a workspace lists for every program. */
function findServerSource(
  workspace: string,
  { mcp: { enabled, read_workspace_file: read } }: Settings,
): ManifestSource[] {
  const source = createServerSource(workspace)
  return enabled && read && existsSync(source.path) ? [source] : []
}
export const createServerSource = (workspace: string): ManifestSource => ({
  form: 'package',
  layer: 'workspace',
  path: join(workspace, '.mcp.json'),
  root: workspace,
  plugin: 'workspace',
})

/** Resolves an entry of `manifests`; relative paths start at `base`. */
const resolvePath = (from: string, { base, user }: { base: string; user: string }): string | undefined =>
  from.startsWith('npm:')
    ? findPackageFolder(from.slice(4), base)
    : resolve(
        base,
        from.replace(/^~(?=\/)/, () => user),
      )

/** Returns the source at the path of an entry; none where nothing may be read. */
function resolveSource(
  entry: ManifestEntry,
  path: string | undefined,
  layer: Layer,
  { base, workspace }: { base: string; workspace: string },
  diagnostics: Diagnostic[],
): ManifestSource[] {
  const { from } = entry
  if (path === undefined || !existsSync(path)) {
    if (entry.required) throw problem('VT_RELOAD_REFUSED', { reason: `${from} is required and does not exist` })
    diagnostics.push(createDiagnostic('VT_MANIFEST_MISSING', { path: from }, [base]))
    return []
  }
  const real = realpathSync(path)
  if (layer === 'workspace' && !isInside(realpathSync(workspace), real)) {
    diagnostics.push(createDiagnostic('VT_MANIFEST_OUTSIDE', { path: from }, [base]))
    return []
  }
  if (!statSync(real).isDirectory())
    return [{ form: 'file', layer, path: real, root: dirname(real), plugin: layer, entry }]
  const form = detectForm(real, PACKAGE_MARKERS)
  return [
    { form: form ?? 'folder', layer, path: real, root: real, plugin: form ? derivePluginName(real) : layer, entry },
  ]
}

function findPackageFolder(name: string, base: string): string | undefined {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i.test(name)) return undefined
  for (let dir = base; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', name)
    if (existsSync(folder)) return folder
    if (dir === dirname(dir)) return undefined
  }
}

/** Lists the plugins of a folder. `isLinked` accepts a link out of the folder, because the user requested it. */
function findPlugins(
  dir: string,
  layer: Layer,
  diagnostics: Diagnostic[],
  isLinked: (name: string, target: string) => boolean = () => false,
): ManifestSource[] {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) return []
  const real = realpathSync(dir)
  const names = readdirSync(real)
    .filter((name) => !/^[._]/.test(name))
    .sort(compareBytes)
  return names.flatMap((name): ManifestSource[] => {
    const path = join(real, name)
    const refuse = (text: string, severity: Diagnostic['severity']) => {
      diagnostics.push(createDiagnostic('VT_MANIFEST_INVALID', { problem: `${path} ${text}.` }, [path], severity))
      return []
    }
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && !stat.isDirectory()) return []
    const target = stat && realpathSync(path)
    const elsewhere = target === undefined || !isInside(real, target)
    if (elsewhere && !(target !== undefined && isLinked(name, target)))
      return refuse('is a link that leads out of its folder', 'error')
    const root = elsewhere ? target! : path
    const form = detectForm(root)
    if (!form)
      return refuse('has neither vtcode.yaml nor a folder vtcode, and is not a package of a known format', 'warning')
    return [{ form, layer, path: root, root, plugin: derivePluginName(path) }]
  })
}

/** Returns the installed plugins. An unusable lock counts as empty here and is reported elsewhere. */
function readInstalledPlugins(home: string): ReturnType<typeof readInstalled> {
  try {
    return readInstalled(home)
  } catch {
    return {}
  }
}

/** Returns the source that a folder or manifest file would be as a plugin. */
export function createSource(path: string, layer: Layer): ManifestSource {
  const real = realpathSync(path)
  if (!statSync(real).isDirectory()) return { form: 'file', layer, path: real, root: dirname(real), plugin: layer }
  const form = detectForm(real)
  return { form: form ?? 'folder', layer, path: real, root: real, plugin: form ? derivePluginName(real) : layer }
}

/** Lists the files that make a folder a plugin. */
export const findMarkers = (root: string): string[] =>
  ['vtcode.yaml', 'vtcode.yml', 'vtcode.json', 'vtcode'].filter((name) =>
    lstatSync(join(root, name), { throwIfNoEntry: false }),
  )

/** Files that make a folder a package of another program; the files of the second list count only among plugins. */
const PACKAGE_MARKERS = [
  'plugin.json',
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
  '.claude-plugin/marketplace.json',
  'manifest.json',
  'package.json',
]
const PLUGIN_PACKAGE_MARKERS = [...PACKAGE_MARKERS, '.mcp.json', 'hooks/hooks.json', 'commands', 'skills', 'SKILL.md']

/** Common files of projects: only their content makes a folder a package. */
const CONTENT_PATTERNS: Record<string, RegExp> = {
  'package.json': /"(?:pi|omp)"\s*:/,
  'manifest.json': /"(?:manifest|dxt)_version"\s*:/,
}

function detectForm(root: string, foreign = PLUGIN_PACKAGE_MARKERS): 'plugin' | 'package' | undefined {
  const isPresent = (name: string) =>
    lstatSync(join(root, name), { throwIfNoEntry: false }) !== undefined &&
    (CONTENT_PATTERNS[name]?.test(readTextOrEmpty(root, name)) ?? true)
  if (findMarkers(root).length > 0) return isAgentPlugin(root) ? 'package' : 'plugin'
  return foreign.some(isPresent) ? 'package' : undefined
}

/** The open format precedes our own: our part of such a package is in its `dev.vtcode`. */
const isAgentPlugin = (root: string): boolean =>
  readTextOrEmpty(root, 'plugin.json').includes('"https://agent-plugins.org/schemas/')

/** Returns an empty text where no file may be read. */
function readTextOrEmpty(root: string, name: string): string {
  try {
    return readBytes(join(root, name), { within: root }).toString('utf8')
  } catch {
    return ''
  }
}

function derivePluginName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
  return name.slice(0, 64) || 'unnamed'
}

function checkRootOwnership(dir: string, diagnostics: Diagnostic[]): boolean {
  if (!existsSync(dir)) return false
  const closed = isWritableByRootOnly(dir)
  if (!closed) diagnostics.push(createDiagnostic('VT_CONFIG_FOREIGN', { file: dir }, [dir], 'warning'))
  return closed
}

/** Gives plugins with the same name different names. */
function makeNamesUnique(sources: ManifestSource[], diagnostics: Diagnostic[]): void {
  const owners = new Map<string, string>()
  const plugins = sources
    .filter(({ form, root, path }) => form === 'plugin' || form === 'skill' || (form === 'package' && root === path))
    .sort((a, b) => precedence.indexOf(a.layer) - precedence.indexOf(b.layer))
  for (const source of plugins) {
    const name = source.plugin
    if (reserved.test(name) || owners.has(name)) {
      source.plugin = `${name}@${source.layer}`
      for (let n = 2; owners.has(source.plugin); n++) source.plugin = `${name}@${source.layer}-${n}`
      const files = [owners.get(name), source.root].filter((file) => file !== undefined)
      diagnostics.push(
        createDiagnostic('VT_PLUGIN_RENAMED', { name, root: source.root, other: source.plugin }, files, 'warning'),
      )
    }
    owners.set(source.plugin, source.root)
  }
}

/** Lists the manifest files of a source. */
export function listSourceFiles({ form, path }: ManifestSource, diagnostics: Diagnostic[]): string[] {
  if (form === 'file') return [path]
  if (form === 'folder' || form === 'builtin') return listManifestFiles(path).map((name) => join(path, name))
  const [marker, ...others] = findMarkers(path) as [string, ...string[]]
  if (others.length > 0) {
    const text = `${path} has ${marker} and ${others.join(', ')}; only the first is read.`
    diagnostics.push(createDiagnostic('VT_MANIFEST_INVALID', { problem: text }, [path], 'warning'))
  }
  if (marker !== 'vtcode') return [join(path, marker)]
  // A skill, which a model can load, provides no hooks.
  return listManifestFiles(join(path, marker))
    .filter((name) => form === 'plugin' || name !== 'hooks.json')
    .map((name) => join(path, marker, name))
}
