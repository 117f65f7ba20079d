import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { byBytes, inside, makeFolder, problem, sha256 } from '../base/index.js'
import { readBytes } from '../documents/index.js'

const MAX_ENTRIES = 20_000
const MAX_BYTES = 256 * 1_048_576

export const refuse = (text: string, file: string) => problem('VT_MANIFEST_LIMIT', { problem: text }, { details: { files: [file] } })

/** Everything that lies in a folder, by one hash and by path. */
export interface Tree {
  /** `tree1`: sha256 over all files and links, in byte order of their paths. */
  digest: string
  /** Path → `sha256-<base64>` of the content; of a link, `link-sha256-<base64>` of what it says. */
  files: Record<string, string>
}
export interface TreeOptions {
  /** These files and links below the folder instead of everything. */
  only?: readonly string[] | undefined
  /** A folder that gets a copy of the same bytes that are hashed. */
  into?: string
  /** Links that lead out count too, so that a comparison names them. */
  outward?: true
}

export const treeDigest = (root: string): string => readTree(root).digest

/** Trees of folders that are requested repeatedly in one pass; an unreadable folder throws each time. */
export function treesOnce(): (root: string) => Tree {
  const known = new Map<string, Tree | { error: unknown }>()
  return (root) => {
    let tree = known.get(root)
    if (tree === undefined) {
      try {
        tree = readTree(root)
      } catch (error) {
        tree = { error }
      }
      known.set(root, tree)
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
  const folded = new Set<string>()
  let bytes = 0
  const take = (path: string) => {
    const file = join(root, path)
    const stat = lstatSync(file)
    const fold = path.normalize('NFC').toLowerCase()
    if (folded.has(fold)) throw refuse(`${file} has the same name as another file on systems that fold case.`, file)
    folded.add(fold)
    if (stat.isDirectory()) return walk(path)
    if (!stat.isFile() && !stat.isSymbolicLink()) throw refuse(`${file} is neither a file nor a link.`, file)
    if (stat.isSymbolicLink() && !outward && leadsOut(root, file)) throw refuse(`The link ${file} leads out of ${root}.`, file)
    bytes += stat.size
    if (bytes > MAX_BYTES || records.length >= MAX_ENTRIES) {
      throw refuse(`${root} holds more than ${MAX_ENTRIES} files or ${MAX_BYTES / 1_048_576} MiB.`, root)
    }
    const content = stat.isFile() ? readBytes(file, { limit: MAX_BYTES, real: (name) => name }) : readlinkSync(file, 'buffer')
    records.push([path, stat.isFile() ? 'f' : 'l', sha256(content)])
    if (into !== undefined) copied(join(into, path), content, stat.isFile() ? stat.mode : undefined)
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

function treeOf(records: [path: string, form: 'f' | 'l', hash: string][]): Tree {
  records.sort(([a], [b]) => byBytes(a, b))
  const lines = records.map(([path, form, hash]) => `${form}\0${path}\0${hash}\n`)
  const named = ([path, form, hash]: (typeof records)[number]) => [path, `${form === 'l' ? 'link-' : ''}sha256-${Buffer.from(hash, 'hex').toString('base64')}`] as const
  return { digest: `tree1:sha256-${sha256(lines.join(''), 'base64')}`, files: Object.fromEntries(records.map(named)) }
}

/** Out of the files that count, by what the link says, and by where it ends today. */
function leadsOut(root: string, link: string): boolean {
  const isOut = (folder: string, target: string): boolean => !inside(folder, target) || isLeftOut(relative(folder, target))
  return isOut(root, resolve(dirname(link), readlinkSync(link))) || (existsSync(link) && isOut(realpathSync(root), realpathSync(link)))
}

/** A copy that nobody writes by mistake. */
function copied(file: string, content: Buffer, mode: number | undefined): void {
  makeFolder(dirname(file), 0o700)
  if (mode === undefined) symlinkSync(content.toString(), file)
  else writeFileSync(file, content, { flag: 'wx', mode: (mode & 0o100) === 0 ? 0o400 : 0o500 })
}

/** The hash of a file's content, as a tree names it. */
export const fileHash = (bytes: Uint8Array): string => `sha256-${sha256(bytes, 'base64')}`

/** The identity of a folder: its real path, device and inode. */
export function identityOf(folder: string): string {
  const real = realpathSync(folder)
  const { dev, ino } = statSync(real, { bigint: true })
  return `${real}|${dev}|${ino}`
}
