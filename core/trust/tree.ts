import {
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { problem, type Contribution } from '../shapes/index.js'
import { compareBytes, isInside, makeFolder, sha256, toRealPath } from '../system/index.js'
import { readBytes } from '../documents/index.js'

const MAX_ENTRIES = 20_000
const MAX_BYTES = 256 * 1_048_576

export const createTreeError = (text: string, file: string) =>
  problem('VT_MANIFEST_LIMIT', { problem: text }, { details: { files: [file] } })

/** The content of a folder, as one hash and by path. */
export interface Tree {
  /** `tree1`: sha256 over all files and links, in byte order of their paths. */
  digest: string
  /** Path → `sha256-<base64>` of the content; of a link, `link-sha256-<base64>` of its target text. */
  files: Record<string, string>
}
export interface TreeOptions {
  /** Only these files, links and folders below the folder; default: everything. */
  only?: readonly string[] | undefined
  /** A folder for a copy of the hashed bytes. */
  into?: string
  /** Accepts links that lead out, so that a comparison names them. */
  outward?: true
}

export const readTreeDigest = (root: string): string => readTree(root).digest

/** Reads a folder, or these files and folders below it. */
export type TreeReader = (root: string, only?: readonly string[]) => Tree

/** Creates a reader that reads each folder once; an unreadable folder throws each time. */
export function createTreeReader(): TreeReader {
  const known = new Map<string, Tree | { error: unknown }>()
  return (root, only) => {
    const key = JSON.stringify([root, only])
    let tree = known.get(key)
    if (tree === undefined) {
      try {
        tree = readTree(root, { only })
      } catch (error) {
        tree = { error }
      }
      known.set(key, tree)
    }
    if ('error' in tree) throw tree.error
    return tree
  }
}

/**
 * Returns whether a path is a module that Python compiled: programs of ours read none from there
 * (`PYTHONPYCACHEPREFIX`).
 */
export const isCompiled = (path: string): boolean => /(?:^|\/)__pycache__\/[^/]*\.pyc$/.test(path)

/**
 * Returns whether a tree leaves a path out because it changes by itself; no program starts from there
 * (`requireCovered`).
 */
const isLeftOut = (path: string): boolean => path === '.git' || path.startsWith('.git/') || isCompiled(path)

/**
 * Reads all files and links below a folder, except `.git` directly in it and files that Python compiled. Throws
 * VT_MANIFEST_LIMIT for pipes, devices, links that lead out or to excluded files, names that are equal on other
 * systems, over 20,000 entries or 256 MiB.
 */
export function readTree(root: string, { only, into, outward }: TreeOptions = {}): Tree {
  const records: [path: string, form: 'f' | 'l', hash: string][] = []
  const folded = new Map<string, string>()
  let bytes = 0
  const take = (path: string) => {
    const file = join(root, path)
    const stat = lstatSync(file)
    const fold = path.normalize('NFC').toLowerCase()
    const before = folded.get(fold)
    if (before === path) return
    if (before !== undefined)
      throw createTreeError(`${file} has the same name as another file on systems that fold case.`, file)
    folded.set(fold, path)
    if (stat.isDirectory()) return walk(path)
    const isFile = stat.isFile()
    if (!isFile) requireLink(stat, file, root, outward)
    bytes += stat.size
    if (bytes > MAX_BYTES || records.length >= MAX_ENTRIES) {
      throw createTreeError(`${root} holds more than ${MAX_ENTRIES} files or ${MAX_BYTES / 1_048_576} MiB.`, root)
    }
    const content = isFile ? readBytes(file, { limit: MAX_BYTES, real: (name) => name }) : readlinkSync(file, 'buffer')
    records.push([path, isFile ? 'f' : 'l', sha256(content)])
    if (into !== undefined) writeCopy(join(into, path), content, isFile ? stat.mode : undefined)
  }
  const walk = (dir: string) => {
    for (const name of readdirSync(join(root, dir))) {
      const path = dir ? `${dir}/${name}` : name
      if (!isLeftOut(path)) take(path)
    }
  }
  if (only) only.forEach(take)
  else walk('')
  return toTree(records)
}

/** Throws for anything but a link, and for a link that leads out of `root` unless allowed. */
function requireLink(stat: Stats, file: string, root: string, outward = false): void {
  if (!stat.isSymbolicLink()) throw createTreeError(`${file} is neither a file nor a link.`, file)
  if (!outward && leadsOut(root, file)) throw createTreeError(`The link ${file} leads out of ${root}.`, file)
}

function toTree(records: [path: string, form: 'f' | 'l', hash: string][]): Tree {
  records.sort(([a], [b]) => compareBytes(a, b))
  const lines = records.map(([path, form, hash]) => `${form}\0${path}\0${hash}\n`)
  const toEntry = ([path, form, hash]: (typeof records)[number]) =>
    [path, `${form === 'l' ? 'link-' : ''}sha256-${Buffer.from(hash, 'hex').toString('base64')}`] as const
  return { digest: `tree1:sha256-${sha256(lines.join(''), 'base64')}`, files: Object.fromEntries(records.map(toEntry)) }
}

/** Returns whether a link leads out of the counted files, by its text or by its present target. */
function leadsOut(root: string, link: string): boolean {
  const isOut = (folder: string, target: string): boolean =>
    !isInside(folder, target) || isLeftOut(relative(folder, target))
  return (
    isOut(root, resolve(dirname(link), readlinkSync(link))) ||
    (existsSync(link) && isOut(realpathSync(root), realpathSync(link)))
  )
}

/** Writes a read-only copy of a file or a link. */
function writeCopy(file: string, content: Buffer, mode: number | undefined): void {
  makeFolder(dirname(file), 0o700)
  if (mode === undefined) symlinkSync(content.toString(), file)
  else writeFileSync(file, content, { flag: 'wx', mode: (mode & 0o100) === 0 ? 0o400 : 0o500 })
}

/** Returns the real path of a file below `root`; nothing if there is no such file. */
export function resolveFileBelow(root: string, path: string): string | undefined {
  try {
    // Most paths name no file, and an error costs ten times as much as this check.
    if (!isInside(root, path) || !statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined
    const real = realpathSync.native(path)
    const top = realpathSync.native(root)
    return isInside(top, real) ? join(root, relative(top, real)) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns whether an absolute path of a plugin of the workspace names a file of the workspace that the consent to the
 * plugin does not cover. The consent to a loose manifest covers the files that its commands name.
 */
export const isUncovered = (
  path: string,
  { layer, plugin, root }: Pick<Contribution, 'layer' | 'plugin' | 'root'>,
  workspace: string,
): boolean =>
  layer === 'workspace' &&
  plugin !== layer &&
  isAbsolute(path) &&
  isInside(realpathSync(workspace), toRealPath(path)) &&
  !isInside(realpathSync(root), toRealPath(path))

/** Returns the hash of a file's content, in the form of a tree. */
export const hashContent = (bytes: Uint8Array): string => `sha256-${sha256(bytes, 'base64')}`

/** Returns the identity of a folder: its real path, device and inode. */
export function readIdentity(folder: string): string {
  const real = realpathSync(folder)
  const { dev, ino } = statSync(real, { bigint: true })
  return `${real}|${dev}|${ino}`
}
