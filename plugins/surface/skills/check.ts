import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { parseSkill, type Io } from '../../../core/index.js'
import { validateSkill, type Complaint } from '../../lib/skills/index.js'
import { formatDocument, printable, say } from '../../lib/terminal/index.js'

interface Checked {
  path: string
  valid: boolean
  errors: Complaint[]
  warnings: Complaint[]
}

/** `vtcode skills validate`: by the rules of the open format, or with `--lenient` by those of loading. */
export function checkSkills(folders: string[], { lenient, json }: { lenient: boolean; json: boolean }, io: Io): number {
  const checked = folders.map(folderOf).map((folder) => (lenient ? load(folder) : strictly(folder)))
  if (json) io.stdout.write(formatDocument({ skills: checked }))
  else for (const one of checked) io.stdout.write(printable(render(one)))
  return checked.every(({ valid }) => valid) ? 0 : 1
}

/** As the reference does, the file stands for its folder. */
const folderOf = (path: string): string =>
  /^skill\.md$/i.test(basename(path)) && statSync(path, { throwIfNoEntry: false })?.isFile() ? dirname(path) : path

function strictly(path: string): Checked {
  const { complaints } = validateSkill(path)
  return { path, valid: complaints.length === 0, errors: complaints, warnings: [] }
}

function load(path: string): Checked {
  const file = ['SKILL.md', 'skill.md']
    .map((name) => join(resolve(path), name))
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile())
  if (!file) return { path, valid: false, errors: [{ message: 'SKILL.md not found.' }], warnings: [] }
  const { skill, diagnostics } = parseSkill(readBytes(file, { limit: 16 * 1_048_576 }), file)
  const of = (severity: string) =>
    diagnostics
      .filter((one) => one.severity === severity)
      .map(({ message, files }) => ({ message, line: Number(files[0]?.split(':').at(-1)) }))
  return { path, valid: skill !== undefined, errors: of('error'), warnings: of('warning') }
}

function render({ path, valid, errors, warnings }: Checked): string {
  const lines = (level: string, list: Complaint[]) =>
    list
      .map(
        ({ message, line }) => `${line === undefined ? path : join(path, `SKILL.md:${line}`)}: ${level}: ${message}\n`,
      )
      .join('')
  return `${lines('error', errors)}${lines('warning', warnings)}${valid ? `Valid skill: ${path}\n` : ''}`
}

/** `vtcode skills prompt`: what the reference implementation puts into a system prompt, byte for byte. */
export function prompt(folders: string[], io: Io): number {
  const entries: string[] = []
  for (const folder of folders.map(folderOf)) {
    const { properties, complaints } = validateSkill(folder)
    if (!properties) {
      say(io, 'error', `${folder}: ${complaints.map(({ message }) => message).join('; ')}`)
      return 1
    }
    const { name, description, file } = properties
    entries.push(
      `<skill>\n<name>\n${escaped(name)}\n</name>\n<description>\n${escaped(description)}\n</description>\n<location>\n${resolve(file)}\n</location>\n</skill>\n`,
    )
  }
  io.stdout.write(`<available_skills>\n${entries.join('')}</available_skills>\n`)
  return 0
}

/** As Python's `html.escape`. */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#x27;')
