import {
  closeSync,
  constants,
  fstatSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Manifest } from '../shapes/index.js'
import { inside, makeFolder, programFile, sha256, version, writeStateSync } from '../system/index.js'

/**
 * Files that were read and checked without a fault before, by the digest of their bytes: an unchanged file is not checked again. JSON and
 * YAML are kept apart, because they take different texts. Of settings, which may be private, only the digest is kept.
 */
export interface ParseCache {
  get<S extends Sort>(sort: S, bytes: Uint8Array): Kept[S] | undefined
  put<S extends Sort>(sort: S, bytes: Uint8Array, value: Kept[S]): void
  /** Keeps new entries for the next program. A cache that cannot be written costs a new check, nothing else. */
  save(): void
}

interface Kept {
  json: Manifest
  yaml: Manifest
  settings_json: true
  settings_yaml: true
}
export type Sort = keyof Kept
const letters: Record<Sort, string> = { json: 'j', yaml: 'y', settings_json: 's', settings_yaml: 't' }

/** The largest size of the cache file; the most recently used entries are kept. */
const LIMIT = 4 * 1_048_576
/** The number of entries held while a program runs. */
const HELD = 10_000

const shelves = new Map<string, ParseCache>()

/** The cache of a user, whose `.vtcode` folder is `home`. A cache inside the workspace is not used, because other people may have written it. */
export function openShelf(home: string, workspace: string): ParseCache | undefined {
  if (inside(workspace, home) || (existsSync(home) && inside(workspace, realpathSync(home)))) return undefined
  if (!shelves.has(home)) shelves.set(home, makeShelf(join(home, 'cache', 'manifests')))
  return shelves.get(home)
}

function makeShelf(path: string): ParseCache {
  const known = new Map<string, unknown>()
  let lines: Map<string, string> | undefined
  let added = false
  const keyOf = (sort: Sort, bytes: Uint8Array) => sha256(bytes) + letters[sort]
  return {
    get<S extends Sort>(sort: S, bytes: Uint8Array) {
      const key = keyOf(sort, bytes)
      if (known.has(key)) return known.get(key) as Kept[S]
      lines ??= read(path)
      const line = lines.get(key)
      if (line === undefined) return undefined
      const value = JSON.parse(line) as Kept[S]
      known.set(key, value)
      return value
    },
    put(sort, bytes, value) {
      if (known.size >= HELD) known.clear()
      known.set(keyOf(sort, bytes), value)
      added = true
    },
    save() {
      if (!added) return
      added = false
      const used = [...known].map(([key, value]) => [key, JSON.stringify(value)] as const)
      write(path, new Map([...used, ...(lines ?? [])]))
    },
  }
}

/** The key of the build, because another build may check otherwise. */
function stamp(): string {
  const { mtimeMs, size } = statSync(programFile('manifests/_catalogue.json'))
  return `${version} ${mtimeMs} ${size}`
}

/** The lines of the file by their key; none where the file is another user's, another build's, or damaged. */
function read(path: string): Map<string, string> {
  const lines = new Map<string, string>()
  try {
    const text = readOwn(path)
    const end = text.indexOf('\n')
    const body = text.slice(end + 1)
    if (text.slice(0, end) !== `${stamp()} ${sha256(body)}`) return lines
    for (const line of body.split('\n')) if (line) lines.set(line.slice(0, 65), line.slice(66))
  } catch {
    // The file is missing or unreadable: it is made anew.
  }
  return lines
}

function readOwn(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > LIMIT || !isOwn(stat) || !isOwn(lstatSync(dirname(path))))
      throw new Error('not ours')
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

const isOwn = ({ uid, mode }: { uid: number; mode: number }): boolean =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)

function write(path: string, lines: ReadonlyMap<string, string>): void {
  const kept: string[] = []
  let room = LIMIT - 1024
  for (const [key, line] of lines) {
    room -= Buffer.byteLength(line) + key.length + 2
    if (room < 0) break
    kept.push(`${key} ${line}\n`)
  }
  const body = kept.join('')
  try {
    makeFolder(dirname(path), 0o700)
    if (!isOwn(lstatSync(dirname(path)))) return
    writeStateSync(path, `${stamp()} ${sha256(body)}\n${body}`, { durable: false })
  } catch {
    // A cache that cannot be written costs time at the next start, nothing else.
  }
}
