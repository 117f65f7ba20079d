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
import { dirname, join, relative, resolve } from 'node:path'
import { problem } from '../shapes/index.js'
import { byBytes, inside, makeFolder, sha256 } from '../system/index.js'
import { readBytes } from '../documents/index.js'

const MAX_ENTRIES = 20_000
const MAX_BYTES = 256 * 1_048_576

export const refuse = (text: string, file: string) =>
  problem('VT_MANIFEST_LIMIT', { problem: text }, { details: { files: [file] } })

/** Everything that lies in a folder, by one hash and by path. */
export interface Tree {
  /** `tree1`: sha256 over all files and links, in byte order of their paths. */
  digest: string
  /** Path → `sha256-<base64>` of the content; of a link, `link-sha256-<base64>` of what it says. */
  files: Record<string, string>
}
export interface TreeOptions {
  /** These files, links and folders below the folder instead of everything. */
  only?: readonly string[] | undefined
  /** A folder that gets a copy of the same bytes that are hashed. */
  into?: string
  /** Links that lead out count too, so that a comparison names them. */
  outward?: true
}

export const treeDigest = (root: string): string => readTree(root).digest

/** Reads a folder, or these files and folders below it. */
export type TreeReader = (root: string, only?: readonly string[]) => Tree

/** Trees of folders that are requested repeatedly in one pass; an unreadable folder throws each time. */
export function treesOnce(): TreeReader {
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

/** A module that Python compiled: no program that we start reads one from there (`PYTHONPYCACHEPREFIX`). */
export const isCompiled = (path: string): boolean => /(?:^|\/)__pycache__\/[^/]*\.pyc$/.test(path)

/** What a tree leaves out, because it changes by itself; nothing is started from there (`requireCounted`). */
const isLeftOut = (path: string): boolean => path === '.git' || path.startsWith('.git/') || isCompiled(path)

/**
 * Reads all files and links below a folder, but for `.git` directly in it and what Python compiled. Throws VT_MANIFEST_LIMIT for pipes,
 * devices, links that lead out or to what is left out, names that are equal on other systems, over 20,000 entries or 256 MiB.
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
    if (before !== undefined) throw refuse(`${file} has the same name as another file on systems that fold case.`, file)
    folded.set(fold, path)
    if (stat.isDirectory()) return walk(path)
    const isFile = stat.isFile()
    if (!isFile) requireLink(stat, file, root, outward)
    bytes += stat.size
    if (bytes > MAX_BYTES || records.length >= MAX_ENTRIES) {
      throw refuse(`${root} holds more than ${MAX_ENTRIES} files or ${MAX_BYTES / 1_048_576} MiB.`, root)
    }
    const content = isFile ? readBytes(file, { limit: MAX_BYTES, real: (name) => name }) : readlinkSync(file, 'buffer')
    records.push([path, isFile ? 'f' : 'l', sha256(content)])
    if (into !== undefined) copied(join(into, path), content, isFile ? stat.mode : undefined)
  }
  const walk = (dir: string) => {
    for (const name of readdirSync(join(root, dir))) {
      const path = dir ? `${dir}/${name}` : name
      if (!isLeftOut(path)) take(path)
    }
  }
  if (only) only.forEach(take)
  else walk('')
  return treeOf(records)
}

/** Throws for what is no link, and for a link that leads out of `root` where that is not allowed. */
function requireLink(stat: Stats, file: string, root: string, outward = false): void {
  if (!stat.isSymbolicLink()) throw refuse(`${file} is neither a file nor a link.`, file)
  if (!outward && leadsOut(root, file)) throw refuse(`The link ${file} leads out of ${root}.`, file)
}

function treeOf(records: [path: string, form: 'f' | 'l', hash: string][]): Tree {
  records.sort(([a], [b]) => byBytes(a, b))
  const lines = records.map(([path, form, hash]) => `${form}\0${path}\0${hash}\n`)
  const named = ([path, form, hash]: (typeof records)[number]) =>
    [path, `${form === 'l' ? 'link-' : ''}sha256-${Buffer.from(hash, 'hex').toString('base64')}`] as const
  return { digest: `tree1:sha256-${sha256(lines.join(''), 'base64')}`, files: Object.fromEntries(records.map(named)) }
}

/** Out of the files that count, by what the link says, and by where it ends today. */
function leadsOut(root: string, link: string): boolean {
  const isOut = (folder: string, target: string): boolean =>
    !inside(folder, target) || isLeftOut(relative(folder, target))
  return (
    isOut(root, resolve(dirname(link), readlinkSync(link))) ||
    (existsSync(link) && isOut(realpathSync(root), realpathSync(link)))
  )
}

/** A copy that nobody writes by mistake. */
function copied(file: string, content: Buffer, mode: number | undefined): void {
  makeFolder(dirname(file), 0o700)
  if (mode === undefined) symlinkSync(content.toString(), file)
  else writeFileSync(file, content, { flag: 'wx', mode: (mode & 0o100) === 0 ? 0o400 : 0o500 })
}

/** Returns where the file at a path really lies, if a file lies there, below `root`. */
export function fileIn(root: string, path: string): string | undefined {
  try {
    // Most paths name nothing, and an error costs ten times the answer that nothing is there.
    if (!inside(root, path) || !statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined
    const real = realpathSync.native(path)
    const top = realpathSync.native(root)
    return inside(top, real) ? join(root, relative(top, real)) : undefined
  } catch {
    return undefined
  }
}

/** The hash of a file's content, as a tree names it. */
export const fileHash = (bytes: Uint8Array): string => `sha256-${sha256(bytes, 'base64')}`

/** The identity of a folder: its real path, device and inode. */
export function identityOf(folder: string): string {
  const real = realpathSync(folder)
  const { dev, ino } = statSync(real, { bigint: true })
  return `${real}|${dev}|${ino}`
}
