import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { parseSkill, type Io } from '../../../core/index.js'
import { validateSkill, type Complaint } from '../../lib/skills/index.js'
import { formatDocument, printable, say } from '../../lib/terminal/index.js'

interface SkillReport {
  path: string
  valid: boolean
  errors: Complaint[]
  warnings: Complaint[]
}

/** Runs `vtcode skills validate`: checks by the rules of the open format, or with `--lenient` by those of loading. */
export function checkSkills(folders: string[], { lenient, json }: { lenient: boolean; json: boolean }, io: Io): number {
  const checked = folders
    .map(resolveSkillFolder)
    .map((folder) => (lenient ? checkLenient(folder) : checkStrict(folder)))
  if (json) io.stdout.write(formatDocument({ skills: checked }))
  else for (const one of checked) io.stdout.write(printable(render(one)))
  return checked.every(({ valid }) => valid) ? 0 : 1
}

/** Returns the folder of a SKILL.md, or the path itself, like the reference implementation. */
const resolveSkillFolder = (path: string): string =>
  /^skill\.md$/i.test(basename(path)) && statSync(path, { throwIfNoEntry: false })?.isFile() ? dirname(path) : path

/** Checks by the reference validator; a skill that passes must load here too. */
function checkStrict(path: string): SkillReport {
  const { complaints } = validateSkill(path)
  if (complaints.length > 0) return { path, valid: false, errors: complaints, warnings: [] }
  return { ...checkLenient(path), warnings: [] }
}

function checkLenient(path: string): SkillReport {
  const file = ['SKILL.md', 'skill.md']
    .map((name) => join(resolve(path), name))
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile())
  if (!file) return { path, valid: false, errors: [{ message: 'SKILL.md not found.' }], warnings: [] }
  const { skill, diagnostics } = parseSkill(readBytes(file, { limit: 16 * 1_048_576 }), file)
  const findBySeverity = (severity: string) =>
    diagnostics
      .filter((one) => one.severity === severity)
      .map(({ message, files }) => ({ message, line: Number(files[0]?.split(':').at(-1)) }))
  return { path, valid: skill !== undefined, errors: findBySeverity('error'), warnings: findBySeverity('warning') }
}

function render({ path, valid, errors, warnings }: SkillReport): string {
  const formatLines = (level: string, list: Complaint[]) =>
    list
      .map(
        ({ message, line }) => `${line === undefined ? path : join(path, `SKILL.md:${line}`)}: ${level}: ${message}\n`,
      )
      .join('')
  return `${formatLines('error', errors)}${formatLines('warning', warnings)}${valid ? `Valid skill: ${path}\n` : ''}`
}

/** Runs `vtcode skills prompt`: prints the system prompt block of the reference implementation, byte for byte. */
export function printPrompt(folders: string[], io: Io): number {
  const entries: string[] = []
  for (const folder of folders.map(resolveSkillFolder)) {
    const { properties, complaints } = validateSkill(folder)
    if (!properties) {
      say(io, 'error', `${folder}: ${complaints.map(({ message }) => message).join('; ')}`)
      return 1
    }
    const { name, description, file } = properties
    entries.push(
      `<skill>\n<name>\n${escapeHtml(name)}\n</name>\n<description>\n${escapeHtml(description)}` +
        `\n</description>\n<location>\n${resolve(file)}\n</location>\n</skill>\n`,
    )
  }
  io.stdout.write(`<available_skills>\n${entries.join('')}</available_skills>\n`)
  return 0
}

/** Escapes like Python's `html.escape`. */
const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#x27;')
