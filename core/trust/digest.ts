import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { byBytes, inside, moduleOf, problem, sha256, type Contribution } from '../base/index.js'
import { readBytes } from '../documents/index.js'
import { dataKeys } from '../schema/index.js'

/** One item of a workspace that may run code or change what runs; `digest` changes with every byte of it. */
export interface TrustItem {
  id: string
  title: string
  files: string[]
  digest: string
  /** The part of a settings file that the item covers; the rest of that file does not count. */
  value?: unknown
}

const MAX_FILES = 100
const MAX_ENTRIES = 20_000
const MAX_BYTES = 256 * 1_048_576
/** A contribution with a module, whose text is searched for imports. */
const MAX_SOURCE = 16 * 1_048_576

const refuse = (text: string, file: string) => problem('VT_MANIFEST_LIMIT', { problem: text }, { details: { files: [file] } })

/** Whether a contribution of the workspace runs code or connects. Contributions from the settings were agreed to with them. */
export const needsConsent = (contribution: Contribution): boolean => contribution.layer === 'workspace' && !contribution.said && runsCode(contribution)

/** Every action does, by a module or by an adapter. */
export const runsCode = ({ kind, manifest }: Contribution): boolean => kind === 'action' || ['module', 'provider', 'hooks'].some((key) => key in manifest)

/** A plugin folder as a whole, by the digest that `tree` gives; a loose manifest with its module, its imports and the files its command names. Throws VT_MANIFEST_LIMIT. */
export function itemFor({ id, plugin, layer, root, file, manifest, skill }: Contribution, workspace: string, tree: (root: string) => string): TrustItem {
  if (skill) return itemForSkill(root, workspace)
  if (plugin !== layer) return { id: `plugin:${plugin}`, title: `The plugin ${plugin} in ${root}`, files: [root], digest: tree(root) }
  const main = moduleOf(manifest)
  const module = main === undefined ? [] : closure(resolve(dirname(file), main)).files
  const named = filesIn(dataKeys(manifest).map((key) => manifest[key]), workspace)
  return item(id, `The manifest ${relative(workspace, file)}`, [file, ...module, ...named], workspace)
}

/** A settings file in code with what it imports. Throws VT_CONFIG_INVALID for imports that a workspace may not make. */
export function itemForConfig(file: string, workspace: string): TrustItem {
  const { files, packages } = closure(file)
  const other = packages.find((name) => name !== 'vtcode' && !name.startsWith('vtcode/') && !name.startsWith('node:'))
  const rule = 'settings of a workspace import relative files, vtcode and node: modules only'
  if (other) throw problem('VT_CONFIG_INVALID', { problem: `${file} imports '${other}'; ${rule}.` }, { details: { files: [file] } })
  const id = relative(workspace, file)
  return item(id, `The settings in ${id}, which are code`, files, workspace)
}

/** A value of the settings with the workspace files that it names. */
export function itemForValue(file: string, key: string, value: unknown, workspace: string): TrustItem {
  const id = `${relative(workspace, file)}#${key}`
  return { ...item(id, `'${key}' in ${relative(workspace, file)}`, filesIn(value, workspace), workspace, canonicalJson(value)), value }
}

/** A skill of the workspace with everything in its folder; `shown` are files to look at. Throws VT_MANIFEST_LIMIT. */
export function itemForSkill(folder: string, workspace: string, shown: string[] = []): TrustItem {
  const path = relative(workspace, folder)
  return { id: `skill:${path}`, title: `The skill in ${path}${shown.length > 0 ? ' and the tools it brings' : ''}`, files: [folder, ...shown], digest: treeDigest(folder) }
}

/** The digest of a set of items, whatever their order. */
export const digestOf = (items: readonly TrustItem[]): string =>
  sha256(items.map(({ id, digest }) => `${id}\0${digest}\n`).sort(byBytes).join(''))

function item(id: string, title: string, files: string[], workspace: string, data = ''): TrustItem {
  const unique = [...new Set(files)].sort(byBytes)
  const records = unique.map((file) => `f\0${relative(workspace, file)}\0${contentHash(file)}\n`)
  return { id, title, files: unique, digest: sha256(`${data}\0${records.join('')}`) }
}

/** An absent file has a hash too: when it appears, the importing module has changed. */
function contentHash(file: string): string {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? sha256(readBytes(file, { limit: MAX_BYTES })) : 'absent'
}

