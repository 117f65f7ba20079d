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
import { isInside, makeFolder, programFile, sha256, version, writeStateSync } from '../system/index.js'

/**
 * Files that passed their check before, by the digest of their bytes: an unchanged file is not checked again. JSON and
 * YAML have separate entries, because they accept different texts. For settings, which may be private, only the digest
 * is stored.
 */
export interface ParseCache {
  get<S extends CacheKind>(sort: S, bytes: Uint8Array): CacheEntries[S] | undefined
  put<S extends CacheKind>(sort: S, bytes: Uint8Array, value: CacheEntries[S]): void
  /** Saves new entries for the next program. A cache that cannot be written only costs a new check. */
  save(): void
}

interface CacheEntries {
  json: Manifest
  yaml: Manifest
  settings_json: true
  settings_yaml: true
}
export type CacheKind = keyof CacheEntries
const KIND_LETTERS: Record<CacheKind, string> = { json: 'j', yaml: 'y', settings_json: 's', settings_yaml: 't' }

/** Largest size of the cache file in bytes; the most recently used entries stay. */
const LIMIT = 4 * 1_048_576
/** Number of entries in memory while a program runs. */
const MAX_HELD = 10_000

const caches = new Map<string, ParseCache>()

/**
 * Opens the cache of a user, whose `.vtcode` folder is `home`. A cache inside the workspace is not used, because other
 * people may have written it.
 */
export function openParseCache(home: string, workspace: string): ParseCache | undefined {
  if (isInside(workspace, home) || (existsSync(home) && isInside(workspace, realpathSync(home)))) return undefined
  if (!caches.has(home)) caches.set(home, createParseCache(join(home, 'cache', 'manifests')))
  return caches.get(home)
}

function createParseCache(path: string): ParseCache {
  const known = new Map<string, unknown>()
  let lines: Map<string, string> | undefined
  let added = false
  const createKey = (sort: CacheKind, bytes: Uint8Array) => sha256(bytes) + KIND_LETTERS[sort]
  return {
    get<S extends CacheKind>(sort: S, bytes: Uint8Array) {
      const key = createKey(sort, bytes)
      if (known.has(key)) return known.get(key) as CacheEntries[S]
      lines ??= read(path)
      const line = lines.get(key)
      if (line === undefined) return undefined
      const value = JSON.parse(line) as CacheEntries[S]
      known.set(key, value)
      return value
    },
    put(sort, bytes, value) {
      if (known.size >= MAX_HELD) known.clear()
      known.set(createKey(sort, bytes), value)
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

/** Returns the key of the build, because another build may check differently. */
function createStamp(): string {
  const { mtimeMs, size } = statSync(programFile('manifests/_catalogue.json'))
  return `${version} ${mtimeMs} ${size}`
}

/** Reads the lines of the file by their key; none if the file belongs to another user or build, or is damaged. */
function read(path: string): Map<string, string> {
  const lines = new Map<string, string>()
  try {
    const text = readOwn(path)
    const end = text.indexOf('\n')
    const body = text.slice(end + 1)
    if (text.slice(0, end) !== `${createStamp()} ${sha256(body)}`) return lines
    for (const line of body.split('\n')) if (line) lines.set(line.slice(0, 65), line.slice(66))
  } catch {
    // The file is missing or unreadable: a new one is written.
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
    writeStateSync(path, `${createStamp()} ${sha256(body)}\n${body}`, { durable: false })
  } catch {
    // A cache that cannot be written only costs time at the next start.
  }
}
