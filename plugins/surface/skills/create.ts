import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Io } from '../../../core/index.js'
import { say } from '../../shared/terminal.js'
import { validate } from './strict.js'

const template = new URL('../../../skills/skill-creator/assets/template.md', import.meta.url)

/** `vtcode skills create`: a new folder from the template of skill-creator; what exists is never touched. */
export function create(name: string, { dir, description }: { dir: string; description?: string }, io: Io): number {
  const folder = resolve(dir, name)
  if (!/^[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*$/u.test(name) || name.length > 64) {
    say(io, 'error', `'${name}' is no name of a skill: at most 64 lower-case letters, digits and single hyphens.`)
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
  mkdirSync(join(folder, 'references'), { recursive: true })
  writeFileSync(join(folder, 'SKILL.md'), text)
  const { complaints } = validate(folder)
  if (complaints.length > 0) {
    rmSync(folder, { recursive: true })
    say(io, 'error', complaints.map(({ message }) => message).join('; '))
    return 1
  }
  io.stdout.write(`Written: ${join(folder, 'SKILL.md')}\nNext: write the body, then \`vtcode skills validate ${folder}\`.\n`)
  return 0
}
