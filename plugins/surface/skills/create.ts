import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseSkill, programFile, type Io } from '../../../core/index.js'
import { validateSkill } from '../../lib/skills/index.js'
import { say } from '../../lib/terminal/index.js'

const template = programFile('skills/skill-creator/assets/template.md')

/**
 * Creates a folder and its parents, each tried once: some file systems refuse every new folder with the error of a
 * missing parent.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}

/**
 * Runs `vtcode skills create`: creates a folder from the template of skill-creator. Never changes an existing folder.
 */
export function createSkill(name: string, { dir, description }: { dir: string; description?: string }, io: Io): number {
  const folder = resolve(dir, name)
  if (!/^[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*$/u.test(name) || name.length > 64) {
    say(io, 'error', `'${name}' is no valid skill name: use at most 64 lower-case letters, digits and single hyphens.`)
    return 2
  }
  if (existsSync(folder)) {
    say(io, 'error', `${folder} exists already.`)
    return 1
  }
  const about = description ?? `Does what ${name.replaceAll('-', ' ')} means. Use when the user asks for it by name.`
  const title = name.replaceAll('-', ' ').replace(/^./u, (letter) => letter.toUpperCase())
  const text = readFileSync(template, 'utf8')
    .replaceAll('{{name}}', () => name)
    .replaceAll('{{description}}', () => JSON.stringify(about))
    .replaceAll('{{title}}', () => title)
  try {
    makeFolder(join(folder, 'references'))
    writeFileSync(join(folder, 'SKILL.md'), text)
  } catch (error) {
    say(io, 'error', `${folder} cannot be written: ${(error as Error).message}.`)
    return 1
  }
  // The open format accepts some names that loading refuses, for example device names of Windows.
  const { complaints } = validateSkill(folder)
  const { skill, diagnostics } = parseSkill(Buffer.from(text), join(folder, 'SKILL.md'))
  if (complaints.length > 0 || !skill) {
    rmSync(folder, { recursive: true })
    say(io, 'error', [...complaints, ...diagnostics].map(({ message }) => message).join('; '))
    return 1
  }
  io.stdout.write(
    `Written: ${join(folder, 'SKILL.md')}\nNext: write the body, then \`vtcode skills validate ${folder}\`.\n`,
  )
  return 0
}
