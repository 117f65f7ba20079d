import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { report, type Diagnostic } from '../shapes/index.js'
import { inside } from '../system/index.js'
import { realOf, type Root } from './locations.js'
import { parseHead, skillLimits, type SkillReading } from './parse.js'
import type { Skill } from './types.js'

export type FoundSkill = { -readonly [K in keyof Skill]: Skill[K] }
export interface SkillScan {
  all: FoundSkill[]
  skipped: { path: string; reason: string }[]
  diagnostics: Diagnostic[]
  /** Has the search taken too long? */
  late: () => boolean
}

/** The readings of files that have not changed since. */
export type SkillCache = Map<string, { version: string; reading: SkillReading }>

export const bounds = { depth: 4, folders: 2000, skills: 10_000, ms: 2000, wait: 10_000 }

/** Searches a root, nearest folders first, and no folder of a skill further. */
export function scanRoot(root: Root, finding: SkillScan, cache: SkillCache): void {
  if (root.texts) {
    for (const { body, file, ...skill } of root.texts)
      add(root, root.path, { skill, body, diagnostics: [] }, finding, file, body)
    return
  }
  const known = root.layer === 'builtin' ? catalogued(root.path) : undefined
  if (known) {
    for (const skill of known) add(root, skill.folder, skill.reading, finding)
    return
  }
  const over = searchFolders(root, finding, cache)
  if (over === undefined) return
  const problem = `${over}; ${finding.all.length} skills were found`
  finding.diagnostics.push(report('VT_SKILL_LIMIT', { root: root.path, problem }, [root.path], 'warning'))
}

/** Searches the folders below a root. Returns the limit that ended the search early. */
function searchFolders(root: Root, finding: SkillScan, cache: SkillCache): string | undefined {
  let level: Entry[] = [{ path: root.path, link: false }]
  const seen = new Set<string>()
  for (let depth = 0; depth <= bounds.depth && level.length > 0; depth++) {
    const next: Entry[][] = []
    for (const entry of level) {
      const folder = entry.link ? within(root, entry.path, finding) : entry.path
      if (folder === undefined || seen.has(folder)) continue
      const over = exceededLimit(seen.add(folder).size, finding)
      if (over !== undefined) return over
      next.push(searchFolder(root, folder, finding, cache))
    }
    level = next.flat()
  }
  return level.length > 0 ? `folders more than ${bounds.depth} deep are not searched` : undefined
}

function exceededLimit(folders: number, finding: SkillScan): string | undefined {
  if (folders > bounds.folders + 1) return `more than ${bounds.folders} folders`
  if (finding.all.length >= bounds.skills) return `more than ${bounds.skills} skills`
  return finding.late() ? `the search took more than ${bounds.ms / 1000} s` : undefined
}

/** Reads the skill of a folder. Returns the folders to search where it is none. */
function searchFolder(root: Root, folder: string, finding: SkillScan, cache: SkillCache): Entry[] {
  const entries = list(folder, finding)
  const file = entries.find(({ name }) => name === 'SKILL.md') ?? entries.find(({ name }) => name === 'skill.md')
  if (!file) {
    const inner = entries.filter((entry) => (entry.folder || entry.link) && !/^\.|^node_modules$/.test(entry.name))
    return inner.map(({ name, link }) => ({ path: join(folder, name), link }))
  }
  visit(root, folder, file, finding, cache)
  return []
}

interface Entry {
  path: string
  link: boolean
}
interface Named {
  name: string
  folder: boolean
  link: boolean
}

function list(folder: string, finding: SkillScan): Named[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, folder: entry.isDirectory(), link: entry.isSymbolicLink() }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    skip(finding, folder, `The folder cannot be read: ${(error as Error).message}.`)
    return []
  }
}

/**
 * Tells from now on when time is over. It is the time of the processor that counts, so that a machine busy with other things
 * loses no skills; the clock only ends waiting for a disk that does not answer.
 */
export function stopwatch(): () => boolean {
  const spent = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  const [began, start] = [spent(), performance.now()]
  // Before the clock says so the processor cannot have worked that long.
  return () => {
    const passed = performance.now() - start
    return passed > bounds.wait || (passed > bounds.ms && spent() - began > bounds.ms)
  }
}

