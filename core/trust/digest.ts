import { realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isObject, problem, type Contribution, type JsonObject } from '../shapes/index.js'
import { compareBytes, findModulePath, sha256 } from '../system/index.js'
import { listAdapterKeys } from '../schema/index.js'
import { findGuard, hasGuardHooks, type Guard } from './guards.js'
import { findImports } from './imports.js'
import { findStarted, type Programs, type Started } from './programs.js'
import { resolveFileBelow, createTreeError, createTreeReader, type Tree, type TreeReader } from './tree.js'

/** Files with the user's consent: a copy with this digest is loaded. */
export interface ConsentedFiles {
  root: string
  tree: Tree
  /** The files, links and folders that belong to it, unless it is the whole folder. */
  only?: readonly string[]
}

/** One item of a workspace that may run code or change what runs; `digest` changes with every byte. */
export interface TrustItem {
  id: string
  title: string
  files: string[]
  digest: string
  /** The covered part of a settings file; the rest of that file does not count. */
  value?: unknown
  agreed?: ConsentedFiles
  /** The programs that it starts, with their files under the names that are used. */
  starts?: Programs & Pick<Started, 'files'>
  /** The guards of the item: if it changes, the user is asked about the calls that they covered. */
  guards?: Guard[]
  /** Sentences about programs and files that cannot be listed in advance. */
  uncovered?: string[]
}

/**
 * Returns whether a contribution of the workspace runs code or connects. Contributions from the settings share the
 * consent to those.
 */
export const needsConsent = (contribution: Contribution): boolean =>
  contribution.layer === 'workspace' && !contribution.fromSettings && runsCode(contribution)

/** Returns whether a contribution runs code; every action does, by a module or by an adapter. */
export const runsCode = ({ kind, manifest }: Contribution): boolean =>
  kind === 'action' || ['module', 'provider', 'language_server', 'hooks'].some((key) => key in manifest)

/**
 * Returns the item of a contribution: the whole folder of its plugin, or a loose manifest with its code and the files
 * that its commands name directly. Throws VT_MANIFEST_LIMIT, and VT_FILE_STALE where the manifest changed since it was
 * read.
 */
export function toTrustItem(contribution: Contribution, workspace: string, tree: TreeReader): TrustItem {
  const { plugin, layer, root, file, manifest, skill } = contribution
  if (skill) return toSkillItem(root, workspace, [], tree, contribution)
  const id = toItemId(contribution, workspace)
  const guards = findGuard(contribution, workspace)
  if (plugin !== layer) {
    const agreed = { root, tree: tree(root) }
    const title = `The plugin ${plugin} in ${root}`
    const started = requireCovered(contribution, agreed)
    return { id, title, files: [root], digest: agreed.tree.digest, agreed, ...started, ...guards }
  }
  const files = findCode(contribution, workspace)
  const data = toCanonicalJson(manifest)
  const programs = { value: pickStarts(manifest), folders: [workspace, dirname(file), root] }
  const item = createItem(id, `The manifest ${relative(workspace, file)}`, { workspace, files, data, programs, tree })
  return { ...item, ...guards }
}

/** Returns the id of the item of a contribution. */
export function toItemId({ id, plugin, layer, root, skill }: Contribution, workspace: string): string {
  if (skill) return `skill:${relative(workspace, root)}`
  return plugin === layer ? id : `plugin:${plugin}`
}

/**
 * Returns the files and folders with the code of a loose manifest. Its module is in the folder that the settings name,
 * so the whole folder counts. The workspace itself and its `.vtcode` contain everything else too: there only the
 * manifest counts, and its module with the files that its text names.
 */
function findCode({ root, file, manifest }: Contribution, workspace: string): string[] {
  const module = findModulePath(manifest)
  if (module === undefined) return requireFile(workspace, file)
  if (root !== workspace && root !== join(workspace, '.vtcode')) return [root]
  const path = resolve(dirname(file), module)
  const sources = [path, path.replace(/js$/, 'ts')].flatMap((one) => findFile(workspace, one))
  return [...requireFile(workspace, file), ...sources.flatMap((one) => findImports(workspace, one))]
}

/** Returns the members of a manifest that may start programs. */
function pickStarts(manifest: Contribution['manifest']): JsonObject {
  const keys = [...listAdapterKeys(manifest), 'hooks', 'provider', 'language_server', 'env']
  return Object.fromEntries(keys.flatMap((key) => (key in manifest ? [[key, manifest[key]]] : [])))
}

type StartedPart = Pick<TrustItem, 'starts' | 'uncovered'>

/**
 * Returns the programs of a contribution. Throws VT_FILE_STALE if its manifest is not among the consented files, and
 * VT_MANIFEST_LIMIT if a command names a file outside the tree, which could change without a question.
 */
export function requireCovered(contribution: Contribution, agreed: ConsentedFiles): StartedPart {
  requireSame(contribution, agreed)
  const { id, root, file, manifest } = contribution
  const programs = { value: pickStarts(manifest), folders: [dirname(file), root] }
  const { files, sentences } = findStarted(root, programs)
  const paths = Object.values(files).map((real) => relative(root, real))
  const path = paths.find((one) => !Object.hasOwn(agreed.tree.files, one))
  if (path !== undefined)
    throw createTreeError(
      `${id} starts ${path}, which could change without a question. Move the program to another folder.`,
      file,
    )
  return { starts: { ...programs, files }, ...toUncovered(sentences) }
}

