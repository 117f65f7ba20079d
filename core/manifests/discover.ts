import { basename, dirname, join, relative, resolve } from 'node:path'
import { toText } from '../text/index.js'
import {
  isObject,
  problem,
  createDiagnostic,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type JsonObject,
  type Kind,
  type Layer,
  type Manifest,
  type ManifestEntry,
  type PluginFolder,
  type State,
} from '../shapes/index.js'
import { resolveDataFolder, importProgramModule, version } from '../system/index.js'
import { openParseCache, createRealPathResolver, type ParseCache } from '../documents/index.js'
import type { PackageSkills } from '../skills/index.js'
import { readCatalogue } from './catalogue.js'
import {
  listSourceFiles,
  findManifestLocations,
  precedence,
  type DiscoverOptions,
  type ManifestLocations,
  type Removal,
  type ManifestSource,
} from './locations.js'
import { toReading, listManifestFiles, readHooks, readManifest, type ManifestReading } from './read.js'
import { isCompatible, findMissingRequirements, findOrphans, type RequirementScope } from './requirements.js'
import type { PackageReader } from './types.js'

export interface Discovery {
  contributions: Contribution[]
  /** Unused: `invalid` or `inactive`. */
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  /** Packages of other programs, which may hold only skills. */
  packages: PluginRoot[]
  /** Every folder of a plugin that was found, usable or not. */
  plugins: PluginFolder[]
  /** Every file and folder searched for, present or not. */
  searchedPaths: string[]
}
export interface PluginRoot extends Omit<PluginFolder, 'format'> {
  /** Present for a package whose reader knows the location of its skills. */
  skills?: () => PackageSkills
}

const MAX_MANIFESTS = 500

/**
 * Finds and reads every manifest of all locations, in their order. A bad file never stops the others. Throws
 * VT_RELOAD_REFUSED when an entry marked `required` is incomplete.
 */
export async function discoverManifests(options: DiscoverOptions): Promise<Discovery> {
  const found = await readSources(findManifestLocations(options), options)
  await removeUnfit(found, options)
  return found
}

type ReadOptions = Pick<DiscoverOptions, 'workspace' | 'home' | 'env'> & {
  /** Keys that other adapters serve. */
  adapters?: readonly string[]
}
/** The manifests of one source. */
interface SourceReadings {
  source: ManifestSource
  readings: [file: string, reading: ManifestReading][]
}
type DeclaredAdapters = Map<string, { manifest: Manifest; layer: Layer; file: string }>

/** Collects the declared adapters by key. The first one counts; adapters of a workspace come last. */
function collectAdapters(read: readonly SourceReadings[]): DeclaredAdapters {
  const declared: DeclaredAdapters = new Map()
  for (const { source, readings } of [...read].sort(
    (a, b) => precedence.indexOf(a.source.layer) - precedence.indexOf(b.source.layer),
  )) {
    for (const [file, { kind, manifest }] of readings) {
      if (kind === 'adapter' && manifest && source.form !== 'skill' && !declared.has(manifest.key!))
        declared.set(manifest.key!, { manifest, layer: source.layer, file })
    }
  }
  return declared
}

