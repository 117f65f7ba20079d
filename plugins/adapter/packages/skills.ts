import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { PackageSkills, PackageText } from '../../../core/index.js'
import { parseCommand, type PackageAgent } from '../../../core/skills/index.js'
import type { Package } from './package.js'

/** A file or a folder; a file may have another name. */
export interface CommandPlace {
  path: string
  name?: string
}
export interface SkillPaths {
  /** Folders with one or more skills. */
  skills: readonly string[]
  /** Markdown files, and folders of them. */
  commands?: readonly CommandPlace[]
  source?: 'command' | 'prompt'
  /** Files of instructions, and of agents. */
  instructions?: readonly string[]
  agents?: readonly string[]
  /** Texts from other documents. */
  more?: () => readonly PackageText[]
}

const LIMITS = { files: 500, depth: 4 }

/** Collects skills from these paths of a package. Reports paths that lead out of it and ignores missing ones. */
export function collectSkills(
  found: Package,
  { skills, commands = [], source = 'command', instructions = [], agents = [], more = () => [] }: SkillPaths,
): PackageSkills {
  const before = found.diagnostics.length
  const inside = (path: string) => found.resolveInside(path)
  const folders = skills.flatMap((path) => inside(path) ?? []).filter((path) => statSync(path).isDirectory())
  const files = commands.flatMap(({ path, name }) => {
    const file = inside(path)
    return file === undefined
      ? []
      : statSync(file).isDirectory()
        ? listMarkdown(file)
        : [{ file, name: name ?? stripExtension(file) }]
  })
  const texts = files.slice(0, LIMITS.files).flatMap(({ file, name }) => toSkillText(found, file, name, source) ?? [])
  texts.push(...more())
  const instructionFiles = instructions.flatMap((path) => inside(path) ?? []).filter((path) => statSync(path).isFile())
  const defined = agents
    .slice(0, LIMITS.files)
    .flatMap((path) => inside(path) ?? [])
    .flatMap((file) => readAgent(found, file) ?? [])
  return {
    folders,
    texts,
    instructions: instructionFiles,
    agents: defined,
    diagnostics: found.diagnostics.splice(before),
  }
}

/** Reads the description of an agent; nothing here starts it. */
function readAgent(found: Package, file: string): PackageAgent | undefined {
  const bytes = found.readFileBytes(file)
  if (!bytes) return undefined
  const { skill, diagnostics } = parseCommand(bytes, file, toSlug(stripExtension(file)))
  found.diagnostics.push(...diagnostics)
  return skill && { name: skill.name, description: skill.description, file }
}

function listMarkdown(folder: string, depth = 1, prefix = ''): { file: string; name: string }[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = join(folder, entry.name)
    if (entry.isDirectory())
      return depth < LIMITS.depth && !/^\.|^node_modules$/.test(entry.name)
        ? listMarkdown(file, depth + 1, `${prefix}${entry.name}-`)
        : []
    return entry.isFile() && entry.name.endsWith('.md') ? [{ file, name: `${prefix}${stripExtension(file)}` }] : []
  })
}

/** Converts a command to a skill that users call by name. */
export function toSkillText(
  found: Package,
  file: string,
  name: string,
  source: string,
  bytes?: Buffer,
): PackageText | undefined {
  const read = bytes ?? found.readFileBytes(file)
  if (!read) return undefined
  const { skill, body, diagnostics } = parseCommand(read, file, toSlug(name))
  found.diagnostics.push(...diagnostics)
  // A command that uses arguments without naming them gets a generic hint.
  const hint = skill?.argument_hint === undefined &&
    /\$(?:@|(?:ARGUMENTS|[1-9])(?!\w))|\{\{args\}\}/.test(body) && { argument_hint: 'arguments' }
  return (
    skill && {
      ...skill,
      ...hint,
      prompt: true,
      metadata: { ...skill.metadata, source },
      body: found.fillFolders(body),
      file: realpathSync(file),
    }
  )
}

const stripExtension = (file: string): string => basename(file).replace(/\.[^.]+$/, '')
/** Converts a text to a skill name: lower-case words with hyphens. */
const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64) || 'unnamed'
