import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { inside } from './data.js'
import { report } from './errors.js'
import { realOf, type Root } from './roots.js'
import { parseHead, skillLimits, type SkillReading } from './skill.js'
import type { Diagnostic, Skill } from './types.js'

export type Found = { -readonly [K in keyof Skill]: Skill[K] }
export interface Finding {
  all: Found[]
  skipped: { path: string; reason: string }[]
  diagnostics: Diagnostic[]
  /** Milliseconds of the clock when the search has to end. */
  until: number
}

/** The readings of files that have not changed since. */
export type SkillCache = Map<string, { version: string; reading: SkillReading }>


export const bounds = { depth: 4, folders: 2000, skills: 10_000, ms: 2000 }

/** Goes through a root, nearest folders first; a folder that is a skill is not gone through further. */
export function search(root: Root, finding: Finding, cache: SkillCache): void {
  const known = root.layer === 'builtin' ? catalogued(root.path) : undefined
  if (known) {
    for (const skill of known) add(root, skill.folder, skill.reading, finding)
    return
  }
  let level = [root.path]
  let folders = 0
  let over: string | undefined
  for (let depth = 0; depth <= bounds.depth && level.length > 0; depth++) {
    const next: string[] = []
    for (const folder of level) {
      if (++folders > bounds.folders + 1) over = `more than ${bounds.folders} folders`
      else if (finding.all.length >= bounds.skills) over = `more than ${bounds.skills} skills`
      else if (performance.now() > finding.until) over = `the search took more than ${bounds.ms / 1000} s`
      if (over) break
      const names = list(folder, finding)
      const file = names.find(({ name }) => name === 'SKILL.md') ?? names.find(({ name }) => name === 'skill.md')
      if (file) visit(root, folder, file.name, finding, cache)
      else next.push(...names.filter(({ directory, name }) => directory && !/^\.|^node_modules$/.test(name)).map(({ name }) => join(folder, name)))
    }
    if (over) break
    level = next.flatMap((path) => within(root, path, finding) ?? [])
  }
  if (!over && level.length > 0) over = `folders more than ${bounds.depth} deep are not searched`
  if (over) finding.diagnostics.push(report('VT_SKILL_LIMIT', { root: root.path, problem: `${over}; ${finding.all.length} skills were found` }, [root.path], 'warning'))
}

function list(folder: string, finding: Finding): { name: string; directory: boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, directory: entry.isDirectory() || entry.isSymbolicLink() }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    skip(finding, folder, `The folder cannot be read: ${(error as Error).message}.`)
    return []
  }
}

/** A folder below the root; links may lead to places inside it. */
function within(root: Root, path: string, finding: Finding): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path
  const real = realOf(path)
  if (real === undefined || !statSync(real).isDirectory()) return undefined
  if (inside(root.path, real)) return real
  if (statSync(join(real, 'SKILL.md'), { throwIfNoEntry: false })) skip(finding, path, `The link leads out of ${root.path}.`)
  return undefined
}

function visit(root: Root, folder: string, name: string, finding: Finding, cache: SkillCache): void {
  const file = join(folder, name)
  try {
    const real = realpathSync(file)
    if (!inside(root.path, real)) return skip(finding, file, `The link leads out of ${root.path}.`)
    const { version, bytes, whole } = head(real)
    const known = cache.get(file)
    // What follows the front matter is read when the skill is loaded.
    const reading = known && known.version === version ? known.reading : { ...parseHead(bytes(), file, whole), body: '' }
    if (version) cache.set(file, { version, reading })
    add(root, folder, reading, finding, file)
  } catch (error) {
    skip(finding, file, `The file cannot be read: ${(error as Error).message}.`)
  }
}

/** The first bytes of a regular file, and a name for this version of it; none for one so young that it may change unseen. */
function head(file: string): { version: string; whole: boolean; bytes: () => Buffer } {
  const seen = lstatSync(file, { bigint: true })
  if (!seen.isFile()) throw new Error('it is not a regular file')
  if (seen.size > skillLimits.bytes) throw new Error(`it is larger than ${skillLimits.bytes / 1024} KiB`)
  const version = Date.now() - Number(seen.mtimeMs) > 2000 ? `${seen.dev}:${seen.ino}:${seen.size}:${seen.mtimeNs}:${seen.ctimeNs}` : ''
  const bytes = () => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!fstatSync(fd).isFile()) throw new Error('it is not a regular file')
      const buffer = Buffer.alloc(Math.min(Number(seen.size), skillLimits.head))
      return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0))
    } finally {
      closeSync(fd)
    }
  }
  return { version, whole: seen.size <= skillLimits.head, bytes }
}

function skip(finding: Finding, path: string, reason: string): void {
  finding.skipped.push({ path, reason })
  finding.diagnostics.push(report('VT_SKILL_INVALID', { problem: `${path}: ${reason}` }, [path]))
}

function add(root: Root, folder: string, { skill, diagnostics }: SkillReading, finding: Finding, file = join(folder, 'SKILL.md')): void {
  finding.diagnostics.push(...diagnostics)
  if (!skill) {
    const { message, files } = diagnostics.at(-1)!
    finding.skipped.push({ path: files[0] ?? file, reason: message })
    return
  }
  const { layer, prefix, off } = root
  const scope = layer === 'builtin' ? 'bundled' : layer === 'workspace' ? 'workspace' : 'user'
  finding.all.push({ ...skill, id: `${prefix}:${skill.name}`, layer, scope, folder, file, also_at: [], state: 'active', ...(off !== undefined && { state: 'inactive', reason: off }) })
}

/** The bundled skills as the build read them, so that a start parses none. */
function catalogued(path: string): { folder: string; reading: SkillReading }[] | undefined {
  try {
    const found = JSON.parse(readFileSync(join(path, '_catalogue.json'), 'utf8')) as { name: string; skill: SkillReading['skill'] }[]
    return found.map(({ name, skill }) => ({ folder: join(path, name), reading: { skill: skill!, body: '', diagnostics: [] } }))
  } catch {
    return undefined
  }
}

/** Every bundled skill, checked, as the build writes it into the catalogue; throws naming file and line. */
export function compileSkills(path: string): { name: string; skill: SkillReading['skill'] }[] {
  const names = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort()
  return names.map((name) => {
    const { skill, diagnostics } = parseHead(readFileSync(join(path, name, 'SKILL.md')), join(path, name, 'SKILL.md'), true)
    if (!skill || diagnostics.length > 0) throw new Error(diagnostics.map(({ files, message }) => `${files.join(', ')}: ${message}`).join('\n'))
    return { name, skill }
  })
}