const specifier = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"`])([^'"`\n]+)\1/g
const typeOnly = /\b(?:import|export)\s+type\b[^'"`;]*?from\s*(['"`])[^'"`\n]+\1/g

/**
 * A module with the files that it imports by relative path, and the packages that it names; a computed path is not found.
 * Over 100 files throws VT_MANIFEST_LIMIT.
 */
function closure(entry: string): { files: string[]; packages: string[] } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string) => {
    if (files.has(file)) return
    files.add(file)
    if (files.size > MAX_FILES) throw refuse(`${entry} imports more than ${MAX_FILES} files.`, entry)
    if (!/\.[cm]?[jt]sx?$/.test(file) || !statSync(file, { throwIfNoEntry: false })?.isFile()) return
    const text = readBytes(file, { limit: MAX_SOURCE }).toString('utf8').replace(typeOnly, '')
    for (const [, , name] of text.matchAll(specifier)) {
      if (name!.startsWith('.')) for (const target of candidates(resolve(dirname(file), name!))) visit(target)
      else packages.add(name!)
    }
  }
  // The imported name counts even where another file is loaded for it: a file of that name would be loaded instead.
  for (const target of candidates(entry)) visit(target)
  return { files: [...files], packages: [...packages] }
}

function candidates(path: string): string[] {
  const ends = /\.\w+$/.test(path) ? [] : ['.ts', '.mts', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js']
  const others = /\.[cm]?js$/.test(path) ? [path.replace(/js$/, 'ts')] : ends.map((end) => path + end)
  return [path, ...others.filter((other) => statSync(other, { throwIfNoEntry: false })?.isFile())]
}

/** Files of the workspace that the words of a value name. */
function filesIn(value: unknown, workspace: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => filesIn(item, workspace))
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap((item) => filesIn(item, workspace))
  if (typeof value !== 'string') return []
  return value.split(/[\s=:;'"]+/).flatMap((word) => {
    const file = resolve(workspace, word)
    return word && inside(workspace, file) && statSync(file, { throwIfNoEntry: false })?.isFile() ? [file] : []
  })
}

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => byBytes(a, b))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

/** Everything that lies in a folder, by one hash and by path. */
export interface Tree {
  /** `tree1`: sha256 over all files and links, in byte order of their paths. */
  digest: string
  /** Path → `sha256-<base64>` of the content; of a link, `link-sha256-<base64>` of what it says. */
  files: Record<string, string>
}

export const treeDigest = (root: string): string => readTree(root).digest

/** Digests of folders that are requested repeatedly in one pass; an unreadable folder throws each time. */
export function treesOnce(): (root: string) => string {
  const known = new Map<string, string | { error: unknown }>()
  return (root) => {
    let digest = known.get(root)
    if (digest === undefined) {
      try {
        digest = treeDigest(root)
      } catch (error) {
        digest = { error }
      }
      known.set(root, digest)
    }
    if (typeof digest === 'object') throw digest.error
    return digest
  }
}

/**
 * Reads all files and links below a folder except `.git`. Throws VT_MANIFEST_LIMIT for pipes, devices, names that are equal on
 * other systems, over 20,000 entries or 256 MiB.
 */
export function readTree(root: string): Tree {
  const records: [path: string, form: 'f' | 'l', hash: string][] = []
  const folded = new Set<string>()
  let bytes = 0
  const walk = (dir: string) => {
    for (const name of readdirSync(join(root, dir))) {
      if (name === '.git') continue
      const path = dir ? `${dir}/${name}` : name
      const file = join(root, path)
      const stat = lstatSync(file)
      const fold = path.normalize('NFC').toLowerCase()
      if (folded.has(fold)) throw refuse(`${file} has the same name as another file on systems that fold case.`, file)
      folded.add(fold)
      if (stat.isDirectory()) {
        walk(path)
        continue
      }
      if (!stat.isFile() && !stat.isSymbolicLink()) throw refuse(`${file} is neither a file nor a link.`, file)
      bytes += stat.size
      if (bytes > MAX_BYTES || records.length >= MAX_ENTRIES) {
        throw refuse(`${root} holds more than ${MAX_ENTRIES} files or ${MAX_BYTES / 1_048_576} MiB.`, root)
      }
      records.push(stat.isFile() ? [path, 'f', sha256(readFileSync(file))] : [path, 'l', sha256(readlinkSync(file, 'buffer'))])
    }
  }
  walk('')
  records.sort(([a], [b]) => byBytes(a, b))
  const lines = records.map(([path, form, hash]) => `${form}\0${path}\0${hash}\n`)
  const named = ([path, form, hash]: (typeof records)[number]) => [path, `${form === 'l' ? 'link-' : ''}sha256-${Buffer.from(hash, 'hex').toString('base64')}`] as const
  return { digest: `tree1:sha256-${sha256(lines.join(''), 'base64')}`, files: Object.fromEntries(records.map(named)) }
}

/** The identity of a folder: its real path, device and inode. */
export function identityOf(folder: string): string {
  const real = realpathSync(folder)
  const { dev, ino } = statSync(real, { bigint: true })
  return `${real}|${dev}|${ino}`
}
