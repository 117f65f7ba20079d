import { lstatSync, realpathSync, type BigIntStats } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { byBytes, isObject, moduleOf, problem, sha256, type Contribution } from '../base/index.js'
import { dataKeys } from '../schema/index.js'
import { addModule } from './closure.js'
import { FileSet } from './file_set.js'
import { addPrograms, workingFolders } from './programs.js'
import { readTree, refuse, type Tree } from './tree.js'

/** Files that were agreed to, as they stood: what is loaded is a copy with this digest. */
export interface AgreedFiles {
  root: string
  tree: Tree
  /** The files and links that belong to it, where it is not the folder whole. */
  only?: readonly string[]
  /** Names that would belong to it if something lay there. */
  absent?: readonly string[]
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
  /** Sentences about what it may run and nobody can show beforehand. */
  uncovered?: string[]
}

/** Whether a contribution of the workspace runs code or connects. Contributions from the settings were agreed to with them. */
export const needsConsent = (contribution: Contribution): boolean => contribution.layer === 'workspace' && !contribution.said && runsCode(contribution)

/** Every action does, by a module or by an adapter. */
export const runsCode = ({ kind, manifest }: Contribution): boolean => kind === 'action' || ['module', 'provider', 'hooks'].some((key) => key in manifest)

/**
 * A plugin folder as a whole, by what `tree` reads; a loose manifest, as it is used, with its module, its imports and the files its command
 * names. Throws VT_MANIFEST_LIMIT, and VT_FILE_STALE where the manifest was another one when it was read.
 */
export function itemFor(contribution: Contribution, workspace: string, tree: (root: string) => Tree): TrustItem {
  const { id, plugin, layer, root, file, manifest, skill } = contribution
  if (skill) return itemForSkill(root, workspace, [], tree, contribution)
  if (plugin !== layer) {
    const agreed = { root, tree: tree(root) }
    const uncovered = requireCovered(contribution, agreed)
    return { id: `plugin:${plugin}`, title: `The plugin ${plugin} in ${root}`, files: [root], digest: agreed.tree.digest, agreed, ...notes(uncovered) }
  }
  const set = new FileSet(workspace)
  set.file(file)
  const main = moduleOf(manifest)
  if (main !== undefined) addModule(set, resolve(dirname(file), main))
  return item(id, `The manifest ${relative(workspace, file)}`, set, canonicalJson(manifest), addStarted(set, contribution, [dirname(file), root, workspace]))
}

/** Adds the files of the programs that a manifest starts. Answers what of them nobody can show beforehand. */
function addStarted(set: FileSet, { manifest }: Contribution, bases: string[]): string[] {
  const starts = Object.fromEntries([...dataKeys(manifest), 'hooks', 'provider', 'env'].flatMap((key) => (key in manifest ? [[key, manifest[key]]] : [])))
  return addPrograms(set, starts, [...bases, ...workingFolders(starts, bases)])
}

/**
 * The manifest that is used is the one among the files of its folder, and so is whatever its words say that it starts: what a tree leaves out
 * would run changed without a question. Answers what nobody can show beforehand. Throws VT_FILE_STALE, VT_MANIFEST_LIMIT.
 */
export function requireCovered(contribution: Contribution, agreed: AgreedFiles): string[] {
  requireSame(contribution, agreed)
  const { id, root, file } = contribution
  const set = new FileSet(root)
  const uncovered = addStarted(set, contribution, [dirname(file), root])
  const path = set.paths.find((one) => !Object.hasOwn(agreed.tree.files, one))
  if (path !== undefined) throw refuse(`${id} starts ${path}, which could change without anybody being asked; such a program lies in another folder.`, file)
  return uncovered
}

/** Throws VT_FILE_STALE. */
function requireSame({ root, file, read }: Contribution, { tree }: AgreedFiles): void {
  if (read === undefined) return
  const own = tree.files[relative(root, file)]
  const known = own?.startsWith('link-') ? tree.files[relative(realpathSync(root), realpathSync(file))] : own
  if (known !== read) throw problem('VT_FILE_STALE', { path: file }, { details: { files: [file] } })
}

