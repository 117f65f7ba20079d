import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inside } from './data.js'
import { problem, report } from './errors.js'
import { known, manifestFiles, readManifest, type Place, type Reading } from './manifest.js'
import type { Contribution, ContributionInfo, Diagnostic, JsonObject, Kind, Layer, Manifest, ManifestEntry, Origin, Settings } from './types.js'

export interface Discovery {
  contributions: Contribution[]
  /** What was found and is not used: `invalid` or `inactive`. */
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
}
export interface DiscoverOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** What `~` stands for. */
  user: string
  /** Folder of the machine's administrator. */
  admin?: string
  /** The settings, and which file said an entry of `manifests`: there its paths begin. Origins are asked for only then. */
  loaded: { settings: Settings; origins: readonly Origin[] }
}

/** A file or folder of manifests, with what its entry in the settings says about it. */
interface Source extends Place {
  /** `plugin` for a folder with a `vtcode.yaml` or `vtcode/`, `folder` and `file` for loose manifests. */
  form: 'builtin' | 'plugin' | 'folder' | 'file'
  path: string
  /** Name of the plugin its contributions belong to. */
  plugin: string
  entry?: ManifestEntry
}

const program = dirname(dirname(fileURLToPath(import.meta.url)))
const reserved = /^(?:builtin|admin|user|workspace|call|root.*)$/
// Whose name a plugin keeps when two share it: a cloned repository never takes one over.
const precedence: Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']

/**
 * Finds every manifest in the places where they may lie, in their order, and reads it. One bad file never stops the others.
 * Throws VT_RELOAD_REFUSED when an entry marked `required` is not complete.
 */
export async function discover(options: DiscoverOptions): Promise<Discovery> {
  const found: Discovery = { contributions: [], invalid: [], diagnostics: [] }
  const { sources, removals } = placesOf(options, found)
  namePlugins(sources, found)
  const files = new Map<string, string>()
  for (const source of sources) {
    const before = found.invalid.length
    for await (const [file, reading] of readingsOf(source, found)) admit(source, file, reading, files, found)
    if (source.entry?.required && found.invalid.length > before) {
      throw problem('VT_RELOAD_REFUSED', { reason: `${source.path} is required and ${found.invalid[before]!.id} cannot be loaded` })
    }
  }
  remove(found, removals)
  return found
}

/** Patterns of contribution ids that the settings take away. */
interface Removal {
  pattern: string
  layer: Layer
}

function placesOf(options: DiscoverOptions, found: Discovery): { sources: Source[]; removals: Removal[] } {
  const { workspace, home, user, admin = '/etc/vtcode', loaded } = options
  const { settings } = loaded
  const originOf = (path: string) => loaded.origins.find((origin) => origin.path === path)
  const plugins = (settings['plugins'] ?? {}) as { enabled?: boolean; workspace?: string; disable?: string[] }
  const removals: Removal[] = (plugins.disable ?? []).map((pattern) => ({ pattern, layer: originOf('plugins.disable')?.layer ?? 'user' }))
  const builtin: Source[] = []
  const entries: Source[] = []
  for (const [index, said] of settings.manifests.entries()) {
    const entry = typeof said === 'string' ? { from: said } : said
    if (entry.from === 'builtin') {
      builtin.push({ form: 'builtin', layer: 'builtin', path: join(program, 'manifests'), root: program, plugin: 'builtin' })
      continue
    }
    const origin = originOf(`manifests.${index}`)
    const layer = origin?.layer ?? 'builtin'
    if (entry.from.startsWith('!')) removals.push({ pattern: entry.from.slice(1), layer })
    else {
      const base = origin && isAbsolute(origin.file) ? dirname(origin.file) : workspace
      const source = fromEntry(entry, layer, { base, user, workspace }, found)
      if (source) entries.push(source)
    }
  }
  if (plugins.enabled === false) return { sources: builtin, removals }
  const managed = ownedByRoot(join(admin, 'plugins'), found) ? pluginsIn(join(admin, 'plugins'), 'admin', found) : []
  const own = [join(home, 'plugins'), join(user, '.agents', 'plugins')]
  const foreign = plugins.workspace === 'off' ? [] : [join(workspace, '.vtcode', 'plugins'), join(workspace, '.agents', 'plugins')]
  const below = (dirs: string[], layer: Layer) => dirs.flatMap((dir) => pluginsIn(dir, layer, found))
  const sources = [...builtin, ...managed, ...entries, ...below(own, 'user'), ...below(foreign, 'workspace')]
  // A workspace that is the home folder has its plugins read once, as the user's.
  const seen = new Set<string>()
  return { sources: sources.filter(({ path }) => !seen.has(path) && seen.add(path)), removals }
}

