import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { problem, report, type Diagnostic, type Layer, type ManifestEntry, type Settings } from '../shapes/index.js'
import { byBytes, inside, programFile } from '../system/index.js'
import type { Origin } from '../config/index.js'
import { closedToOthers, readBytes } from '../documents/index.js'
import type { Skill } from '../skills/index.js'
import { readInstalled } from '../trust/index.js'
import { manifestFiles, type ManifestPlace } from './read.js'

export interface DiscoverOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** What `~` stands for. */
  user: string
  /** Folder of the machine's administrator. */
  admin?: string
  env: Record<string, string | undefined>
  /** The settings and the files of their entries: there the paths of an entry begin. */
  loaded: { settings: Settings; origins: readonly Origin[] }
  /** Loaded skills whose folders hold manifests. */
  skills?: readonly Pick<Skill, 'name' | 'folder' | 'layer'>[]
}
/** A file or folder of manifests, with what its entry in the settings says about it. */
export interface ManifestSource extends ManifestPlace {
  /** `plugin` for a folder with a `vtcode.yaml` or `vtcode/`, `skill` for one with a `SKILL.md` too, `folder` and `file` for loose manifests. */
  form: 'builtin' | 'plugin' | 'package' | 'skill' | 'folder' | 'file'
  path: string
  /** Name of the plugin its contributions belong to. */
  plugin: string
  entry?: ManifestEntry
}
/** A pattern of contribution ids that the settings take away. */
export interface Removal {
  pattern: string
  layer: Layer
  /** The file that says so, or another source. */
  file: string
}
export interface ManifestLocations {
  sources: ManifestSource[]
  removals: Removal[]
  diagnostics: Diagnostic[]
  /** Every file and folder that was looked at, there or not. */
  looked: string[]
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
// Whose name a plugin keeps when two share it: a cloned repository never takes one over.
export const precedence: readonly Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']

/** Where manifests may lie, in the order they are read: built-in, administrator, settings, user, workspace. Throws VT_RELOAD_REFUSED. */
export function manifestLocations({
  workspace,
  home,
  user,
  admin = '/etc/vtcode',
  loaded,
  skills = [],
}: DiscoverOptions): ManifestLocations {
  const diagnostics: Diagnostic[] = []
  const { plugins } = loaded.settings
  const originOf = (name: string) => loaded.origins.find(({ path }) => path === name)
  // Layers extend this list: each item has an origin of its own.
  const removals: Removal[] = plugins.disable.map((pattern, index) =>
    removal(pattern, originOf(`plugins.disable.${index}`)),
  )
  const builtin: ManifestSource[] = []
  const entries: ManifestSource[] = []
  const own = [join(home, 'plugins'), join(user, '.agents', 'plugins')]
  const theirs = [join(workspace, '.vtcode', 'plugins'), join(workspace, '.agents', 'plugins')]
  const looked = [...own, ...theirs, serverSource(workspace).path]
  for (const [index, declared] of loaded.settings.manifests.entries()) {
    const entry = typeof declared === 'string' ? { from: declared } : declared
    if (entry.from === 'builtin') {
      builtin.push(builtinSource)
      continue
    }
    const origin = originOf(`manifests.${index}`)
    const layer = origin?.layer ?? 'call'
    const base = origin && isAbsolute(origin.file) ? dirname(origin.file) : workspace
    if (entry.from.startsWith('!')) removals.push(removal(entry.from.slice(1), origin))
    else {
      const path = pathOf(entry.from, { base, user })
      looked.push(...(path === undefined ? [] : [path]))
      entries.push(...sourceOf(entry, path, layer, { base, workspace }, diagnostics))
    }
  }
  if (plugins.enabled === false) return { sources: builtin, removals, diagnostics, looked }

  const linked = linkChecker(home)
  const below = (layer: Layer, ...dirs: string[]) =>
    dirs.flatMap((dir) => pluginsIn(dir, layer, diagnostics, layer === 'user' ? linked : undefined))
  const all = [
    ...builtin,
    ...(ownedByRoot(join(admin, 'plugins'), diagnostics) ? below('admin', join(admin, 'plugins')) : []),
    ...entries,
    ...below('user', ...own),
    ...below('workspace', ...theirs),
    ...serverFile(workspace, loaded.settings),
    // No folder gives this name: loading a skill renames no plugin.
    ...skills
      .filter(({ folder }) => markers(folder).length > 0)
      .map(({ name, folder, layer }): ManifestSource => ({
        form: 'skill',
        layer,
        path: folder,
        root: folder,
        plugin: `${name}@skill`,
      })),
  ]
  // A workspace that is the home folder has its plugins read once, as the user's.
  const first = all.filter(({ path }, at) => all.findIndex((other) => other.path === path) === at)
  const sources = first.filter(({ layer }) => layer !== 'workspace' || plugins.workspace !== 'off')
  nameApart(sources, diagnostics)
  return { sources, removals, diagnostics, looked: [...looked, ...skills.map(({ folder }) => folder)] }
}

/** Says of a link whether `vtcode plugins add --link` made it. */
function linkChecker(home: string): (name: string, target: string) => boolean {
  let lock: ReturnType<typeof installed> | undefined
  return (name, target) => {
    const { type, path } = (lock ??= installed(home))[name]?.source ?? {}
    return type === 'link' && path === target
  }
}

const removal = (pattern: string, origin: Origin | undefined): Removal => ({
  pattern,
  layer: origin?.layer ?? 'call',
  file: origin?.file ?? 'options',
})

/** The servers that a workspace lists for every program. */
function serverFile(workspace: string, { mcp: { enabled, read_workspace_file: read } }: Settings): ManifestSource[] {
  const source = serverSource(workspace)
  return enabled && read && existsSync(source.path) ? [source] : []
}
export const serverSource = (workspace: string): ManifestSource => ({
  form: 'package',
  layer: 'workspace',
  path: join(workspace, '.mcp.json'),
  root: workspace,
  plugin: 'workspace',
})

/** Where an entry of `manifests` leads; relative paths begin at `base`. */
const pathOf = (from: string, { base, user }: { base: string; user: string }): string | undefined =>
  from.startsWith('npm:')
    ? packageFolder(from.slice(4), base)
    : resolve(
        base,
        from.replace(/^~(?=\/)/, () => user),
      )

/** The source at the path of an entry; none where it names nothing that may be read. */
function sourceOf(
  entry: ManifestEntry,
  path: string | undefined,
  layer: Layer,
  { base, workspace }: { base: string; workspace: string },
  diagnostics: Diagnostic[],
): ManifestSource[] {
  const { from } = entry
  if (path === undefined || !existsSync(path)) {
    if (entry.required) throw problem('VT_RELOAD_REFUSED', { reason: `${from} is required and does not exist` })
    diagnostics.push(report('VT_MANIFEST_MISSING', { path: from }, [base]))
    return []
  }
  const real = realpathSync(path)
  if (layer === 'workspace' && !inside(realpathSync(workspace), real)) {
    diagnostics.push(report('VT_MANIFEST_OUTSIDE', { path: from }, [base]))
    return []
  }
  if (!statSync(real).isDirectory())
    return [{ form: 'file', layer, path: real, root: dirname(real), plugin: layer, entry }]
  const form = formOf(real, certain)
  return [{ form: form ?? 'folder', layer, path: real, root: real, plugin: form ? nameFrom(real) : layer, entry }]
}

function packageFolder(name: string, base: string): string | undefined {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i.test(name)) return undefined
  for (let dir = base; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', name)
    if (existsSync(folder)) return folder
    if (dir === dirname(dir)) return undefined
  }
}