/** A settings file in code with what it imports. Throws VT_CONFIG_INVALID for imports that a workspace may not make. */
export function itemForConfig(file: string, workspace: string): TrustItem {
  const set = new FileSet(workspace)
  const other = addModule(set, file).find((name) => name !== 'vtcode' && name !== 'vtcode/test')
  const rule = 'settings of a workspace import relative files, vtcode and node: modules only'
  if (other) throw problem('VT_CONFIG_INVALID', { problem: `${file} imports '${other}'; ${rule}.` }, { details: { files: [file] } })
  const id = relative(workspace, file)
  return item(id, `The settings in ${id}, which are code`, set)
}

/** A value of the settings with the workspace files that it names. */
export function itemForValue(file: string, key: string, value: unknown, workspace: string): TrustItem {
  const id = `${relative(workspace, file)}#${key}`
  const set = new FileSet(workspace)
  const bases = [workspace, dirname(file)]
  const uncovered = addPrograms(set, { [key.slice(key.lastIndexOf('.') + 1)]: value }, [...bases, ...workingFolders(value, bases)])
  return { ...item(id, `'${key}' in ${relative(workspace, file)}`, set, canonicalJson(value), uncovered), value }
}

/** A skill of the workspace with everything in its folder; `shown` are files to look at. Throws VT_MANIFEST_LIMIT. */
export function itemForSkill(folder: string, workspace: string, shown: string[] = [], tree: (root: string) => Tree = readTree, contribution?: Contribution): TrustItem {
  const path = relative(workspace, folder)
  const agreed = { root: folder, tree: tree(folder) }
  const uncovered = contribution ? requireCovered(contribution, agreed) : []
  return { id: `skill:${path}`, title: `The skill in ${path}${shown.length > 0 ? ' and the tools it brings' : ''}`, files: [folder, ...shown], digest: agreed.tree.digest, agreed, ...notes(uncovered) }
}

/** The digest of a set of items, whatever their order. */
export const digestOf = (items: readonly TrustItem[]): string =>
  sha256(items.map(({ id, digest }) => `${id}\0${digest}\n`).sort(byBytes).join(''))

function item(id: string, title: string, set: FileSet, data = '', uncovered: string[] = []): TrustItem {
  const agreed = { root: set.root, tree: readTree(set.root, { only: set.paths }), only: set.paths, absent: set.absent }
  // An absent name counts too: when a file appears there, it would be loaded.
  const digest = sha256([data, agreed.tree.digest, ...set.absent.sort(byBytes)].join('\0'))
  return { id, title, files: set.shown.sort(byBytes), digest, agreed, ...notes(uncovered) }
}

/**
 * How the files of an item stand, by a look at their names: as long as this stays the same, so does the item. What is loaded are the bytes
 * that were agreed to in any case; this decides whether somebody is asked anew. Of a folder that counts whole nothing is said.
 */
export function standingOf({ agreed }: TrustItem): string | undefined {
  if (!agreed?.only) return undefined
  const { root, only, absent = [] } = agreed
  return [...only, ...absent].map((path) => stampOf(lstatSync(join(root, path), { bigint: true, throwIfNoEntry: false }))).join()
}
const stampOf = (stat: BigIntStats | undefined): string => (stat ? `${stat.dev}.${stat.ino}.${stat.size}.${stat.mtimeNs}.${stat.ctimeNs}` : '-')

const notes = (uncovered: string[]): Pick<TrustItem, 'uncovered'> => (uncovered.length > 0 ? { uncovered: [...new Set(uncovered)] } : {})

/** An item with further sentences about what nobody can show of it beforehand. */
export const withSentences = (item: TrustItem, sentences: readonly string[] = []): TrustItem => ({ ...item, ...notes([...sentences, ...(item.uncovered ?? [])]) })

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => byBytes(a, b))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}
