import { sep } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { JsonObject, PackageText } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { addServer } from './servers.js'
import { collectSkills, toSkillText } from './skills.js'
import { parseNeeds } from './values.js'

export function readBundle(found: Package, manifest: JsonObject): boolean {
  const { root, env } = found.place
  const file = `${root}/manifest.json`
  const server = isObject(manifest['server']) ? manifest['server'] : {}
  const declared = isObject(server['mcp_config']) ? server['mcp_config'] : undefined
  if (!declared || typeof declared['command'] !== 'string') {
    found.reportInvalid(`${file}: 'server.mcp_config' has no 'command'.`, file)
    return false
  }
  const entry = server['entry_point']
  if (typeof entry === 'string' && !found.resolveInside(entry)) {
    found.refuse(`${file}: the entry point ${JSON.stringify(entry.slice(0, 200))} does not exist.`, file)
    return false
  }
  reportMissing(found, manifest, server, file)
  const overrides = isObject(declared['platform_overrides'])
    ? declared['platform_overrides'][process.platform]
    : undefined
  const { command, args, env: variables }: JsonObject = { ...declared, ...(isObject(overrides) && overrides) }
  const home = env['HOME'] ?? ''
  const folders = {
    DESKTOP: `${home}${sep}Desktop`,
    DOCUMENTS: `${home}${sep}Documents`,
    DOWNLOADS: `${home}${sep}Downloads`,
  }
  const literals = { __dirname: root, HOME: home, '/': sep, pathSeparator: sep, ...folders }
  found.needs = parseNeeds(manifest['user_config'], literals)
  const requires = parseRequirements(manifest['compatibility'])
  addServer(
    found,
    toText(manifest['name']),
    { command, args, env: variables, ...(requires && { requires }) },
    { literals, isComplete: true },
    file,
  )
  const prompts = (Array.isArray(manifest['prompts']) ? manifest['prompts'] : []).filter(isObject)
  found.skills = () =>
    collectSkills(found, {
      skills: [],
      more: () => prompts.flatMap((prompt) => toPromptText(found, prompt, file) ?? []),
    })
  found.reportUnsupported(
    {
      'Prompts that the server makes': manifest['prompts_generated'] === true ? 1 : 0,
      [`A server of type ${toText(server['type'])}`]: server['type'] === 'uv' ? 1 : 0,
    },
    file,
  )
  return true
}

/** Reports the fields without which `mcpb validate` (2.1.2) refuses a bundle. */
function reportMissing(found: Package, manifest: JsonObject, server: JsonObject, file: string): void {
  const texts = ['name', 'version', 'description'].filter((key) => typeof manifest[key] !== 'string')
  const missing = [
    ...texts,
    ...(isObject(manifest['author']) ? [] : ['author']),
    ...(typeof server['entry_point'] === 'string' ? [] : ['server.entry_point']),
    ...(['node', 'python', 'binary', 'uv'].includes(toText(server['type'])) ? [] : ['server.type']),
  ]
  if (missing.length > 0) found.reportForeign(`it has no valid ${missing.map((key) => `'${key}'`).join(', ')}`, file)
}

/** Converts a prompt. `${arguments.x}` in its text marks a value that the user fills in. */
function toPromptText(
  found: Package,
  { name, description, text, arguments: args }: JsonObject,
  file: string,
): PackageText | undefined {
  if (typeof name !== 'string' || typeof text !== 'string')
    return void found.reportInvalid(`${file}: a prompt has no name or no text.`, file)
  const hint = Array.isArray(args) && args.length > 0 ? `argument-hint: ${JSON.stringify(args.join(' '))}\n` : ''
  const header = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
  return toSkillText(found, file, name, 'prompt', Buffer.from(`---\n${header}${hint}---\n${text}`))
}

/** Converts the required systems and languages to `requires`. */
function parseRequirements(compatibility: unknown): JsonObject | undefined {
  const { platforms, runtimes } = isObject(compatibility) ? compatibility : {}
  const { node, python } = isObject(runtimes) ? runtimes : {}
  const requires = {
    ...(Array.isArray(platforms) && { os: platforms.map(toText) }),
    ...(typeof node === 'string' && { node }),
    ...(python !== undefined && { bin: ['python3'] }),
  }
  return Object.keys(requires).length > 0 ? requires : undefined
}
