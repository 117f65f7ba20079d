import { basename, dirname, join, relative, resolve } from 'node:path'
import { toText } from '../text/index.js'
import {
  isObject,
  problem,
  report,
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
import { dataFolder, importOwn, version } from '../system/index.js'
import { openShelf, realPaths, type ParseCache } from '../documents/index.js'
import type { PackageSkills } from '../skills/index.js'
import { readCatalogue } from './catalogue.js'
import {
  filesOf,
  manifestLocations,
  precedence,
  type DiscoverOptions,
  type ManifestLocations,
  type Removal,
  type ManifestSource,
} from './locations.js'
import { known, manifestFiles, readHooks, readManifest, type ManifestReading } from './read.js'
import { fitsProgram, missingRequirements, orphans, type RequirementScope } from './requires.js'
import type { PackageReader } from './types.js'

export interface Discovery {
  contributions: Contribution[]
  /** What was found and is not used: `invalid` or `inactive`. */
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  /** Packages of other programs, which may hold skills and nothing else. */
  packages: PluginRoot[]
  /** Every folder of a plugin that was found, whatever became of what it holds. */
  plugins: PluginFolder[]
  /** Every file and folder that was looked at, there or not. */
  looked: string[]
}
export interface PluginRoot extends Omit<PluginFolder, 'format'> {
  /** Of a package whose reader knows where its skills lie. */
  skills?: () => PackageSkills
}

const MAX_MANIFESTS = 500

/**
 * Finds every manifest in the places where they may lie, in their order, and reads it. One bad file never stops the others.
 * Throws VT_RELOAD_REFUSED when an entry marked `required` is not complete.
 */
export async function discoverManifests(options: DiscoverOptions): Promise<Discovery> {
  const found = await readPlaces(manifestLocations(options), options)
  await setAsideUnfit(found, options)
  return found
}

type Reader = Pick<DiscoverOptions, 'workspace' | 'home' | 'env'> & {
  /** Keys that adapters elsewhere serve. */
  adapters?: readonly string[]
}
/** What lies in one source. */
interface Read {
  source: ManifestSource
  readings: [file: string, reading: ManifestReading][]
}
type Declared = Map<string, { manifest: Manifest; layer: Layer; file: string }>

/** The adapters that are declared, by their key; of two the first counts, and what comes with a workspace is the last. */
function adaptersIn(read: readonly Read[]): Declared {
  const declared: Declared = new Map()
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

/** Reads every manifest of these sources and takes away what is to be taken away. */
export async function readPlaces(
  { sources, removals, diagnostics, looked }: ManifestLocations,
  options: Reader,
): Promise<Discovery> {
  const found: Discovery = { contributions: [], invalid: [], diagnostics, packages: [], plugins: [], looked }
  const files = new Map<string, string>()
  const shelf = openShelf(options.home, options.workspace)
  const real = realPaths()
  const read: Read[] = []
  for (const place of sources) {
    const source = { ...place, real }
    const { form, plugin: name, root, path, layer } = source
    const isPlugin = form === 'plugin' || (form === 'package' && root === path)
    if (isPlugin) found.plugins.push({ name, root, layer, format: 'vtcode' })
    const readings: Read['readings'] = []
    for await (const one of form === 'package'
      ? packageReadings(source, found, read, options, shelf)
      : readingsOf(source, found, shelf))
      readings.push(one)
    read.push({ source, readings })
  }
  const declared = adaptersIn(read)
  const others = [
    ...new Set([
      ...[...declared].flatMap(([key, { layer }]) => (layer === 'builtin' ? [] : [key])),
      ...(options.adapters ?? []),
    ]),
  ]
  for (const { source, readings } of read) {
    const before = found.invalid.length
    for (const [file, reading] of readings)
      admit(
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
  remove(found, removals)
  return found
}

/** The plugins that take part, each with its folder. */
export function pluginsOf({ contributions, packages }: Pick<Discovery, 'contributions' | 'packages'>): PluginRoot[] {
  const plugins = contributions
    .filter(({ plugin, layer, skill }) => plugin !== layer && !skill)
    .map(({ plugin: name, root, layer }) => ({ name, root, layer }))
  return [...new Map([...plugins, ...packages].map((plugin) => [plugin.name, plugin])).values()]
}

/** What a package of another program brings, as one of our own readers understands it. */
async function* packageReadings(
  source: ManifestSource,
  found: Discovery,
  before: readonly Read[],
  options: Reader,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const reader = adaptersIn(before).get('package')
  if (reader?.layer !== 'builtin') return
  const { default: readPackage } = (await importOwn(resolve(dirname(reader.file), reader.manifest.module!))) as {
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
    data: dataFolder({ plugin, layer }, home, workspace),
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
  if (folder?.root === path) found.plugins[found.plugins.length - 1] = { ...folder, format }
  if (usable && root === path) found.packages.push({ name: plugin, root, layer, ...(skills && { skills }) })
  for (const { file, manifest, read } of manifests.slice(0, MAX_MANIFESTS))
    yield [file, { ...known(manifest), ...(read !== undefined && { read }) }]
  if (manifests.length > MAX_MANIFESTS) found.diagnostics.push(tooMany(root, manifests.length))
  if (usable && native) yield* nativeReadings(source, native, shelf)
}

/** What a package brings for this program, in our own form; what it says of all of them holds where they say nothing. */
type Native = NonNullable<ReturnType<PackageReader>['native']>
async function* nativeReadings(
  source: ManifestSource,
  { folder, vtcode, options }: Native,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const completed = ({ manifest, again, ...reading }: ManifestReading): ManifestReading => {
    const own = Object.hasOwn(options, reading.name) && { options: options[reading.name]! }
    const later = again && { again: async (keys: readonly string[]) => completed(await again(keys)) }
    return {
      ...reading,
      ...own,
      ...later,
      ...(manifest && { manifest: vtcode === undefined ? manifest : { vtcode, ...manifest } }),
    }
  }
  for (const name of manifestFiles(folder)) {
    const file = join(folder, name)
    yield [file, completed(await (name === 'hooks.json' ? readHooks(file, source) : readManifest(file, source, shelf)))]
  }
}

/** The manifests of a source. Those of the program come checked from the catalogue that the build wrote. */
async function* readingsOf(
  source: ManifestSource,
  { diagnostics }: Discovery,
  shelf: ParseCache | undefined,
): AsyncGenerator<[file: string, reading: ManifestReading]> {
  const catalogue = source.form === 'builtin' ? readCatalogue(join(source.path, '_catalogue.json')) : undefined
  if (catalogue) {
    // The build wrote plain paths: a hundred times `join` is a tenth of a start.
    for (const { file, manifest } of catalogue) yield [`${source.path}/${file}`, known(manifest)]
    return
  }
  const files = filesOf(source, diagnostics)
  if (files.length > MAX_MANIFESTS) {
    diagnostics.push(tooMany(source.path, files.length))
  }
  const hooks = source.form === 'plugin' ? join(source.path, 'vtcode/hooks.json') : undefined
  for (const file of files.slice(0, MAX_MANIFESTS))
    yield [file, await (file === hooks ? readHooks(file, source) : readManifest(file, source, shelf))]
}

const tooMany = (path: string, count: number): Diagnostic =>
  report('VT_MANIFEST_LIMIT', { problem: `${path} brings ${count} manifests; the first ${MAX_MANIFESTS} are read.` }, [
    path,
  ])

function admit(
  source: ManifestSource,
  file: string,
  reading: ManifestReading,
  { files, declared }: { files: Map<string, string>; declared: Declared },
  found: Discovery,
): void {
  const { layer, root, plugin, entry } = source
  const { manifest, name, kind, slot, stage, diagnostics } = reading
  const served =
    manifest && kind === 'action' && bringsSlots(manifest, declared)
      ? {}
      : { ...(slot && { slot }), ...(stage && { stage }) }
  const id = `${plugin}:${name}`
  const put = (state: State, reason: string) => found.invalid.push({ id, kind, layer, file, state, ...served, reason })
  const earlier = files.get(id)
  found.diagnostics.push(...diagnostics)
  if (!manifest) put('invalid', diagnostics[0]?.message ?? '')
  else if (source.form === 'skill' && kind !== 'action' && kind !== 'policy')
    put('inactive', `a skill brings actions and policies, no ${kind}`)
  else if (!chosen(id, entry)) put('inactive', `left out by \`only\` or \`except\` of ${entry!.from}`)
  else if (earlier !== undefined) {
    const duplicate = report(
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
    const read = reading.read !== undefined && { read: reading.read }
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
      ...read,
    })
  }
}

/** A whole server, say, instead of one of its tools; or one of them whose input only the server knows. */
function bringsSlots(manifest: Manifest, declared: Declared): boolean {
  for (const [key, { manifest: adapter }] of declared) {
    const value = manifest[key]
    if (!adapter.expands || value === undefined) continue
    const isOne = adapter.one_slot !== undefined && isObject(value) && Object.hasOwn(value, adapter.one_slot)
    return !isOne || (manifest.input === undefined && (manifest.stage ?? 'primary') === 'primary')
  }
  return false
}

function infoOf({ id, kind, layer, file, slot, stage }: Contribution, state: State, reason: string): ContributionInfo {
  return { id, kind, layer, file, state, reason, ...(slot && { slot }), ...(stage && { stage }) }
}

const chosen = (id: string, entry: ManifestEntry = { from: '' }): boolean =>
  (entry.only?.some((pattern) => fits(pattern, id)) ?? true) && !entry.except?.some((pattern) => fits(pattern, id))

/** Does an id fit a pattern in which `*` stands for any text? Takes linear time, whatever the pattern. */
function fits(pattern: string, id: string): boolean {
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

/** Sets aside what is made for another program version or requires what is not here. For a policy that is a fault. */
export async function setAsideUnfit(found: Discovery, surroundings: RequirementScope): Promise<void> {
  const refuse = (one: Contribution, remark: Diagnostic) => {
    found.contributions = found.contributions.filter((other) => other !== one)
    found.diagnostics.push(remark)
    found.invalid.push(infoOf(one, one.kind === 'policy' ? 'invalid' : 'inactive', remark.message))
  }
  const lacks = (one: Contribution, needs: string[]) =>
    refuse(one, report('VT_PLUGIN_REQUIRES', { id: one.id, needs: needs.join(', ') }, [one.file], 'warning'))
  for (const one of found.contributions) {
    const { id, file, manifest } = one
    const needs = manifest['requires'] ? await missingRequirements(manifest, surroundings) : []
    const engine = { id, range: toText(manifest['vtcode']), version }
    if (needs.length > 0) lacks(one, needs)
    else if (!(await fitsProgram(manifest))) refuse(one, report('VT_PLUGIN_ENGINE', engine, [file], 'warning'))
  }
  for (const [one, names] of orphans(found.contributions))
    lacks(
      one,
      names.map((name) => `the plugin ${name}`),
    )
}

/** What a workspace may take away of others: tools. What judges, shortens, blots out, serves others or is a face of the program stays. */
const tools: readonly Kind[] = ['action', 'resource', 'prompt']

/** Takes away what the settings exclude; a workspace takes away tools only, and no override of the user. What stays all the same is told. */
function remove(found: Discovery, removals: Removal[]): void {
  const kept = new Map<string, { patterns: Set<string>; ids: Set<string> }>()
  found.contributions = found.contributions.filter((contribution) => {
    const { id, kind, layer, stage } = contribution
    const guarded = layer !== 'workspace' && (!tools.includes(kind) || stage === 'override')
    const fitting = removals.filter(({ pattern }) => fits(pattern, id))
    const removal = fitting.find((one) => !(one.layer === 'workspace' && guarded))
    for (const { pattern, file } of removal ? [] : fitting) {
      const { patterns, ids } = kept.get(file) ?? { patterns: new Set(), ids: new Set() }
      kept.set(file, { patterns: patterns.add(pattern), ids: ids.add(id) })
    }
    if (removal)
      found.invalid.push(infoOf(contribution, 'inactive', `taken away by '${removal.pattern}' in the settings`))
    return !removal
  })
  for (const [file, { patterns, ids }] of kept) {
    found.diagnostics.push(
      report(
        'VT_PLUGIN_KEPT',
        { patterns: firstOf([...patterns].map((one) => `'${one}'`)), ids: firstOf([...ids]) },
        [file],
        'warning',
      ),
    )
  }
}

const firstOf = (names: readonly string[]): string =>
  names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