/** `linked`: whether a link that leads elsewhere is one the user has asked for. */
function pluginsIn(
  dir: string,
  layer: Layer,
  diagnostics: Diagnostic[],
  linked: (name: string, target: string) => boolean = () => false,
): ManifestSource[] {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) return []
  const real = realpathSync(dir)
  const names = readdirSync(real)
    .filter((name) => !/^[._]/.test(name))
    .sort(byBytes)
  return names.flatMap((name): ManifestSource[] => {
    const path = join(real, name)
    const refuse = (text: string, severity: Diagnostic['severity']) => {
      diagnostics.push(report('VT_MANIFEST_INVALID', { problem: `${path} ${text}.` }, [path], severity))
      return []
    }
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && !stat.isDirectory()) return []
    const target = stat && realpathSync(path)
    const elsewhere = target === undefined || !inside(real, target)
    if (elsewhere && !(target !== undefined && linked(name, target)))
      return refuse('is a link that leads out of its folder', 'error')
    const root = elsewhere ? target! : path
    const form = formOf(root)
    if (!form)
      return refuse('holds neither vtcode.yaml nor a folder vtcode, and is no package of a known format', 'warning')
    return [{ form, layer, path: root, root, plugin: nameFrom(path) }]
  })
}

/** Returns the installed plugins; a lock that cannot be used has none and is reported elsewhere. */
function installed(home: string): ReturnType<typeof readInstalled> {
  try {
    return readInstalled(home)
  } catch {
    return {}
  }
}

