import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { PackageSkills, PackageText } from '../../../core/index.js'
import { parseCommand, type PackageAgent } from '../../../core/skills/index.js'
import type { Package } from './package.js'

/** A file or a folder; a file may be known by another name. */
export interface CommandPlace {
  path: string
  name?: string
}
export interface SkillPaths {
  /** Folders of skills, or of one. */
  skills: readonly string[]
  /** Markdown files, and folders of them. */
  commands?: readonly CommandPlace[]
  source?: 'command' | 'prompt'
  /** Files of instructions, and of agents. */
  instructions?: readonly string[]
  agents?: readonly string[]
  /** Texts that lie elsewhere than in files of their own. */
  more?: () => readonly PackageText[]
}

const most = { files: 500, depth: 4 }

/** Looks in these places of a package. What is not there, or leads out of it, is left out; the second is reported. */
export function skillsIn(
  found: Package,
  { skills, commands = [], source = 'command', instructions = [], agents = [], more = () => [] }: SkillPaths,
): PackageSkills {
  const before = found.diagnostics.length
  const inside = (path: string) => found.leads(path)
  const folders = skills.flatMap((path) => inside(path) ?? []).filter((path) => statSync(path).isDirectory())
  const files = commands.flatMap(({ path, name }) => {
    const file = inside(path)
    return file === undefined
      ? []
      : statSync(file).isDirectory()
        ? markdownIn(file)
        : [{ file, name: name ?? stem(file) }]
  })
  const texts = files.slice(0, most.files).flatMap(({ file, name }) => skillText(found, file, name, source) ?? [])
  texts.push(...more())
  const told = instructions.flatMap((path) => inside(path) ?? []).filter((path) => statSync(path).isFile())
  const defined = agents
    .slice(0, most.files)
    .flatMap((path) => inside(path) ?? [])
    .flatMap((file) => agentIn(found, file) ?? [])
  return { folders, texts, instructions: told, agents: defined, diagnostics: found.diagnostics.splice(before) }
}

/** Who an agent is; nothing here starts it. */
function agentIn(found: Package, file: string): PackageAgent | undefined {
  const bytes = found.bytes(file)
  if (!bytes) return undefined
  const { skill, diagnostics } = parseCommand(bytes, file, slug(stem(file)))
  found.diagnostics.push(...diagnostics)
  return skill && { name: skill.name, description: skill.description, file }
}

function markdownIn(folder: string, depth = 1, prefix = ''): { file: string; name: string }[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = join(folder, entry.name)
    if (entry.isDirectory())
      return depth < most.depth && !/^\.|^node_modules$/.test(entry.name)
        ? markdownIn(file, depth + 1, `${prefix}${entry.name}-`)
        : []
    return entry.isFile() && entry.name.endsWith('.md') ? [{ file, name: `${prefix}${stem(file)}` }] : []
  })
}

/** One command as a skill that users call by its name. */
export function skillText(
  found: Package,
  file: string,
  name: string,
  source: string,
  bytes?: Buffer,
): PackageText | undefined {
  const read = bytes ?? found.bytes(file)
  if (!read) return undefined
  const { skill, body, diagnostics } = parseCommand(read, file, slug(name))
  found.diagnostics.push(...diagnostics)
  // What takes arguments and does not say which is to be asked for some all the same.
  const hint = skill?.argument_hint === undefined &&
    /\$(?:@|(?:ARGUMENTS|[1-9])(?!\w))|\{\{args\}\}/.test(body) && { argument_hint: 'arguments' }
  return (
    skill && {
      ...skill,
      ...hint,
      prompt: true,
      metadata: { ...skill.metadata, source },
      body: found.filled(body),
      file: realpathSync(file),
    }
  )
}

const stem = (file: string): string => basename(file).replace(/\.[^.]+$/, '')
/** Names of skills are lower-case words with hyphens. */
const slug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64) || 'unnamed'