/** Reads every manifest of these sources and removes those that the settings exclude. */
export async function readSources(
  { sources, removals, diagnostics, searchedPaths }: ManifestLocations,
  options: ReadOptions,
): Promise<Discovery> {
  const found: Discovery = { contributions: [], invalid: [], diagnostics, packages: [], plugins: [], searchedPaths }
  const files = new Map<string, string>()
  const shelf = openParseCache(options.home, options.workspace)
  const real = createRealPathResolver()
  const read: SourceReadings[] = []
  for (const place of sources) {
    const source = { ...place, real }
    const { form, plugin: name, root, path, layer } = source
    const isPlugin = form === 'plugin' || (form === 'package' && root === path)
    if (isPlugin) found.plugins.push({ name, root, layer, format: 'vtcode' })
    const readings: SourceReadings['readings'] = []
    for await (const one of form === 'package'
      ? readPackageManifests(source, found, read, options, shelf)
      : readSourceManifests(source, found, shelf))
      readings.push(one)
    read.push({ source, readings })
  }
  const declared = collectAdapters(read)
  const others = [
    ...new Set([
      ...[...declared].flatMap(([key, { layer }]) => (layer === 'builtin' ? [] : [key])),
      ...(options.adapters ?? []),
    ]),
  ]
  for (const { source, readings } of read) {
    const before = found.invalid.length
    for (const [file, reading] of readings)
      admitManifest(
        source,
        file,
        others.length > 0 && reading.again ? await reading.again(others) : reading,
        { files, declared },
        found,
      )
    const broken = found.invalid.slice(before).find(({ state }) => state === 'invalid')
    if (source.entry?.required && broken) {
      throw problem('VT_RELOAD_REFUSED', { reason: `${source.path} is required and ${broken.id} cannot be loaded` })
    }
  }
  shelf?.save()
  removeExcluded(found, removals)
  return found
}

/** Lists the used plugins with their folders. */
export function listPlugins({ contributions, packages }: Pick<Discovery, 'contributions' | 'packages'>): PluginRoot[] {
  const plugins = contributions
    .filter(({ plugin, layer, skill }) => plugin !== layer && !skill)
    .map(({ plugin: name, root, layer }) => ({ name, root, layer }))
  return [...new Map([...plugins, ...packages].map((plugin) => [plugin.name, plugin])).values()]
}

/** Reads the manifests of a package of another program with our reader of its format. */
async function* readPackageManifests(
  source: ManifestSource,
  found: Discovery,
  before: readonly SourceReadings[],
  options: ReadOptions,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const reader = collectAdapters(before).get('package')
  if (reader?.layer !== 'builtin') return
  const { default: readPackage } = (await importProgramModule(
    resolve(dirname(reader.file), reader.manifest.module!),
  )) as {
    default: PackageReader
  }
  const { root, path, plugin, layer, entry } = source
  const { workspace, home, env } = options
  const place = {
    root,
    plugin,
    layer,
    workspace,
    env,
    data: resolveDataFolder({ plugin, layer }, home, workspace),
    options: (entry?.options ?? {}) as JsonObject,
  }
  const {
    format,
    manifests,
    native,
    diagnostics,
    skills,
    usable = true,
  } = readPackage({ ...place, ...(root !== path && { file: basename(path) }) })
  found.diagnostics.push(...diagnostics)
  const folder = found.plugins.at(-1)
  const fault = !usable && { problem: diagnostics[0]?.message ?? '' }
  if (folder?.root === path) found.plugins[found.plugins.length - 1] = { ...folder, format, ...fault }
  if (usable && root === path) found.packages.push({ name: plugin, root, layer, ...(skills && { skills }) })
  for (const { file, manifest, read } of manifests.slice(0, MAX_MANIFESTS))
    yield [file, { ...toReading(manifest), ...(read !== undefined && { read }) }]
  if (manifests.length > MAX_MANIFESTS) found.diagnostics.push(createLimitDiagnostic(root, manifests.length))
  if (usable && native) yield* readNativeManifests(source, native, shelf)
}

/** Reads the manifests that a package has for this program, and fills in values of the package where they have none. */
type NativeManifests = NonNullable<ReturnType<PackageReader>['native']>
async function* readNativeManifests(
  source: ManifestSource,
  { folder, vtcode, options }: NativeManifests,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const addPackageValues = ({ manifest, again, ...reading }: ManifestReading): ManifestReading => {
    const own = Object.hasOwn(options, reading.name) && { options: options[reading.name]! }
    const later = again && { again: async (keys: readonly string[]) => addPackageValues(await again(keys)) }
    return {
      ...reading,
      ...own,
      ...later,
      ...(manifest && { manifest: vtcode === undefined ? manifest : { vtcode, ...manifest } }),
    }
  }
  for (const name of listManifestFiles(folder)) {
    const file = join(folder, name)
    yield [
      file,
      addPackageValues(await (name === 'hooks.json' ? readHooks(file, source) : readManifest(file, source, shelf))),
    ]
  }
}

