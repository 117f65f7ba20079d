import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, resolve, win32 } from 'node:path'
import {
  omitUndefined,
  toDiagnostic,
  isObject,
  problem,
  createDiagnostic,
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
import { compareBytes, isInside, findModulePath } from '../system/index.js'
import {
  sanitize,
  loadDocument,
  parseDocument,
  readBytes,
  type ParsedDocument,
  type RealPath,
  type ParseCache,
} from '../documents/index.js'
import { checkContract, keysByKind } from '../schema/index.js'
import { hashContent } from '../trust/index.js'
import { findKeyConflicts, findSchemaFaults, toSchemaForm, listKeys, readManifestVersion } from './form.js'

/** The result of one manifest file; without `manifest` it is invalid and `diagnostics` have the reasons. */
export interface ManifestReading {
  manifest?: Manifest
  /** The declared name, or the one derived from the file. */
  name: string
  kind: Kind | 'unknown'
  slot?: string
  stage?: Stage
  /** Values for its options, from the package that contains it. */
  options?: JsonObject
  diagnostics: Diagnostic[]
  /** The hash of the bytes that were read. */
  read?: string
  /** Reads the file again with the keys of other adapters; present if it has keys that its kind does not know. */
  again?: (adapters: readonly string[]) => Promise<ManifestReading>
}
export interface ManifestPlace {
  layer: Layer
  /** Absolute folder that neither links nor modules may leave. */
  root: string
  /** Cached real paths, where many files are read together. */
  real?: RealPath
}

/** Reads and checks one manifest file. Never throws: a fault becomes a diagnostic with its line. */
export async function readManifest(
  file: string,
  place: ManifestPlace,
  shelf?: ParseCache,
  adapters: readonly string[] = [],
): Promise<ManifestReading> {
  // A file that no check expected does not prevent reading the others.
  return parseManifest(file, place, shelf, adapters).catch((error: unknown) => ({
    name: basename(file, extname(file)),
    kind: 'unknown',
    diagnostics: [toDiagnostic(error, file)],
  }))
}

async function parseManifest(
  file: string,
  place: ManifestPlace,
  shelf: ParseCache | undefined,
  adapters: readonly string[],
): Promise<ManifestReading> {
  const reading: ManifestReading = { name: basename(file, extname(file)), kind: 'unknown', diagnostics: [] }
  const bytes = readBytes(file, { within: place.root, ...omitUndefined({ real: place.real }) })
  if (place.layer !== 'builtin') reading.read = hashContent(bytes)
  const checked = shelf?.get(detectFormat(file), bytes)
  if (checked) return checkModule({ ...toReading(checked), ...omitUndefined({ read: reading.read }) }, file, place)
  const data = await parseDocument(file, bytes)
  const wrong = (code: Code, values: Values, path: (string | number)[]) =>
    reading.diagnostics.push(createDiagnostic(code, values, [data.at(path)]))

  const raw = data.value as Manifest | null
  describe(raw, reading)
  const version = readManifestVersion(raw)
  if (version !== '1') {
    wrong('VT_MANIFEST_INVALID', { problem: `Manifest version ${version} is not supported. Use version 1.` }, [
      '$schema',
    ])
    return reading
  }
  const keys = listKeys(reading.kind)
  const served = reading.kind === 'action' ? adapters.find((key) => Object.hasOwn(raw!, key)) : undefined
  const faults = [
    ...checkContract('manifest.1.json', toSchemaForm(raw, served), [...keys, ...adapters]),
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

  // Built-in texts need no sanitizing.
  if (manifest === raw) {
    // The meaning of an adapter's key depends on the loaded adapters, so the result is not cached.
    if (!served) shelf?.put(detectFormat(file), bytes, manifest)
  } else if (place.layer !== 'builtin')
    reading.diagnostics.push(createDiagnostic('VT_TEXT_CLEANED', { id: reading.name }, [file], 'warning'))
  return checkModule({ ...reading, manifest }, file, place, data)
}

/** Sets the kind, the name and the slot that a manifest declares, valid or not. */
function describe(raw: Manifest | null, reading: ManifestReading): void {
  if (!isObject(raw)) return
  const kind = toText(raw.kind ?? 'action')
  reading.kind = Object.hasOwn(keysByKind(), kind) ? (kind as Kind) : 'unknown'
  const name = readName(raw)
  if (name !== undefined) Object.assign(reading, { name }, resolveServedSlot(raw))
}

const detectFormat = (file: string) => (extname(file) === '.json' ? 'json' : 'yaml')

/** Checks the module, which depends on the location of the manifest. */
function checkModule(
  { manifest, ...reading }: ManifestReading,
  file: string,
  { root, real }: ManifestPlace,
  data?: ParsedDocument,
): ManifestReading {
  const main = findModulePath(manifest!)
  const module = main === undefined ? undefined : resolveModule(file, main, root, real)
  if (!(module instanceof VtError)) return { ...reading, manifest: manifest! }
  const values = module.problem.details as Record<string, string>
  return { ...reading, diagnostics: [createDiagnostic('VT_MANIFEST_PATH', values, [data?.at(['module']) ?? file])] }
}

/** Reads the lifecycle hooks of a plugin in our own form, `{ hooks: { … } }` or the block alone. Never throws. */
export async function readHooks(file: string, { root }: ManifestPlace): Promise<ManifestReading> {
  const reading: ManifestReading = { name: 'lifecycle_hooks', kind: 'hooks', diagnostics: [] }
  try {
    const data = await loadDocument(file, root)
    reading.read = hashContent(data.bytes)
    const raw = data.value as JsonObject | null
    const inner = Object.hasOwn(raw ?? {}, 'hooks')
    const hooks = inner ? raw!['hooks'] : raw
    const faults = checkContract('config.1.json', { hooks }, ['hooks'])
    for (const { path, problem } of faults)
      reading.diagnostics.push(
        createDiagnostic('VT_MANIFEST_INVALID', { problem }, [data.at(inner ? path : path.slice(1))]),
      )
    if (faults.length === 0)
      reading.manifest = { name: reading.name, kind: 'hooks', hooks: hooks as NonNullable<Manifest['hooks']> }
  } catch (error) {
    reading.diagnostics.push(toDiagnostic(error, file))
  }
  return reading
}

/** Reads all built-in manifests for the catalogue. Throws with file and line. */
export async function compileCatalogue(dir: string): Promise<{ file: string; manifest: Manifest }[]> {
  const catalogue: { file: string; manifest: Manifest }[] = []
  for (const file of listManifestFiles(dir)) {
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

/** Returns the reading of a manifest that was checked before. */
export function toReading(manifest: Manifest): ManifestReading {
  return {
    manifest,
    name: readName(manifest)!,
    kind: manifest.kind ?? 'action',
    ...resolveServedSlot(manifest),
    diagnostics: [],
  }
}

/** Names of other programs' files in a project. */
const FOREIGN_FILES =
  /^(?:(?:package|package-lock|npm-shrinkwrap|[jt]sconfig(?:\.[\w.-]+)?)\.json|pnpm-(?:lock|workspace)\.ya?ml)$/

/** Lists the paths of the manifests in a folder, in byte order, without hidden and foreign files. */
export function listManifestFiles(dir: string, depth = 4): string[] {
  const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => compareBytes(a.name, b.name))
  return entries.flatMap((entry) => {
    const { name } = entry
    if (/^[._]/.test(name)) return []
    if (entry.isDirectory()) {
      if (depth === 1 || name === 'schema' || name === 'node_modules') return []
      return listManifestFiles(join(dir, name), depth - 1).map((file) => `${name}/${file}`)
    }
    return /\.(ya?ml|json)$/.test(name) && !FOREIGN_FILES.test(name) ? [name] : []
  })
}

const readName = ({ name, action, slot }: Manifest): string | undefined => {
  const called = name ?? action ?? slot
  return typeof called === 'string' ? called.replaceAll('/', '_') : undefined
}
/** Returns the slot that an action, a resource or a prompt serves, and its stage. */
const resolveServedSlot = ({
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

/** Resolves a module to an absolute path, to `x.ts` where there is no `x.js`. Returns the error where there is none. */
function resolveModule(
  file: string,
  module: string,
  root: string,
  real: RealPath = realpathSync.native,
): string | VtError {
  const refuse = (text: string) =>
    problem('VT_MANIFEST_PATH', { module, problem: text }, { details: { module, problem: text } })
  if (/^[a-z][a-z0-9+.-]+:/i.test(module)) return refuse('is a URL')
  if (isAbsolute(module) || win32.isAbsolute(module)) return refuse('is an absolute path')
  if (!/\.(?:[cm]?js|m?ts)$/.test(module)) return refuse('is not a JavaScript or TypeScript file')
  const target = resolve(dirname(file), module)
  if (!isInside(resolve(root), target)) return refuse('leads out of the folder of its plugin')
  for (const candidate of [target, target.replace(/js$/, 'ts')]) {
    if (!statSync(candidate, { throwIfNoEntry: false })?.isFile()) continue
    return isInside(real(root), real(candidate)) ? candidate : refuse('is a link out of the folder of its plugin')
  }
  return refuse(module.includes('\\') ? 'does not exist; separate folders with /' : 'does not exist')
}