/** Throws VT_FILE_STALE if the manifest changed since it was read. */
function requireSame({ root, file, manifestHash }: Contribution, { tree }: ConsentedFiles): void {
  if (manifestHash === undefined) return
  const own = tree.files[relative(root, file)]
  const known = own?.startsWith('link-') ? tree.files[relative(realpathSync(root), realpathSync(file))] : own
  if (known !== manifestHash) throw problem('VT_FILE_STALE', { path: file }, { details: { files: [file] } })
}

/** Returns the item of a settings file in code, with the files that its text names. Throws VT_MANIFEST_LIMIT. */
export function toConfigItem(file: string, workspace: string): TrustItem {
  const id = relative(workspace, file)
  const files = requireFile(workspace, file).flatMap((path) => findImports(workspace, path))
  // Their rules are unknown while they may not run, so they count as a guard of every call.
  return { ...createItem(id, `The settings in ${id}, which are code`, { workspace, files }), guards: [{}] }
}

/** Returns the item of a value of the settings, with the files of the workspace that its commands name directly. */
export function toValueItem(file: string, key: string, value: unknown, workspace: string): TrustItem {
  const id = `${relative(workspace, file)}#${key}`
  const programs = { value: { [key.slice(key.lastIndexOf('.') + 1)]: value }, folders: [workspace, dirname(file)] }
  const title = `'${key}' in ${relative(workspace, file)}`
  const guards = key === 'hooks' && { guards: hasGuardHooks(value) ? [{}] : [] }
  return {
    ...createItem(id, title, { workspace, files: [], data: toCanonicalJson(value), programs }),
    value,
    ...guards,
  }
}

/**
 * Returns the item of a skill with everything in its folder; `shown` are files that are listed too. Throws
 * VT_MANIFEST_LIMIT.
 */
export function toSkillItem(
  folder: string,
  workspace: string,
  shown: string[] = [],
  tree: TreeReader = createTreeReader(),
  contribution?: Contribution,
): TrustItem {
  const path = relative(workspace, folder)
  const agreed = { root: folder, tree: tree(folder) }
  const started = contribution ? { ...requireCovered(contribution, agreed), ...findGuard(contribution, workspace) } : {}
  const title = `The skill in ${path}${shown.length > 0 ? ' and its tools' : ''}`
  return { id: `skill:${path}`, title, files: [folder, ...shown], digest: agreed.tree.digest, agreed, ...started }
}

/** Computes the digest of a set of items, in any order. */
export const computeDigest = (items: readonly TrustItem[]): string =>
  sha256(
    items
      .map(({ id, digest }) => `${id}\0${digest}\n`)
      .sort(compareBytes)
      .join(''),
  )

interface Covered {
  workspace: string
  /** Files and folders with code. */
  files: string[]
  /** Text that counts like the content of a file. */
  data?: string
  programs?: Programs
  tree?: TreeReader
}

function createItem(id: string, title: string, covering: Covered): TrustItem {
  const { workspace, files, data = '', programs, tree = createTreeReader() } = covering
  const started = programs && findStarted(workspace, programs)
  const covered = [...new Set([...files, ...Object.values(started?.files ?? {})])].sort(compareBytes)
  const only = covered.map((path) => relative(workspace, path))
  const agreed = { root: workspace, tree: tree(workspace, only), only }
  const digest = sha256([data, agreed.tree.digest].join('\0'))
  const starts = started && { starts: { ...programs!, files: started.files }, ...toUncovered(started.sentences) }
  return { id, title, files: covered, digest, agreed, ...starts }
}

/** Returns the file at a path, under its name and its real path; nothing if there is no such file in the workspace. */
function findFile(workspace: string, path: string): string[] {
  const real = resolveFileBelow(workspace, path)
  return real === undefined ? [] : [path, real]
}

/** Returns these paths, or throws VT_MANIFEST_LIMIT if there is no such file. */
function requireFile(workspace: string, file: string): string[] {
  const found = findFile(workspace, file)
  if (found.length === 0)
    throw createTreeError(`${file} leads out of ${workspace}. Move the code into the workspace.`, file)
  return found
}

const toUncovered = (uncovered: string[]): Pick<TrustItem, 'uncovered'> =>
  uncovered.length > 0 ? { uncovered: [...new Set(uncovered)] } : {}

/** Adds what another contribution of an item says: its guards, and sentences about what cannot be listed in advance. */
export function joinItems(item: TrustItem, other: Pick<TrustItem, 'guards' | 'uncovered'> = {}): TrustItem {
  const guards = other.guards ? [...other.guards, ...(item.guards ?? [])] : item.guards
  return {
    ...item,
    ...toUncovered([...(other.uncovered ?? []), ...(item.uncovered ?? [])]),
    ...(guards && { guards }),
  }
}

export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => compareBytes(a, b))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${toCanonicalJson(item)}`).join(',')}}`
}
