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
import { inside, makeFolder, sha256 } from '../system/index.js'
import type { AgreedFiles } from './digest.js'
import { readTree } from './tree.js'

/** A copy that no program used for so long is removed. */
const KEPT_MS = 30 * 86_400_000

/** Copies that this process has checked, by folder and digest: their bytes are the agreed ones. */
const checked = new Map<string, string>()

/**
 * The folder with a copy of agreed files, from which alone their code is loaded: in `home`, named by content, for the user alone. A copy is
 * made of bytes that are hashed while they are written, so a file that was replaced since nobody looked is never loaded. Throws VT_FILE_STALE.
 */
export function copyOf(home: string, agreed: AgreedFiles): string {
  const { root, tree, only } = agreed
  const key = `${home}\0${root}\0${tree.digest}`
  const known = checked.get(key)
  if (known !== undefined && existsSync(known)) return known
  const shelf = shelfIn(home)
  const folder = join(shelf, sha256(`${root}\0${tree.digest}`))
  if (!holds(folder, tree.digest)) make(shelf, folder, { root, tree, ...(only && { only }) })
  const now = new Date()
  utimesSync(folder, now, now)
  checked.set(key, folder)
  return folder
}

/** Where a file of agreed files lies in their copy. */
export const inCopy = (copy: string, { root }: AgreedFiles, file: string): string =>
  join(copy, relative(root, inside(root, file) ? file : realpathSync(file)))

let temporary: string | undefined

function shelfIn(home: string): string {
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
    // A home that cannot be written keeps no copy: this process has one for itself.
  }
  if (temporary === undefined) {
    const made = (temporary = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-agreed-'))))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    mkdirSync(join(made, 'agreed'), { mode: 0o700 })
  }
  return join(temporary, 'agreed')
}

function holds(folder: string, digest: string): boolean {
  try {
    return readTree(folder).digest === digest
  } catch {
    return false
  }
}

function make(shelf: string, folder: string, { root, tree, only }: AgreedFiles): void {
  removeOld(shelf)
  const draft = mkdtempSync(join(shelf, '.draft-'))
  try {
    if (readTree(root, { only, into: draft }).digest !== tree.digest)
      throw problem('VT_FILE_STALE', { path: root }, { details: { files: [root] } })
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
  } catch (error) {
    // Another process may have made the same copy meanwhile.
    if (!holds(folder, tree.digest)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function removeOld(shelf: string): void {
  for (const name of readdirSync(shelf)) {
    const stat = statSync(join(shelf, name), { throwIfNoEntry: false })
    if (stat && Date.now() - stat.mtimeMs > KEPT_MS) rmSync(join(shelf, name), { recursive: true, force: true })
  }
}
