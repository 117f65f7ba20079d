/** MCP bundles (MCPB, formerly DXT): `manifest.json` with one server. */
import { sep } from 'node:path'
import type { JsonObject, PackageText } from '../../../core/index.js'
import { texts } from './claude.js'
import { fill, isObject, type Package } from './package.js'
import { skillsIn, textOf } from './skills.js'

export function readBundle(found: Package, manifest: JsonObject): boolean {
  const { root, env, options } = found.place
  const file = `${root}/manifest.json`
  const server = isObject(manifest['server']) ? manifest['server'] : {}
  const said = isObject(server['mcp_config']) ? server['mcp_config'] : undefined
  if (!said || typeof said['command'] !== 'string') {
    found.invalid(`${file}: 'server.mcp_config' names no command.`, file)
    return false
  }
  const overrides = isObject(said['platform_overrides']) ? said['platform_overrides'][process.platform] : undefined
  const config: JsonObject = { ...said, ...(isObject(overrides) && overrides) }
  const home = env['HOME'] ?? ''
  const folders = { DESKTOP: `${home}${sep}Desktop`, DOCUMENTS: `${home}${sep}Documents`, DOWNLOADS: `${home}${sep}Downloads` }
  const variables = { __dirname: root, HOME: home, '/': sep, pathSeparator: sep, ...folders }
  const values = { ...defaultsOf(manifest['user_config']), ...options }
  const args = (Array.isArray(config['args']) ? config['args'] : []).flatMap((arg) => argumentOf(String(arg), variables, values))
  const given = Object.fromEntries(Object.entries(isObject(config['env']) ? texts(config['env']) : {}).map(([name, text]) => [name, argumentOf(text, variables, values).join(' ')]))
  found.server(String(manifest['name']), { type: 'stdio', command: fill(String(config['command']), variables), args, env: given }, file)
  const prompts = (Array.isArray(manifest['prompts']) ? manifest['prompts'] : []).filter(isObject)
  found.skills = () => skillsIn(found, { skills: [], more: () => prompts.flatMap((prompt) => promptOf(found, prompt, file) ?? []) })
  found.unsupported({ 'Prompts that the server makes': manifest['prompts_generated'] === true ? 1 : 0, [`A server of type ${String(server['type'])}`]: server['type'] === 'uv' ? 1 : 0 }, file)
  return true
}

/** A prompt with a text; `${arguments.x}` in it says what the user is to fill in. */
function promptOf(found: Package, { name, description, text, arguments: args }: JsonObject, file: string): PackageText | undefined {
  if (typeof name !== 'string' || typeof text !== 'string') return void found.invalid(`${file}: a prompt has no name or no text.`, file)
  const hint = Array.isArray(args) && args.length > 0 ? `argument-hint: ${JSON.stringify(args.join(' '))}\n` : ''
  const said = typeof description === 'string' ? `description: ${JSON.stringify(description)}\n` : ''
  return textOf(found, file, name, 'prompt', Buffer.from(`---\n${said}${hint}---\n${text}`))
}

function defaultsOf(config: unknown): JsonObject {
  const fields = Object.entries(isObject(config) ? config : {})
  return Object.fromEntries(fields.flatMap(([name, field]) => (isObject(field) && field['default'] !== undefined ? [[name, field['default']]] : [])))
}

/** A list stands for several arguments where it is all of one; a value is never read again. */
function argumentOf(text: string, variables: Record<string, string>, values: JsonObject): string[] {
  const [, whole] = /^\$\{user_config\.([\w-]+)\}$/.exec(text) ?? []
  if (whole !== undefined && Array.isArray(values[whole])) return values[whole].map(String)
  return [
    text.replace(/\$\{(user_config\.)?([\w/-]+)\}/g, (source, own: string | undefined, name: string) => {
      const value = own ? values[name] : Object.hasOwn(variables, name) ? variables[name] : source
      return value === undefined ? '' : String(value)
    }),
  ]
}
