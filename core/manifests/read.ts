import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, resolve, win32 } from 'node:path'
import {
  definedOnly,
  fromError,
  isObject,
  problem,
  report,
  VtError,
  type Code,
  type Diagnostic,
  type JsonObject,
  type Kind,
  type Layer,
  type Manifest,
  type Stage,
  type Values,
} from '../shapes/index.js'
import { toText } from '../text/index.js'
import { byBytes, inside, moduleOf } from '../system/index.js'
import {
  sanitize,
  loadDocument,
  loadOpened,
  readBytes,
  type Data,
  type RealPath,
  type ParseCache,
} from '../documents/index.js'
import { conform, keysOf } from '../schema/index.js'
import { fileHash } from '../trust/index.js'
import { findKeyConflicts, findSchemaFaults, inOurWords, keysFor, manifestVersion } from './form.js'

/** The result of one manifest file; without `manifest` it is invalid and `diagnostics` say why. */
export interface ManifestReading {
  manifest?: Manifest
  /** The name it has, or would have. */
  name: string
  kind: Kind | 'unknown'
  slot?: string
  stage?: Stage
  /** Values for its options, where the package that brings it says some. */
  options?: JsonObject
  diagnostics: Diagnostic[]
  /** The hash of the bytes that it was read from. */
  read?: string
  /** Reads it again with the keys of other adapters, where it has keys that its kind does not know. */
  again?: (adapters: readonly string[]) => Promise<ManifestReading>
}
export interface ManifestPlace {
  layer: Layer
  /** Absolute folder that neither links nor modules may leave. */
  root: string
  /** Where many files are read together. */
  real?: RealPath
}

/** Reads and checks one manifest file. Never throws: a fault becomes a diagnostic with its line. */
export async function readManifest(
  file: string,
  place: ManifestPlace,
  shelf?: ParseCache,
  adapters: readonly string[] = [],
): Promise<ManifestReading> {
  // A file of an unforeseen shape does not keep the other files from being read.
  return parseManifest(file, place, shelf, adapters).catch((error: unknown) => ({
    name: basename(file, extname(file)),
    kind: 'unknown',
    diagnostics: [fromError(error, file)],
  }))
}

async function parseManifest(
  file: string,
  place: ManifestPlace,
  shelf: ParseCache | undefined,
  adapters: readonly string[],
): Promise<ManifestReading> {
  const reading: ManifestReading = { name: basename(file, extname(file)), kind: 'unknown', diagnostics: [] }
  const bytes = readBytes(file, { within: place.root, ...definedOnly({ real: place.real }) })
  if (place.layer !== 'builtin') reading.read = fileHash(bytes)
  const checked = shelf?.get(sortOf(file), bytes)
  if (checked) return placed({ ...known(checked), ...definedOnly({ read: reading.read }) }, file, place)
  const data = await loadOpened(file, bytes)
  const wrong = (code: Code, values: Values, path: (string | number)[]) =>
    reading.diagnostics.push(report(code, values, [data.at(path)]))

  const raw = data.value as Manifest | null
  describe(raw, reading)
  const version = manifestVersion(raw)
  if (version !== '1') {
    wrong(
      'VT_MANIFEST_INVALID',
      { problem: `It is made for manifest version ${version}; this program reads version 1.` },
      ['$schema'],
    )
    return reading
  }
  const keys = keysFor(reading.kind)
  const served = reading.kind === 'action' ? adapters.find((key) => Object.hasOwn(raw!, key)) : undefined
  const faults = [
    ...conform('manifest.1.json', inOurWords(raw, served), [...keys, ...adapters]),
    ...findKeyConflicts(raw!, reading.kind, served),
  ]
  for (const { path, problem } of faults) wrong('VT_MANIFEST_INVALID', { problem }, path)
  if (reading.diagnostics.length > 0) {
    const others = reading.kind === 'action' ? Object.keys(Object(raw)).filter((one) => !keys.includes(one)) : []
    if (others.length > 0 && adapters.length === 0) reading.again = (known) => readManifest(file, place, shelf, known)
    return reading
  }

  const manifest = sanitize(raw as Manifest)
  for (const [schema, why] of findSchemaFaults(manifest)) {
    wrong('VT_SCHEMA_INVALID', { id: reading.name, reason: `${schema} ${why}` }, [schema])
  }
  if (reading.diagnostics.length > 0) return reading

  // Our own texts have been read by us.
  if (manifest === raw) {
    // The meaning of a key of an adapter depends on the adapters that are loaded.
    if (!served) shelf?.put(sortOf(file), bytes, manifest)
  } else if (place.layer !== 'builtin')
    reading.diagnostics.push(report('VT_TEXT_CLEANED', { id: reading.name }, [file], 'warning'))
  return placed({ ...reading, manifest }, file, place, data)
}

/** Sets the kind, the name and the slot that a manifest declares, valid or not. */
function describe(raw: Manifest | null, reading: ManifestReading): void {
  if (!isObject(raw)) return
  const kind = toText(raw.kind ?? 'action')
  reading.kind = Object.hasOwn(keysOf(), kind) ? (kind as Kind) : 'unknown'
  const name = nameOf(raw)
  if (name !== undefined) Object.assign(reading, { name }, servedBy(raw))
}

const sortOf = (file: string) => (extname(file) === '.json' ? 'json' : 'yaml')

