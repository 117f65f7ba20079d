/** Commands of Gemini: `commands/<folder>/<name>.toml` with a `prompt`. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { PackageText } from '../../../core/index.js'
import { sound } from './objects.js'
import type { Package } from './package.js'
import { textOf } from './skills.js'

// Loaded where the first command lies, which is seldom.
const parse = (text: string): unknown => (createRequire(import.meta.url)('smol-toml') as { parse(text: string): unknown }).parse(text)

/** Each as a prompt that users call by its name. What runs a program or reads a file there stays text here. */
export function tomlCommands(found: Package): PackageText[] {
  return found.files('commands', '.toml').flatMap((path) => {
    const file = join(found.place.root, 'commands', path)
    const bytes = found.bytes(file)
    if (!bytes) return []
    try {
      const { prompt, description } = sound(parse(bytes.toString().replace(/^\ufeff/, ''))) as { prompt?: unknown; description?: unknown }
      if (typeof prompt !== 'string') throw new Error("it has no 'prompt'")
      const live = [...prompt.matchAll(/[!@]\{[^}]*\}/g)].map(([text]) => text)
      found.unsupported({ [`Parts of the command ${path} that run or read something`]: live }, file)
      const about = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
      const body = prompt.replaceAll('{{args}}', () => '$ARGUMENTS')
      const text = textOf(found, file, path.replace(/\.toml$/, '').replaceAll('/', '-'), 'command', Buffer.from(`---\n${about}---\n${body}`))
      return text ? [text] : []
    } catch (error) {
      found.invalid(`${file}: the command is left out: ${(error as Error).message.split('\n')[0]}.`, file)
      return []
    }
  })
}
