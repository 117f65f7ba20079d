import { sep } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { JsonObject, PackageText } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { addServer } from './servers.js'
import { skillsIn, skillText } from './skills.js'
import { needsOf } from './values.js'

export function readBundle(found: Package, manifest: JsonObject): boolean {
  const { root, env } = found.place
  const file = `${root}/manifest.json`
  const server = isObject(manifest['server']) ? manifest['server'] : {}
  const declared = isObject(server['mcp_config']) ? server['mcp_config'] : undefined
  if (!declared || typeof declared['command'] !== 'string') {
    found.invalid(`${file}: 'server.mcp_config' names no command.`, file)
    return false
  }
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
  found.needs = needsOf(manifest['user_config'], literals)
  const requires = requirementsOf(manifest['compatibility'])
  addServer(
    found,
    toText(manifest['name']),
    { command, args, env: variables, ...(requires && { requires }) },
    { literals },
    file,
  )
  const prompts = (Array.isArray(manifest['prompts']) ? manifest['prompts'] : []).filter(isObject)
  found.skills = () =>
    skillsIn(found, { skills: [], more: () => prompts.flatMap((prompt) => promptOf(found, prompt, file) ?? []) })
  found.unsupported(
    {
      'Prompts that the server makes': manifest['prompts_generated'] === true ? 1 : 0,
      [`A server of type ${toText(server['type'])}`]: server['type'] === 'uv' ? 1 : 0,
    },
    file,
  )
  return true
}

/** A prompt with a text; `${arguments.x}` in it says what the user is to fill in. */
function promptOf(
  found: Package,
  { name, description, text, arguments: args }: JsonObject,
  file: string,
): PackageText | undefined {
  if (typeof name !== 'string' || typeof text !== 'string')
    return void found.invalid(`${file}: a prompt has no name or no text.`, file)
  const hint = Array.isArray(args) && args.length > 0 ? `argument-hint: ${JSON.stringify(args.join(' '))}\n` : ''
  const header = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
  return skillText(found, file, name, 'prompt', Buffer.from(`---\n${header}${hint}---\n${text}`))
}

/** Systems and languages that it names, in our words. */
function requirementsOf(compatibility: unknown): JsonObject | undefined {
  const { platforms, runtimes } = isObject(compatibility) ? compatibility : {}
  const { node, python } = isObject(runtimes) ? runtimes : {}
  const requires = {
    ...(Array.isArray(platforms) && { os: platforms.map(toText) }),
    ...(typeof node === 'string' && { node }),
    ...(python !== undefined && { bin: ['python3'] }),
  }
  return Object.keys(requires).length > 0 ? requires : undefined
}
