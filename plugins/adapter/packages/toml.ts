import { join } from 'node:path'
import { requireLibrary } from '../../../core/system/index.js'
import type { JsonObject, PackageText } from '../../../core/index.js'
import { isObject, requirePlainData } from './objects.js'
import type { Package } from './package.js'
import { toSkillText } from './skills.js'

// Loaded at the first TOML file, because few packages have one.
const parse = (text: string): unknown => (requireLibrary('smol-toml') as typeof import('smol-toml')).parse(text)

/** Reads a document of the package; adds a diagnostic and returns nothing on failure. */
export function readToml(found: Package, file: string): JsonObject | undefined {
  const bytes = found.readFileBytes(file)
  try {
    const value = bytes && requirePlainData(parse(bytes.toString().replace(/^\ufeff/, '')))
    return isObject(value) ? value : undefined
  } catch (error) {
    return void found.reportInvalid(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}.`, file)
  }
}

/** Reads commands as prompts that users call by name. Nothing runs before a person calls one. */
export function readTomlCommands(found: Package): PackageText[] {
  return found.listPackageFiles('commands', '.toml').flatMap((path) => {
    const file = join(found.place.root, 'commands', path)
    const document = readToml(found, file)
    if (!document) return []
    const { prompt, description } = document
    if (typeof prompt !== 'string') {
      found.reportInvalid(`${file} has no 'prompt' and is left out.`, file)
      return []
    }
    const about = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
    const text = toSkillText(
      found,
      file,
      path.replace(/\.toml$/, '').replaceAll('/', '-'),
      'command',
      Buffer.from(`---\n${about}---\n${prompt}`),
    )
    return text ? [text] : []
  })
}