/** The folder that a link leads to, if it lies below the root. */
function within(root: Root, path: string, finding: SkillScan): string | undefined {
  const real = realOf(path)
  if (real === undefined || !statSync(real).isDirectory()) return undefined
  if (inside(root.path, real)) return real
  if (statSync(join(real, 'SKILL.md'), { throwIfNoEntry: false }))
    skip(finding, path, `The link leads out of ${root.path}.`)
  return undefined
}

/** Reads a skill. Its folder is a real path, so that only a link has to be followed. */
function visit(root: Root, folder: string, { name, link }: Named, finding: SkillScan, cache: SkillCache): void {
  const file = join(folder, name)
  try {
    const real = link ? realpathSync(file) : file
    if (link && !inside(root.path, real)) return skip(finding, file, `The link leads out of ${root.path}.`)
    const { version, bytes, whole } = head(real)
    const known = cache.get(file)
    // What follows the front matter is read when the skill is loaded.
    const reading =
      known && known.version === version ? known.reading : { ...parseHead(bytes(), file, whole), body: '' }
    if (version) cache.set(file, { version, reading })
    add(root, folder, reading, finding, file)
  } catch (error) {
    skip(finding, file, `The file cannot be read: ${(error as Error).message}.`)
  }
}

/** The first bytes of a regular file and its version; none for a file that may change unseen. */
function head(file: string): { version: string; whole: boolean; bytes: () => Buffer } {
  const stats = lstatSync(file, { bigint: true })
  if (!stats.isFile()) throw new Error('it is not a regular file')
  if (stats.size > skillLimits.bytes) throw new Error(`it is larger than ${skillLimits.bytes / 1024} KiB`)
  const version =
    Date.now() - Number(stats.mtimeMs) > 2000
      ? `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
      : ''
  const bytes = () => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const buffer = Buffer.allocUnsafe(Math.min(Number(stats.size), skillLimits.head))
      return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0))
    } finally {
      closeSync(fd)
    }
  }
  return { version, whole: stats.size <= skillLimits.head, bytes }
}

function skip(finding: SkillScan, path: string, reason: string): void {
  finding.skipped.push({ path, reason })
  finding.diagnostics.push(report('VT_SKILL_INVALID', { problem: `${path}: ${reason}` }, [path]))
}

function add(
  root: Root,
  folder: string,
  { skill, diagnostics }: SkillReading,
  finding: SkillScan,
  file = join(folder, 'SKILL.md'),
  body?: string,
): void {
  finding.diagnostics.push(...diagnostics)
  if (!skill) {
    const { message, files } = diagnostics.at(-1)!
    finding.skipped.push({ path: files[0] ?? file, reason: message })
    return
  }
  const { layer, prefix, off } = root
  const scope = layer === 'builtin' ? 'bundled' : layer === 'workspace' ? 'workspace' : 'user'
  finding.all.push({
    ...skill,
    id: `${prefix}:${skill.name}`,
    layer,
    scope,
    folder,
    file,
    also_at: [],
    state: 'active',
    ...(body !== undefined && { body }),
    ...(off !== undefined && { state: 'inactive', reason: off }),
  })
}

/** The bundled skills as the build read them, so that a start parses none. */
function catalogued(path: string): { folder: string; reading: SkillReading }[] | undefined {
  try {
    const found = JSON.parse(readFileSync(join(path, '_catalogue.json'), 'utf8')) as {
      name: string
      skill: SkillReading['skill']
    }[]
    return found.map(({ name, skill }) => ({
      folder: join(path, name),
      reading: { skill: skill!, body: '', diagnostics: [] },
    }))
  } catch {
    return undefined
  }
}

/** Reads all bundled skills for the catalogue. Throws with file and line. */
export function compileSkills(path: string): { name: string; skill: SkillReading['skill'] }[] {
  const names = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
  return names.map((name) => {
    const { skill, diagnostics } = parseHead(
      readFileSync(join(path, name, 'SKILL.md')),
      join(path, name, 'SKILL.md'),
      true,
    )
    if (!skill || diagnostics.length > 0)
      throw new Error(diagnostics.map(({ files, message }) => `${files.join(', ')}: ${message}`).join('\n'))
    return { name, skill }
  })
}
