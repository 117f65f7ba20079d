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
import { basename, dirname, join } from 'node:path'
import { createDiagnostic, type Diagnostic } from '../shapes/index.js'
import { isInside } from '../system/index.js'
import { readCommands } from './commands.js'
import { resolveRealPath, type Root } from './locations.js'
import { parseHead, skillLimits, type SkillReading } from './parse.js'
import type { Skill } from './types.js'

export type FoundSkill = { -readonly [K in keyof Skill]: Skill[K] }
export interface SkillScan {
  all: FoundSkill[]
  skipped: { path: string; reason: string }[]
  diagnostics: Diagnostic[]
  /** Returns whether the search has taken too long. */
  isLate: () => boolean
}

/** Readings of files, valid while the version of the file is the same. */
export type SkillCache = Map<string, { version: string; reading: SkillReading }>

export const SCAN_LIMITS = { depth: 4, folders: 2000, skills: 10_000, ms: 2000, wait: 10_000 }

/** Searches a root, nearest folders first; folders of skills are not searched further. */
export function scanRoot(root: Root, finding: SkillScan, cache: SkillCache): void {
  if (root.texts) {
    for (const { body, file, ...skill } of root.texts)
      addSkill(root, root.path, { skill, body, diagnostics: [] }, finding, file, body)
    return
  }
  if (root.commands) return scanCommands(root, finding)
  const known = root.layer === 'builtin' ? readBundledCatalogue(root.path) : undefined
  if (known) {
    for (const skill of known) addSkill(root, skill.folder, skill.reading, finding)
    return
  }
  const over = searchFolders(root, finding, cache)
  if (over === undefined) return
  const problem = `${over}; ${finding.all.length} skills were found`
  finding.diagnostics.push(createDiagnostic('VT_SKILL_LIMIT', { root: root.path, problem }, [root.path], 'warning'))
}

function scanCommands(root: Root, finding: SkillScan): void {
  for (const { file, body, reading } of readCommands(root.path, (path, reason) => skip(finding, path, reason)))
    addSkill(root, root.path, reading, finding, file, body)
}

/** Searches the folders below a root. Returns the limit that ended the search early. */
function searchFolders(root: Root, finding: SkillScan, cache: SkillCache): string | undefined {
  let level: Entry[] = [{ path: root.path, link: false }]
  const seen = new Set<string>()
  for (let depth = 0; depth <= SCAN_LIMITS.depth && level.length > 0; depth++) {
    const next: Entry[][] = []
    for (const entry of level) {
      const folder = entry.link ? resolveLink(root, entry.path, finding) : entry.path
      if (folder === undefined || seen.has(folder)) continue
      const over = findExceededLimit(seen.add(folder).size, finding)
      if (over !== undefined) return over
      next.push(searchFolder(root, { path: folder, shown: entry.path }, finding, cache))
    }
    level = next.flat()
  }
  return level.length > 0 ? `folders more than ${SCAN_LIMITS.depth} deep are not searched` : undefined
}

function findExceededLimit(folders: number, finding: SkillScan): string | undefined {
  if (folders > SCAN_LIMITS.folders + 1) return `more than ${SCAN_LIMITS.folders} folders`
  if (finding.all.length >= SCAN_LIMITS.skills) return `more than ${SCAN_LIMITS.skills} skills`
  return finding.isLate() ? `the search took more than ${SCAN_LIMITS.ms / 1000} s` : undefined
}

/** Reads the skill of a folder. Returns the folders to search if there is no skill. */
function searchFolder(root: Root, folder: SearchedFolder, finding: SkillScan, cache: SkillCache): Entry[] {
  const entries = listFolder(folder.path, finding)
  const file = entries.find(({ name }) => name === 'SKILL.md') ?? entries.find(({ name }) => name === 'skill.md')
  if (!file) {
    const inner = entries.filter((entry) => (entry.folder || entry.link) && !/^\.|^node_modules$/.test(entry.name))
    return inner.map(({ name, link }) => ({ path: join(folder.path, name), link }))
  }
  readSkill(root, folder, file, finding, cache)
  return []
}

