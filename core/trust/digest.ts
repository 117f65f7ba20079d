import { realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isObject, problem, type Contribution, type JsonObject } from '../shapes/index.js'
import { byBytes, moduleOf, sha256 } from '../system/index.js'
import { dataKeys } from '../schema/index.js'
import { findImports } from './imports.js'
import { findStarted, type Programs, type Started } from './programs.js'
import { fileIn, refuse, treesOnce, type Tree, type TreeReader } from './tree.js'

/** Files that were agreed to, as they stood: what is loaded is a copy with this digest. */
export interface AgreedFiles {
  root: string
  tree: Tree
  /** The files, links and folders that belong to it, where it is not the folder whole. */
  only?: readonly string[]
}

/** One item of a workspace that may run code or change what runs; `digest` changes with every byte of it. */
export interface TrustItem {
  id: string
  title: string
  files: string[]
  digest: string
  /** The part of a settings file that the item covers; the rest of that file does not count. */
  value?: unknown
  agreed?: AgreedFiles
  /** The programs that it starts, with the files of theirs as they were named. */
  starts?: Programs & Pick<Started, 'files'>
  /** Sentences about what it may run and nobody can show beforehand. */
  uncovered?: string[]
}

/** Whether a contribution of the workspace runs code or connects. Contributions from the settings were agreed to with them. */
export const needsConsent = (contribution: Contribution): boolean =>
  contribution.layer === 'workspace' && !contribution.said && runsCode(contribution)

/** Every action does, by a module or by an adapter. */
export const runsCode = ({ kind, manifest }: Contribution): boolean =>
  kind === 'action' || ['module', 'provider', 'hooks'].some((key) => key in manifest)

/**
 * Returns the item of a contribution: the folder of its plugin as a whole, or a loose manifest with its code and the
 * files that its commands name directly. Throws VT_MANIFEST_LIMIT, and VT_FILE_STALE where the manifest changed since
 * it was read.
 */
export function itemFor(contribution: Contribution, workspace: string, tree: TreeReader): TrustItem {
  const { id, plugin, layer, root, file, manifest, skill } = contribution
  if (skill) return itemForSkill(root, workspace, [], tree, contribution)
  if (plugin !== layer) {
    const agreed = { root, tree: tree(root) }
    const title = `The plugin ${plugin} in ${root}`
    const started = requireCovered(contribution, agreed)
    return { id: `plugin:${plugin}`, title, files: [root], digest: agreed.tree.digest, agreed, ...started }
  }
  const files = findCode(contribution, workspace)
  const data = canonicalJson(manifest)
  const programs = { value: pickStarts(manifest), folders: [workspace, dirname(file), root] }
  return item(id, `The manifest ${relative(workspace, file)}`, { workspace, files, data, programs, tree })
}

/**
 * Returns the files and folders with the code of a loose manifest. Its module lies in the folder that the settings
 * name, so this folder counts whole. The workspace itself and its `.vtcode` hold everything else too: there only the manifest
 * counts, and its module with the files that its text names.
 */
function findCode({ root, file, manifest }: Contribution, workspace: string): string[] {
  const module = moduleOf(manifest)
  if (module === undefined) return requireFile(workspace, file)
  if (root !== workspace && root !== join(workspace, '.vtcode')) return [root]
  const path = resolve(dirname(file), module)
  const sources = [path, path.replace(/js$/, 'ts')].flatMap((one) => findFile(workspace, one))
  return [...requireFile(workspace, file), ...sources.flatMap((one) => findImports(workspace, one))]
}

/** Returns the members of a manifest that may start programs. */
function pickStarts(manifest: Contribution['manifest']): JsonObject {
  const keys = [...dataKeys(manifest), 'hooks', 'provider', 'env']
  return Object.fromEntries(keys.flatMap((key) => (key in manifest ? [[key, manifest[key]]] : [])))
}

type StartedPart = Pick<TrustItem, 'starts' | 'uncovered'>

/**
 * Returns what a contribution starts. Throws VT_FILE_STALE where its manifest is not the one among the agreed files,
 * and VT_MANIFEST_LIMIT where a command names a file that a tree leaves out: it would run changed without a question.
 */
