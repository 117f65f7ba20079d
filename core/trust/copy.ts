import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { problem } from '../shapes/index.js'
import { isInside, makeFolder, sha256 } from '../system/index.js'
import type { ConsentedFiles } from './digest.js'
import { readTree } from './tree.js'

/** A copy that was unused for so long is removed. */
const UNUSED_MS = 30 * 86_400_000

/** Copies that this process has checked, by folder and digest: their bytes have the consented digest. */
const checked = new Map<string, string>()

/**
 * Returns the folder with a copy of consented files; their code is loaded from there only. The copy is in `home`, named
 * by content, for the user alone. Bytes are hashed while they are copied, so a file that was replaced meanwhile is
 * never loaded. Throws VT_FILE_STALE.
 */
export function copyConsentedFiles(home: string, agreed: ConsentedFiles): string {
  const { root, tree, only } = agreed
  const key = `${home}\0${root}\0${tree.digest}`
  const known = checked.get(key)
  if (known !== undefined && existsSync(known)) return known
  const shelf = openCopiesFolder(home)
  const folder = join(shelf, sha256(`${root}\0${tree.digest}`))
  if (!hasDigest(folder, tree.digest)) createCopy(shelf, folder, { root, tree, ...(only && { only }) })
  const now = new Date()
  utimesSync(folder, now, now)
  checked.set(key, folder)
  return folder
}

/** Returns the path of a file in the copy. */
export const toCopyPath = (copy: string, { root }: ConsentedFiles, file: string): string =>
  join(copy, relative(root, isInside(root, file) ? file : realpathSync(file)))

let temporary: string | undefined

function openCopiesFolder(home: string): string {
  const shelf = join(home, 'agreed')
  try {
    makeFolder(shelf, 0o700)
    const { uid, mode } = lstatSync(shelf)
    if (
      (process.getuid === undefined || uid === process.getuid()) &&
      (mode & 0o022) === 0 &&
      lstatSync(shelf).isDirectory()
    )
      return realpathSync(shelf)
  } catch {
    // A home that cannot be written holds no copy: this process uses a temporary one.
  }
  if (temporary === undefined) {
    const made = (temporary = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-agreed-'))))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    mkdirSync(join(made, 'agreed'), { mode: 0o700 })
  }
  return join(temporary, 'agreed')
}

function hasDigest(folder: string, digest: string): boolean {
  try {
    return readTree(folder).digest === digest
  } catch {
    return false
  }
}

function createCopy(shelf: string, folder: string, { root, tree, only }: ConsentedFiles): void {
  removeUnusedCopies(shelf)
  const draft = mkdtempSync(join(shelf, '.draft-'))
  try {
    if (readTree(root, { only, into: draft }).digest !== tree.digest)
      throw problem('VT_FILE_STALE', { path: root }, { details: { files: [root] } })
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
  } catch (error) {
    // Another process may have created the same copy meanwhile.
    if (!hasDigest(folder, tree.digest)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function removeUnusedCopies(shelf: string): void {
  for (const name of readdirSync(shelf)) {
    const stat = statSync(join(shelf, name), { throwIfNoEntry: false })
    if (stat && Date.now() - stat.mtimeMs > UNUSED_MS) rmSync(join(shelf, name), { recursive: true, force: true })
  }
}