/** The source an entry of `manifests` names. */
function fromEntry(entry: ManifestEntry, layer: Layer, { base, user, workspace }: Record<'base' | 'user' | 'workspace', string>, found: Discovery): Source | undefined {
  const { from } = entry
  const path = from.startsWith('npm:') ? packageFolder(from.slice(4), base) : resolve(base, from.startsWith('~/') ? join(user, from.slice(2)) : from)
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  if (path === undefined || !stat) {
    found.diagnostics.push(report('VT_MANIFEST_MISSING', { path: from }, [base]))
    if (entry.required) throw problem('VT_RELOAD_REFUSED', { reason: `${from} is required and does not exist` })
    return undefined
  }
  const real = realpathSync(path)
  if (layer === 'workspace' && !inside(realpathSync(workspace), real)) {
    found.diagnostics.push(report('VT_MANIFEST_OUTSIDE', { path: from }, [base]))
    return undefined
  }
  if (!stat.isDirectory()) return { form: 'file', layer, path: real, root: dirname(real), plugin: layer, entry }
  return markers(real).length > 0 ? { form: 'plugin', layer, path: real, root: real, plugin: nameFrom(real), entry } : { form: 'folder', layer, path: real, root: real, plugin: layer, entry }
}

function packageFolder(name: string, base: string): string | undefined {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i.test(name)) return undefined
  for (let dir = base; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', name)
    if (existsSync(folder)) return folder
    if (dir === dirname(dir)) return undefined
  }
}

function pluginsIn(dir: string, layer: Layer, found: Discovery): Source[] {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return []
  const real = realpathSync(dir)
  const names = readdirSync(real).filter((name) => !/^[._]/.test(name)).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return names.flatMap((name): Source[] => {
    const path = join(real, name)
    const refuse = (text: string, severity: Diagnostic['severity']) => {
      found.diagnostics.push(report('VT_MANIFEST_INVALID', { problem: `${path} ${text}.` }, [path], severity))
      return []
    }
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && !stat.isDirectory()) return []
    if (!stat || !inside(real, realpathSync(path))) return refuse('is a link that leads out of its folder', 'error')
    return markers(path).length > 0 ? [{ form: 'plugin', layer, path, root: path, plugin: nameFrom(path) }] : refuse('holds neither vtcode.yaml nor a folder vtcode', 'warning')
  })
}

const markers = (root: string): string[] => ['vtcode.yaml', 'vtcode.yml', 'vtcode.json', 'vtcode'].filter((name) => lstatSync(join(root, name), { throwIfNoEntry: false }))
const nameFrom = (root: string): string => basename(root).toLowerCase().replace(/[^a-z0-9.-]+/g, '-').replace(/^[.-]+|[.-]+$/g, '').slice(0, 64) || 'unnamed'

function ownedByRoot(dir: string, found: Discovery): boolean {
  const stat = statSync(dir, { throwIfNoEntry: false })
  if (!stat) return false
  if (stat.uid === 0 && (stat.mode & 0o022) === 0) return true
  found.diagnostics.push(report('VT_CONFIG_FOREIGN', { file: dir }, [dir]))
  return false
}

/** Gives plugins of the same name different ones. */
function namePlugins(sources: Source[], found: Discovery): void {
  const owners = new Map<string, string>()
  const plugins = sources.filter(({ form }) => form === 'plugin').sort((a, b) => precedence.indexOf(a.layer) - precedence.indexOf(b.layer))
  for (const source of plugins) {
    const name = source.plugin
    if (reserved.test(name) || owners.has(name)) {
      source.plugin = `${name}@${source.layer}`
      for (let n = 2; owners.has(source.plugin); n++) source.plugin = `${name}@${source.layer}-${n}`
      found.diagnostics.push(report('VT_PLUGIN_RENAMED', { name, root: source.root, other: source.plugin }, [owners.get(name) ?? '', source.root].filter(Boolean), 'warning'))
    }
    owners.set(source.plugin, source.root)
  }
}