/** Reads the manifests of a source. The build checked those of the program. */
async function* readSourceManifests(
  source: ManifestSource,
  { diagnostics }: Discovery,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const catalogue = source.form === 'builtin' ? readCatalogue(join(source.path, '_catalogue.json')) : undefined
  if (catalogue) {
    // The paths of the build need no `join`, which would take a tenth of the start.
    for (const { file, manifest } of catalogue) yield [`${source.path}/${file}`, toReading(manifest)]
    return
  }
  const files = listSourceFiles(source, diagnostics)
  if (files.length > MAX_MANIFESTS) {
    diagnostics.push(createLimitDiagnostic(source.path, files.length))
  }
  const hooks = source.form === 'plugin' ? join(source.path, 'vtcode/hooks.json') : undefined
  for (const file of files.slice(0, MAX_MANIFESTS))
    yield [file, await (file === hooks ? readHooks(file, source) : readManifest(file, source, shelf))]
}

const createLimitDiagnostic = (path: string, count: number): Diagnostic =>
  createDiagnostic(
    'VT_MANIFEST_LIMIT',
    { problem: `${path} has ${count} manifests; only the first ${MAX_MANIFESTS} are read.` },
    [path],
  )

function admitManifest(
  source: ManifestSource,
  file: string,
  reading: ManifestReading,
  { files, declared }: { files: Map<string, string>; declared: DeclaredAdapters },
  found: Discovery,
): void {
  const { layer, root, plugin, entry } = source
  const { manifest, name, kind, slot, stage, diagnostics } = reading
  const served =
    manifest && kind === 'action' && isExpandable(manifest, declared)
      ? {}
      : { ...(slot && { slot }), ...(stage && { stage }) }
  const id = `${plugin}:${name}`
  const put = (state: State, reason: string) => found.invalid.push({ id, kind, layer, file, state, ...served, reason })
  const earlier = files.get(id)
  found.diagnostics.push(...diagnostics)
  if (!manifest) put('invalid', diagnostics[0]?.message ?? '')
  else if (source.form === 'skill' && kind !== 'action' && kind !== 'policy')
    put('inactive', `a skill may have actions and policies, but no ${kind}`)
  else if (!isSelected(id, entry)) put('inactive', `excluded by \`only\` or \`except\` of ${entry!.from}`)
  else if (earlier !== undefined) {
    const duplicate = createDiagnostic(
      'VT_MANIFEST_DUPLICATE',
      { plugin, name, files: [earlier, file].map((one) => relative(root, one)).join(' and ') },
      [earlier, file],
    )
    found.diagnostics.push(duplicate)
    put('invalid', duplicate.message)
  } else {
    files.set(id, file)
    const options = (reading.options ?? entry?.options) && {
      options: { ...reading.options, ...(entry?.options as JsonObject) },
    }
    const isolate = entry?.isolate && layer !== 'workspace' && { isolate: entry.isolate }
    const skill = source.form === 'skill' && { skill: true as const }
    const manifestHash = reading.read !== undefined && { manifestHash: reading.read }
    found.contributions.push({
      id,
      name,
      plugin,
      kind: kind as Kind,
      layer,
      file,
      root,
      manifest,
      ...skill,
      ...served,
      ...options,
      ...isolate,
      ...manifestHash,
    })
  }
}

/**
 * Returns whether an adapter makes several slots of a manifest: for example a whole server, or one tool whose input
 * only the server knows.
 */
function isExpandable(manifest: Manifest, declared: DeclaredAdapters): boolean {
  for (const [key, { manifest: adapter }] of declared) {
    const value = manifest[key]
    if (!adapter.expands || value === undefined) continue
    const isOne = adapter.one_slot !== undefined && isObject(value) && Object.hasOwn(value, adapter.one_slot)
    return !isOne || (manifest.input === undefined && (manifest.stage ?? 'primary') === 'primary')
  }
  return false
}