interface Entry {
  path: string
  link: boolean
}
/** A folder by its real path, and by the path that names its skill. */
interface SearchedFolder {
  path: string
  shown: string
}
interface FolderEntry {
  name: string
  folder: boolean
  link: boolean
}

function listFolder(folder: string, finding: SkillScan): FolderEntry[] {
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
 * Starts a deadline and returns a function that reports whether it has passed. Processor time counts, so that a busy
 * machine loses no skills; the clock only limits waiting for a disk that does not answer.
 */
export function createDeadline(): () => boolean {
  const readCpuMs = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  const [began, start] = [readCpuMs(), performance.now()]
  // Processor time never exceeds the time of the clock here.
  return () => {
    const passed = performance.now() - start
    return passed > SCAN_LIMITS.wait || (passed > SCAN_LIMITS.ms && readCpuMs() - began > SCAN_LIMITS.ms)
  }
}

/** Returns the target of a link to a folder if it is within the bound of the root. */
function resolveLink(root: Root, path: string, finding: SkillScan): string | undefined {
  const real = resolveRealPath(path)
  if (real === undefined || !statSync(real).isDirectory()) return undefined
  if (isInside(root.bound, real)) return real
  if (statSync(join(real, 'SKILL.md'), { throwIfNoEntry: false }))
    skip(finding, path, `The link leads out of ${root.bound}.`)
  return undefined
}

/** Reads a skill. Its folder is a real path, so only the file itself can be a link. */
function readSkill(
  root: Root,
  { path, shown }: SearchedFolder,
  { name, link }: FolderEntry,
  finding: SkillScan,
  cache: SkillCache,
): void {
  const file = join(path, name)
  try {
    const place = link ? resolveLinkedFile(root, path, file) : { folder: path, file }
    if (!place) return skip(finding, file, `The link leads out of ${root.bound}.`)
    // The text of such a skill would change with a file of the workspace.
    if (place.folder !== dirname(place.file) && root.claimFolder?.(dirname(place.file)))
      return skip(finding, file, 'The link of the user leads to a file of the workspace with another name.')
    const owner = root.claimFolder?.(place.folder) ?? root
    const { version, bytes, whole } = readHead(place.file)
    // The path of the link names the skill.
    const named = join(shown, name)
    const known = cache.get(named)
    // The body is read when the skill is loaded.
    const reading =
      known && known.version === version ? known.reading : { ...parseHead(bytes(), named, whole), body: '' }
    if (version) cache.set(named, { version, reading })
    const before = finding.all.find((one) => one.file === place.file && one.layer === owner.layer)
    if (before && reading.skill) before.also_at = [...before.also_at, shown]
    else addSkill(owner, place.folder, reading, finding, place.file)
  } catch (error) {
    skip(finding, file, `The file cannot be read: ${(error as Error).message}.`)
  }
}

/**
 * Returns the folder and the file of a `SKILL.md` that is a link; nothing if it leads out. The resources of a skill are
 * those next to the linked file, as tools for dotfiles arrange them. A file of another name stays alone.
 */
function resolveLinkedFile(root: Root, folder: string, link: string): { folder: string; file: string } | undefined {
  const file = realpathSync(link)
  if (/^skill\.md$/i.test(basename(file)) && isInside(root.bound, file)) return { folder: dirname(file), file }
  return isInside(root.layer === 'user' ? root.bound : folder, file) ? { folder, file } : undefined
}

/**
 * Returns the first bytes of a regular file and its version; the version is empty for a file that may change unnoticed.
 */
function readHead(file: string): { version: string; whole: boolean; bytes: () => Buffer } {
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
  finding.diagnostics.push(createDiagnostic('VT_SKILL_INVALID', { problem: `${path}: ${reason}` }, [path]))
}

function addSkill(
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
  const { layer, prefix, disabledReason } = root
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
    ...(disabledReason !== undefined && { state: 'inactive', reason: disabledReason }),
  })
}

/** Reads the bundled skills from the catalogue of the build, so that a start parses none. */
function readBundledCatalogue(path: string): { folder: string; reading: SkillReading }[] | undefined {
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