export function requireCovered(contribution: Contribution, agreed: AgreedFiles): StartedPart {
  requireSame(contribution, agreed)
  const { id, root, file, manifest } = contribution
  const programs = { value: pickStarts(manifest), folders: [dirname(file), root] }
  const { files, sentences } = findStarted(root, programs)
  const paths = Object.values(files).map((real) => relative(root, real))
  const path = paths.find((one) => !Object.hasOwn(agreed.tree.files, one))
  if (path !== undefined)
    throw refuse(
      `${id} starts ${path}, which could change without anybody being asked; such a program lies in another folder.`,
      file,
    )
  return { starts: { ...programs, files }, ...notes(sentences) }
}

/** Throws VT_FILE_STALE. */
function requireSame({ root, file, read }: Contribution, { tree }: AgreedFiles): void {
  if (read === undefined) return
  const own = tree.files[relative(root, file)]
  const known = own?.startsWith('link-') ? tree.files[relative(realpathSync(root), realpathSync(file))] : own
  if (known !== read) throw problem('VT_FILE_STALE', { path: file }, { details: { files: [file] } })
}

/** Returns the item of a settings file in code, with the files that its text names. Throws VT_MANIFEST_LIMIT. */
export function itemForConfig(file: string, workspace: string): TrustItem {
  const id = relative(workspace, file)
  const files = requireFile(workspace, file).flatMap((path) => findImports(workspace, path))
  return item(id, `The settings in ${id}, which are code`, { workspace, files })
}

/** Returns the item of a value of the settings, with the files of the workspace that its commands name directly. */
export function itemForValue(file: string, key: string, value: unknown, workspace: string): TrustItem {
  const id = `${relative(workspace, file)}#${key}`
  const programs = { value: { [key.slice(key.lastIndexOf('.') + 1)]: value }, folders: [workspace, dirname(file)] }
  const title = `'${key}' in ${relative(workspace, file)}`
  return { ...item(id, title, { workspace, files: [], data: canonicalJson(value), programs }), value }
}

/** A skill of the workspace with everything in its folder; `shown` are files to look at. Throws VT_MANIFEST_LIMIT. */
export function itemForSkill(
  folder: string,
  workspace: string,
  shown: string[] = [],
  tree: TreeReader = treesOnce(),
  contribution?: Contribution,
): TrustItem {
  const path = relative(workspace, folder)
  const agreed = { root: folder, tree: tree(folder) }
  const started = contribution ? requireCovered(contribution, agreed) : {}
  const title = `The skill in ${path}${shown.length > 0 ? ' and the tools it brings' : ''}`
  return { id: `skill:${path}`, title, files: [folder, ...shown], digest: agreed.tree.digest, agreed, ...started }
}

/** The digest of a set of items, whatever their order. */
export const digestOf = (items: readonly TrustItem[]): string =>
  sha256(
    items
      .map(({ id, digest }) => `${id}\0${digest}\n`)
      .sort(byBytes)
      .join(''),
  )

interface Covered {
  workspace: string
  /** Files and folders with code. */
  files: string[]
  /** Text that counts like a file. */
  data?: string
  programs?: Programs
  tree?: TreeReader
}

function item(id: string, title: string, covering: Covered): TrustItem {
  const { workspace, files, data = '', programs, tree = treesOnce() } = covering
  const started = programs && findStarted(workspace, programs)
  const covered = [...new Set([...files, ...Object.values(started?.files ?? {})])].sort(byBytes)
  const only = covered.map((path) => relative(workspace, path))
  const agreed = { root: workspace, tree: tree(workspace, only), only }
  const digest = sha256([data, agreed.tree.digest].join('\0'))
  const starts = started && { starts: { ...programs!, files: started.files }, ...notes(started.sentences) }
  return { id, title, files: covered, digest, agreed, ...starts }
}

/** Returns the file at a path by its name and where it really lies; nothing where no file of the workspace does. */
function findFile(workspace: string, path: string): string[] {
  const real = fileIn(workspace, path)
  return real === undefined ? [] : [path, real]
}

/** The same. Throws VT_MANIFEST_LIMIT where no file lies there. */
function requireFile(workspace: string, file: string): string[] {
  const found = findFile(workspace, file)
  if (found.length === 0) throw refuse(`${file} leads out of ${workspace}; code that is agreed to lies below it.`, file)
  return found
}

const notes = (uncovered: string[]): Pick<TrustItem, 'uncovered'> =>
  uncovered.length > 0 ? { uncovered: [...new Set(uncovered)] } : {}

/** An item with further sentences about what nobody can show of it beforehand. */
export const withSentences = (item: TrustItem, sentences: readonly string[] = []): TrustItem => ({
  ...item,
  ...notes([...sentences, ...(item.uncovered ?? [])]),
})

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => byBytes(a, b))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}