function toInfo({ id, kind, layer, file, slot, stage }: Contribution, state: State, reason: string): ContributionInfo {
  return { id, kind, layer, file, state, reason, ...(slot && { slot }), ...(stage && { stage }) }
}

const isSelected = (id: string, entry: ManifestEntry = { from: '' }): boolean =>
  (entry.only?.some((pattern) => isMatch(pattern, id)) ?? true) &&
  !entry.except?.some((pattern) => isMatch(pattern, id))

/** Returns whether an id matches a pattern in which `*` is any text. Takes linear time for every pattern. */
function isMatch(pattern: string, id: string): boolean {
  const [head, ...rest] = pattern.split('*') as [string, ...string[]]
  const tail = rest.pop()
  if (tail === undefined) return pattern === id
  if (!id.startsWith(head)) return false
  let at = head.length
  for (const part of rest) {
    const next = id.indexOf(part, at)
    if (next < 0) return false
    at = next + part.length
  }
  return id.length - tail.length >= at && id.endsWith(tail)
}

/**
 * Removes contributions that need another program version or something that is missing here. A policy then counts as
 * invalid.
 */
export async function removeUnfit(found: Discovery, surroundings: RequirementScope): Promise<void> {
  const refuse = (one: Contribution, remark: Diagnostic) => {
    found.contributions = found.contributions.filter((other) => other !== one)
    found.diagnostics.push(remark)
    found.invalid.push(toInfo(one, one.kind === 'policy' ? 'invalid' : 'inactive', remark.message))
  }
  const lacks = (one: Contribution, needs: string[]) =>
    refuse(one, createDiagnostic('VT_PLUGIN_REQUIRES', { id: one.id, needs: needs.join(', ') }, [one.file], 'warning'))
  for (const one of found.contributions) {
    const { id, file, manifest } = one
    const needs = manifest['requires'] ? await findMissingRequirements(manifest, surroundings) : []
    const engine = { id, range: toText(manifest['vtcode']), version }
    if (needs.length > 0) lacks(one, needs)
    else if (!(await isCompatible(manifest)))
      refuse(one, createDiagnostic('VT_PLUGIN_ENGINE', engine, [file], 'warning'))
  }
  for (const [one, names] of findOrphans(found.contributions))
    lacks(
      one,
      names.map((name) => `the plugin ${name}`),
    )
}

/** Kinds that a workspace may remove from other layers. Policies, compactors, adapters, providers and surfaces stay. */
const REMOVABLE_KINDS: readonly Kind[] = ['action', 'resource', 'prompt']

/**
 * Removes what the settings exclude. A workspace removes tools only, and no override of the user; a diagnostic reports
 * what it could not remove.
 */
function removeExcluded(found: Discovery, removals: Removal[]): void {
  const kept = new Map<string, { patterns: Set<string>; ids: Set<string> }>()
  found.contributions = found.contributions.filter((contribution) => {
    const { id, kind, layer, stage } = contribution
    const guarded = layer !== 'workspace' && (!REMOVABLE_KINDS.includes(kind) || stage === 'override')
    const fitting = removals.filter(({ pattern }) => isMatch(pattern, id))
    const removal = fitting.find((one) => !(one.layer === 'workspace' && guarded))
    for (const { pattern, file } of removal ? [] : fitting) {
      const { patterns, ids } = kept.get(file) ?? { patterns: new Set(), ids: new Set() }
      kept.set(file, { patterns: patterns.add(pattern), ids: ids.add(id) })
    }
    const reason = `excluded by '${removal?.pattern}' in the settings`
    if (removal) found.invalid.push({ ...toInfo(contribution, 'inactive', reason), removed_by: removal.layer })
    return !removal
  })
  for (const [file, { patterns, ids }] of kept) {
    found.diagnostics.push(
      createDiagnostic(
        'VT_PLUGIN_KEPT',
        { patterns: abbreviateList([...patterns].map((one) => `'${one}'`)), ids: abbreviateList([...ids]) },
        [file],
        'warning',
      ),
    )
  }
}

const abbreviateList = (names: readonly string[]): string =>
  names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