/** The manifests of a source. Those of the program come checked from the catalogue that the build wrote. */
async function* readingsOf(source: Source, found: Discovery): AsyncGenerator<[file: string, reading: Reading]> {
  if (source.form === 'builtin') {
    const catalogue = join(source.path, '_catalogue.json')
    if (existsSync(catalogue)) {
      for (const { file, manifest } of JSON.parse(readFileSync(catalogue, 'utf8')) as { file: string; manifest: Manifest }[]) {
        yield [join(source.path, file), known(manifest)]
      }
      return
    }
  }
  for (const file of filesOf(source, found)) yield [file, await readManifest(file, source)]
}

function filesOf({ form, path }: Source, found: Discovery): string[] {
  if (form === 'file') return [path]
  if (form !== 'plugin') return manifestFiles(path).map((name) => join(path, name))
  const [marker, ...others] = markers(path) as [string, ...string[]]
  if (others.length > 0) found.diagnostics.push(report('VT_MANIFEST_INVALID', { problem: `${path} holds ${marker} and ${others.join(', ')}; only the first is read.` }, [path], 'warning'))
  if (marker !== 'vtcode') return [join(path, marker)]
  return manifestFiles(join(path, marker)).filter((name) => name !== 'hooks.json').map((name) => join(path, marker, name))
}

function admit(source: Source, file: string, reading: Reading, files: Map<string, string>, found: Discovery): void {
  const { layer, root, plugin, entry } = source
  const { manifest, name, kind, slot, stage } = reading
  const served = { ...(slot && { slot }), ...(stage && { stage }) }
  const id = `${plugin}:${name}`
  found.diagnostics.push(...reading.diagnostics)
  const info: ContributionInfo = { id, kind, layer, file, state: 'invalid', ...served, ...(reading.diagnostics[0] && { reason: reading.diagnostics[0].message }) }
  const earlier = files.get(id)
  if (!manifest) found.invalid.push(info)
  else if (earlier !== undefined) {
    const duplicate = report('VT_MANIFEST_DUPLICATE', { plugin, name }, [earlier, file])
    found.diagnostics.push(duplicate)
    found.invalid.push({ ...info, reason: duplicate.message })
  } else if (!chosen(id, entry)) {
    found.invalid.push({ ...info, state: 'inactive', reason: `left out by \`only\` or \`except\` of ${entry!.from}` })
  } else {
    files.set(id, file)
    found.contributions.push({
      id, name, plugin, kind: kind as Kind, layer, file, root, manifest, ...served,
      ...(entry?.options && { options: entry.options as JsonObject }),
    })
  }
}

const matches = (pattern: string, id: string): boolean =>
  new RegExp(`^${pattern.split('*').map((part) => part.replace(/[^\w]/g, '\\$&')).join('.*')}$`).test(id)
const chosen = (id: string, entry: ManifestEntry = { from: '' }): boolean =>
  (entry.only?.some((pattern) => matches(pattern, id)) ?? true) && !entry.except?.some((pattern) => matches(pattern, id))

/** Takes away what the settings exclude; a workspace takes away neither policies nor overrides of the user. */
function remove(found: Discovery, removals: Removal[]): void {
  found.contributions = found.contributions.filter((contribution) => {
    const { id, kind, layer, file, slot, stage } = contribution
    const guarded = layer !== 'workspace' && (kind === 'policy' || stage === 'override')
    const removal = removals.find((removal) => matches(removal.pattern, id) && !(removal.layer === 'workspace' && guarded))
    if (!removal) return true
    found.invalid.push({ id, kind, layer, file, state: 'inactive', reason: `taken away by '${removal.pattern}' in the settings`, ...(slot && { slot }), ...(stage && { stage }) })
    return false
  })
}
