import { join } from 'node:path'
import { requireLibrary } from '../../../core/system/index.js'
import type { JsonObject, PackageText } from '../../../core/index.js'
import { isObject, sound } from './objects.js'
import type { Package } from './package.js'
import { skillText } from './skills.js'

// Loaded where the first such file lies, which is seldom.
const parse = (text: string): unknown => (requireLibrary('smol-toml') as typeof import('smol-toml')).parse(text)

/** A document of the package; nothing where it cannot be used, and the reason among the diagnostics. */
export function readToml(found: Package, file: string): JsonObject | undefined {
  const bytes = found.bytes(file)
  try {
    const value = bytes && sound(parse(bytes.toString().replace(/^\ufeff/, '')))
    return isObject(value) ? value : undefined
  } catch (error) {
    return void found.invalid(`${file} cannot be used: ${(error as Error).message.split('\n')[0]}.`, file)
  }
}

/** Each as a prompt that users call by its name. What it runs or reads is done when a person calls it. */
export function tomlCommands(found: Package): PackageText[] {
  return found.files('commands', '.toml').flatMap((path) => {
    const file = join(found.place.root, 'commands', path)
    const document = readToml(found, file)
    if (!document) return []
    const { prompt, description } = document
    if (typeof prompt !== 'string') {
      found.invalid(`${file} has no 'prompt' and is left out.`, file)
      return []
    }
    const about = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
    const text = skillText(
      found,
      file,
      path.replace(/\.toml$/, '').replaceAll('/', '-'),
      'command',
      Buffer.from(`---\n${about}---\n${prompt}`),
    )
    return text ? [text] : []
  })
}
