/** Agent Plugins 1.0.0, https://agent-plugins.org: `plugin.json`, `mcp.json`, `skills/`. */
import type { JsonObject } from '../../../core/index.js'
import { fill, isObject, type Package } from './package.js'

const schemaOf = (name: string): string => `https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`
const nameRule = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const known = ['$schema', 'name', 'version', 'description', 'author', 'homepage', 'repository', 'license', 'keywords', 'extensions']
const fieldsOf: Record<string, string[]> = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  'streamable-http': ['type', 'url', 'headers'],
  sse: ['type', 'url', 'headers'],
}

/** False when the manifest breaks the format: then nothing of the package is used. */
export function readAgentPlugin(found: Package, manifest: JsonObject): boolean {
  const file = `${found.place.root}/plugin.json`
  const wrong = faultOf(manifest)
  if (wrong !== undefined) {
    found.invalid(`${file}: ${wrong}.`, file)
    return false
  }
  const strange = Object.keys(manifest).filter((key) => !known.includes(key))
  if (strange.length > 0) found.unsupported({ [`Unknown keys (${strange.join(', ')})`]: strange.length }, file)
  if (manifest['extensions'] !== undefined && !isObject(manifest['extensions'])) found.invalid(`${file}: 'extensions' is no object and is ignored.`, file)
  readServers(found)
  return true
}

function faultOf({ $schema, name, author, ...facts }: JsonObject): string | undefined {
  if ($schema !== schemaOf('plugin')) return `'$schema' is ${JSON.stringify($schema)}; only ${schemaOf('plugin')} is read`
  if (typeof name !== 'string' || !nameRule.test(name)) return `'name' is ${JSON.stringify(name)}; lower-case letters, digits, single . and - are allowed`
  const text = ['version', 'description', 'homepage', 'repository', 'license'].find((key) => facts[key] !== undefined && typeof facts[key] !== 'string')
  if (text !== undefined) return `'${text}' is no text`
  const { keywords } = facts
  if (keywords !== undefined && !(Array.isArray(keywords) && keywords.every((word) => typeof word === 'string'))) return "'keywords' is no list of texts"
  if (author === undefined) return undefined
  if (!isObject(author) || typeof author['name'] !== 'string') return "'author' has no name"
  const odd = Object.entries(author).find(([key, value]) => !['name', 'email', 'url'].includes(key) || typeof value !== 'string')
  return odd && `'author' holds '${odd[0]}', which is not allowed`
}

function readServers(found: Package): void {
  const file = `${found.place.root}/mcp.json`
  const document = found.read('mcp.json')
  if (!document) return
  const { $schema, mcpServers, ...others } = document
  if ($schema !== schemaOf('mcp') || !isObject(mcpServers) || Object.keys(others).length > 0) {
    return found.invalid(`${file} does not keep to its schema; no server of it is used.`, file)
  }
  const variables = { PLUGIN_ROOT: found.place.root, PLUGIN_DATA: found.place.data }
  for (const [name, said] of Object.entries(mcpServers)) {
    const wrong = isObject(said) ? faultOfServer(said, found) : 'it is no object'
    if (wrong !== undefined) found.invalid(`${file}: the server ${name} is left out: ${wrong}.`, file)
    else {
      const { args, env, cwd, ...rest } = said as JsonObject
      found.server(name, { ...rest, ...fill({ ...(args !== undefined && { args }), ...(env !== undefined && { env }), ...(cwd !== undefined && { cwd }) } as JsonObject, variables) }, file)
    }
  }
}

function faultOfServer(server: JsonObject, found: Package): string | undefined {
  const fields = fieldsOf[String(server['type'])]
  if (!fields) return `its type is ${JSON.stringify(server['type'])}`
  const odd = Object.keys(server).find((key) => !fields.includes(key))
  if (odd !== undefined) return `'${odd}' does not belong to a server of type ${String(server['type'])}`
  const { command, args, env, cwd, url, headers } = server
  const texts = (value: unknown): boolean => value === undefined || (isObject(value) && Object.values(value).every((text) => typeof text === 'string'))
  if (server['type'] !== 'stdio') {
    if (typeof url !== 'string' || !texts(headers)) return 'its URL or headers are no texts'
    const names = Object.keys((headers ?? {}) as object).map((name) => name.toLowerCase())
    return new Set(names).size < names.length ? 'a header stands there twice' : undefined
  }
  if (typeof command !== 'string' || /\s|\$\{/.test(command) || !(command.startsWith('./') || !/[/\\]/.test(command))) return `its command ${JSON.stringify(command)} is no single word or ./path`
  if (command.startsWith('./') && !found.holds(command)) return 'its command leads out of the package'
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === 'string'))) return "'args' is no list of texts"
  if (!texts(env) || Object.keys((env ?? {}) as object).some((name) => name === 'PLUGIN_ROOT' || name === 'PLUGIN_DATA')) return "'env' is not texts, or sets what the program sets"
  if (cwd === undefined) return undefined
  const [, inside] = /^(?:\.|\$\{PLUGIN_ROOT\})((?:\/.*)?)$/s.exec(String(cwd)) ?? []
  if (inside === undefined && !/^\$\{PLUGIN_DATA\}(?:\/(?!.*\.\.).*)?$/s.test(String(cwd))) return "'cwd' is neither ./…, ${PLUGIN_ROOT} nor ${PLUGIN_DATA}"
  return inside !== undefined && !found.holds(`.${inside}`) ? 'its cwd leads out of the package' : undefined
}