/** The folder, or the manifest file, at a path as the plugin it would be. */
export function sourceAt(path: string, layer: Layer): ManifestSource {
  const real = realpathSync(path)
  if (!statSync(real).isDirectory()) return { form: 'file', layer, path: real, root: dirname(real), plugin: layer }
  const form = formOf(real)
  return { form: form ?? 'folder', layer, path: real, root: real, plugin: form ? nameFrom(real) : layer }
}

/** What makes a folder that of a plugin. */
export const markers = (root: string): string[] =>
  ['vtcode.yaml', 'vtcode.yml', 'vtcode.json', 'vtcode'].filter((name) =>
    lstatSync(join(root, name), { throwIfNoEntry: false }),
  )

/** What makes a folder a package of another program, and what does so only among plugins. */
const certain = [
  'plugin.json',
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
  '.claude-plugin/marketplace.json',
]
const likely = [
  ...certain,
  'manifest.json',
  'package.json',
  '.mcp.json',
  'hooks/hooks.json',
  'commands',
  'skills',
  'SKILL.md',
]

/** Files that many projects have: they mark a package only by what they say. */
const telling: Record<string, RegExp> = {
  'package.json': /"(?:pi|omp)"\s*:/,
  'manifest.json': /"(?:manifest|dxt)_version"\s*:/,
}

function formOf(root: string, foreign = likely): 'plugin' | 'package' | undefined {
  const there = (name: string) =>
    lstatSync(join(root, name), { throwIfNoEntry: false }) !== undefined &&
    (telling[name]?.test(textOf(root, name)) ?? true)
  if (markers(root).length > 0) return isAgentPlugin(root) ? 'package' : 'plugin'
  return foreign.some(there) ? 'package' : undefined
}

/** The open format comes before our own: what we understand of such a package lies in its `dev.vtcode`. */
const isAgentPlugin = (root: string): boolean =>
  textOf(root, 'plugin.json').includes('"https://agent-plugins.org/schemas/')

/** Empty where there is nothing that may be read. */
function textOf(root: string, name: string): string {
  try {
    return readBytes(join(root, name), { within: root }).toString('utf8')
  } catch {
    return ''
  }
}

function nameFrom(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
  return name.slice(0, 64) || 'unnamed'
}

function ownedByRoot(dir: string, diagnostics: Diagnostic[]): boolean {
  if (!existsSync(dir)) return false
  const closed = closedToOthers(dir)
  if (!closed) diagnostics.push(report('VT_CONFIG_FOREIGN', { file: dir }, [dir], 'warning'))
  return closed
}

/** Gives plugins of the same name different ones. */
function nameApart(sources: ManifestSource[], diagnostics: Diagnostic[]): void {
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
      diagnostics.push(report('VT_PLUGIN_RENAMED', { name, root: source.root, other: source.plugin }, files, 'warning'))
    }
    owners.set(source.plugin, source.root)
  }
}

/** The manifest files of a source. */
export function filesOf({ form, path }: ManifestSource, diagnostics: Diagnostic[]): string[] {
  if (form === 'file') return [path]
  if (form === 'folder' || form === 'builtin') return manifestFiles(path).map((name) => join(path, name))
  const [marker, ...others] = markers(path) as [string, ...string[]]
  if (others.length > 0) {
    const text = `${path} holds ${marker} and ${others.join(', ')}; only the first is read.`
    diagnostics.push(report('VT_MANIFEST_INVALID', { problem: text }, [path], 'warning'))
  }
  if (marker !== 'vtcode') return [join(path, marker)]
  // What a model loads with a skill brings no hooks.
  return manifestFiles(join(path, marker))
    .filter((name) => form === 'plugin' || name !== 'hooks.json')
    .map((name) => join(path, marker, name))
}
