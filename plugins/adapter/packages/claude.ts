/** Plugins of Claude Code and Codex, and the bare `.mcp.json` that many programs read. */
import type { JsonObject } from '../../../core/index.js'
import { fill, foldersOf, isObject, type Package } from './package.js'
import { skillsIn } from './skills.js'

const facts: Record<string, 'string' | 'object'> = { name: 'string', version: 'string', description: 'string', license: 'string', homepage: 'string' }
const looks = ['lspServers', 'outputStyles', 'workflows', 'monitors', 'themes', 'channels', 'settings', 'dependencies', 'apps', 'interface', 'userConfig']

/** False when a known fact has a wrong type: then nothing of the package is used. */
export function readClaudePlugin(found: Package, manifest: JsonObject, file: string): boolean {
  const wrong = Object.entries(facts).find(([key, type]) => manifest[key] !== undefined && typeof manifest[key] !== type)
  if (wrong) {
    found.invalid(`${file}: '${wrong[0]}' is no text.`, file)
    return false
  }
  const said = manifest['mcpServers']
  const inline = isObject(said) ? said : undefined
  const path = typeof said === 'string' ? said : '.mcp.json'
  const document = inline ?? (found.holds(path) ? found.read(path) : undefined)
  if (document) readServers(found, document, inline ? file : `${found.place.root}/${path}`)
  const hooks = isObject(manifest['hooks']) ? Object.keys(manifest['hooks']).length : 0
  const listed = (key: string): string[] => (typeof manifest[key] === 'string' || Array.isArray(manifest[key]) ? [manifest[key]].flat().map(String) : [])
  const commands = manifest['commands'] === undefined ? ['commands'] : listed('commands')
  found.skills = () => skillsIn(found, { skills: ['skills', ...listed('skills'), ...(found.leads('SKILL.md') ? ['.'] : [])], commands })
  found.unsupported(
    {
      'Commands as objects': isObject(manifest['commands']) ? Object.keys(manifest['commands']).length : 0,
      'Agent definitions': found.count('agents', /\.md$/),
      'Lifecycle hooks': hooks + found.count('hooks', /\.json$/),
      'Programs in bin/': found.count('bin', /./),
      ...Object.fromEntries(looks.map((key) => [`'${key}'`, manifest[key] === undefined ? 0 : 1])),
    },
    file,
  )
  return true
}

/** `{ mcpServers: {…} }` or the bare map. */
export function readServers(found: Package, document: JsonObject, file: string): void {
  const variables = foldersOf(found.place)
  for (const [name, said] of Object.entries(isObject(document['mcpServers']) ? document['mcpServers'] : document)) {
    const definition = isObject(said) ? serverOf(fill(said, variables)) : undefined
    if (definition) found.server(name, definition, file)
    else found.invalid(`${file}: the server ${name} has neither a command nor a URL of a type that is spoken here.`, file)
  }
}

function serverOf({ type, command, args, env, cwd, url, httpUrl, headers, bearer_token_env_var, tool_timeout_sec }: JsonObject): JsonObject | undefined {
  const auth = typeof bearer_token_env_var === 'string' && { auth: { type: 'bearer', value: { env: bearer_token_env_var } } }
  const shared = { expand: true, ...(typeof tool_timeout_sec === 'number' && { tool_timeout_secs: tool_timeout_sec }), ...auth }
  if (typeof command === 'string') {
    return { type: 'stdio', command, ...(Array.isArray(args) && { args: args.map(String) }), ...(isObject(env) && { env: texts(env) }), ...(typeof cwd === 'string' && { cwd }), ...shared }
  }
  const target = httpUrl ?? url
  if (typeof target !== 'string' || type === 'ws') return undefined
  return { type: type === 'sse' ? 'sse' : 'streamable-http', url: target, ...(isObject(headers) && { headers: texts(headers) }), ...shared }
}

export const texts = (values: JsonObject): Record<string, string> => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