/** What depends on where a manifest lies: its module. */
function placed(
  { manifest, ...reading }: ManifestReading,
  file: string,
  { root, real }: ManifestPlace,
  data?: Data,
): ManifestReading {
  const main = moduleOf(manifest!)
  const module = main === undefined ? undefined : modulePath(file, main, root, real)
  if (!(module instanceof VtError)) return { ...reading, manifest: manifest! }
  const values = module.problem.details as Record<string, string>
  return { ...reading, diagnostics: [report('VT_MANIFEST_PATH', values, [data?.at(['module']) ?? file])] }
}

/** The lifecycle hooks of a plugin in our own form, `{ hooks: { … } }` or the block alone. Never throws. */
export async function readHooks(file: string, { root }: ManifestPlace): Promise<ManifestReading> {
  const reading: ManifestReading = { name: 'lifecycle_hooks', kind: 'hooks', diagnostics: [] }
  try {
    const data = await loadDocument(file, root)
    reading.read = fileHash(data.bytes)
    const raw = data.value as JsonObject | null
    const inner = Object.hasOwn(raw ?? {}, 'hooks')
    const hooks = inner ? raw!['hooks'] : raw
    const faults = conform('config.1.json', { hooks }, ['hooks'])
    for (const { path, problem } of faults)
      reading.diagnostics.push(report('VT_MANIFEST_INVALID', { problem }, [data.at(inner ? path : path.slice(1))]))
    if (faults.length === 0)
      reading.manifest = { name: reading.name, kind: 'hooks', hooks: hooks as NonNullable<Manifest['hooks']> }
  } catch (error) {
    reading.diagnostics.push(fromError(error, file))
  }
  return reading
}

/** Reads all built-in manifests for the catalogue. Throws with file and line. */
export async function compileCatalogue(dir: string): Promise<{ file: string; manifest: Manifest }[]> {
  const catalogue: { file: string; manifest: Manifest }[] = []
  for (const file of manifestFiles(dir)) {
    const { manifest, diagnostics } = await readManifest(join(dir, file), {
      layer: 'builtin',
      root: dirname(resolve(dir)),
    })
    if (!manifest)
      throw new Error(diagnostics.map(({ files, message }) => `${files.join(', ')}: ${message}`).join('\n'))
    catalogue.push({ file, manifest })
  }
  return catalogue
}

/** A manifest that has been checked before. */
export function known(manifest: Manifest): ManifestReading {
  return { manifest, name: nameOf(manifest)!, kind: manifest.kind ?? 'action', ...servedBy(manifest), diagnostics: [] }
}

/** What others keep in a project, by names that are known to be theirs. */
const foreign =
  /^(?:(?:package|package-lock|npm-shrinkwrap|[jt]sconfig(?:\.[\w.-]+)?)\.json|pnpm-(?:lock|workspace)\.ya?ml)$/

/** Paths of the manifests in a folder, in byte order, without hidden and foreign files. */
export function manifestFiles(dir: string, depth = 4): string[] {
  const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => byBytes(a.name, b.name))
  return entries.flatMap((entry) => {
    const { name } = entry
    if (/^[._]/.test(name)) return []
    if (entry.isDirectory()) {
      if (depth === 1 || name === 'schema' || name === 'node_modules') return []
      return manifestFiles(join(dir, name), depth - 1).map((file) => `${name}/${file}`)
    }
    return /\.(ya?ml|json)$/.test(name) && !foreign.test(name) ? [name] : []
  })
}

const nameOf = ({ name, action, slot }: Manifest): string | undefined => {
  const called = name ?? action ?? slot
  return typeof called === 'string' ? called.replaceAll('/', '_') : undefined
}
/** The slot an action, a resource or a prompt serves, and where it stands there. */
const servedBy = ({
  kind = 'action',
  name,
  action,
  slot,
  stage = 'primary',
}: Manifest): { slot?: string; stage?: Stage } =>
  kind === 'action'
    ? { slot: toText(action ?? slot ?? name).replaceAll('-', '_'), stage }
    : kind === 'resource' || kind === 'prompt'
      ? { slot: `${kind}/${toText(name).replaceAll('-', '_')}`, stage: 'primary' }
      : {}

/** Absolute path of a module, `x.ts` where there is no `x.js`; or why there is none. */
function modulePath(
  file: string,
  module: string,
  root: string,
  real: RealPath = realpathSync.native,
): string | VtError {
  const refuse = (text: string) =>
    problem('VT_MANIFEST_PATH', { module, problem: text }, { details: { module, problem: text } })
  if (/^[a-z][a-z0-9+.-]+:/i.test(module)) return refuse('is a URL')
  if (isAbsolute(module) || win32.isAbsolute(module)) return refuse('is an absolute path')
  if (!/\.(?:[cm]?js|m?ts)$/.test(module)) return refuse('is no JavaScript or TypeScript file')
  const target = resolve(dirname(file), module)
  if (!inside(resolve(root), target)) return refuse('leads out of the folder of its plugin')
  for (const candidate of [target, target.replace(/js$/, 'ts')]) {
    if (!statSync(candidate, { throwIfNoEntry: false })?.isFile()) continue
    return inside(real(root), real(candidate)) ? candidate : refuse('is a link out of the folder of its plugin')
  }
  return refuse(module.includes('\\') ? 'does not exist; folders of a path are separated by /' : 'does not exist')
}
