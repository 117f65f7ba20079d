import type { JsonObject } from '../../../core/index.js'
import { addHooks, type HookDocument } from './hooks.js'
import { isObject } from './objects.js'
import { foldersOf, type Package } from './package.js'
import { addServer, type DeclaredServer } from './servers.js'
import { skillsIn, type CommandPlace } from './skills.js'
import { needsOf } from './values.js'

const facts = ['name', 'version', 'description', 'license', 'homepage']
const looks = [
  'lspServers',
  'outputStyles',
  'workflows',
  'monitors',
  'themes',
  'channels',
  'settings',
  'dependencies',
  'apps',
  'interface',
]

/** False when a known fact has a wrong type: then nothing of the package is used. */
export function readClaudePlugin(found: Package, manifest: JsonObject, file: string): boolean {
  const wrong = facts.find((key) => manifest[key] !== undefined && typeof manifest[key] !== 'string')
  if (wrong !== undefined) {
    found.invalid(`${file}: '${wrong}' is no text.`, file)
    return false
  }
  found.needs = needsOf(manifest['userConfig'])
  found.variable = (key) => `CLAUDE_PLUGIN_OPTION_${key.replace(/\W/g, '_').toUpperCase()}`
  for (const { document, file: place } of documents(found, manifest['mcpServers'], ['.mcp.json'], file))
    if (document) readServers(found, document, place)
  const codex = found.format === 'Codex'
  const usual = codex ? ['hooks/hooks.json', 'hooks.json'] : ['hooks/hooks.json']
  const sources = documents(found, manifest['hooks'], usual, file)
  const env = { ...foldersOf(found.place), ...found.exported() }
  addHooks(found, sources, {
    dialect: 'claude',
    names: { literals: foldersOf(found.place) },
    env,
    ...(codex && { cwd: found.place.root }),
  })
  const listed = (key: string): string[] =>
    isObject(manifest[key]) ? [] : [manifest[key]].flat().filter((path) => typeof path === 'string')
  const commands = commandsIn(manifest['commands'])
  const agents = ['agents', ...listed('agents')].flatMap((path) =>
    path.endsWith('.md') ? [path] : found.files(path, '.md').map((name) => `${path}/${name}`),
  )
  found.skills = () =>
    skillsIn(found, {
      skills: ['skills', ...listed('skills'), ...(found.leads('SKILL.md') ? ['.'] : [])],
      commands,
      agents: [...new Set(agents)],
      instructions: codex ? listed('instructions') : [],
    })
  found.unsupported(
    {
      // Where no manifest says that it is a plugin they are those of an npm package.
      'Programs in bin/': file === found.place.root ? [] : found.files('bin'),
      ...Object.fromEntries(looks.map((key) => [`'${key}'`, manifest[key] === undefined ? 0 : 1])),
    },
    file,
  )
  return true
}

/** Paths, or names with the file of each; lists that only describe what lies in the usual folder say nothing of a place. */
function commandsIn(raw: unknown): CommandPlace[] {
  if (isObject(raw))
    return Object.entries(raw).flatMap(([name, one]) =>
      isObject(one) && typeof one['source'] === 'string' ? [{ path: one['source'], name }] : [],
    )
  const places = [raw].flat().flatMap((one): CommandPlace[] => {
    const path = isObject(one) ? (one['source'] ?? one['path'] ?? one['file']) : one
    return typeof path === 'string' ? [{ path }] : []
  })
  return places.length === 0 && !(Array.isArray(raw) && raw.length === 0) ? [{ path: 'commands' }] : places
}

/** What a manifest says of a part: in itself, in files that it names, or in those where it usually lies. */
function documents(found: Package, raw: unknown, usual: readonly string[], file: string): HookDocument[] {
  const parts = [raw].flat()
  const named = parts.filter((part) => typeof part === 'string')
  const paths = [...new Set([...(raw === undefined ? usual : []), ...named])]
  return [
    ...parts.filter(isObject).map((document) => ({ document, file })),
    ...paths.map((path) => ({ document: found.read(path), file: `${found.place.root}/${path.replace(/^\.\//, '')}` })),
  ]
}

/** `{ mcpServers: {…} }` or the bare map. */
export function readServers(found: Package, document: JsonObject, file: string): void {
  const names = { literals: foldersOf(found.place), environment: true }
  for (const [name, raw] of Object.entries(isObject(document['mcpServers']) ? document['mcpServers'] : document)) {
    const server = isObject(raw) ? serverOf(raw) : undefined
    if (server) addServer(found, name, server, names, file)
    else
      found.invalid(`${file}: the server ${name} has neither a command nor a URL of a type that is spoken here.`, file)
  }
}

function serverOf({
  type,
  command,
  args,
  env,
  cwd,
  url,
  httpUrl,
  headers,
  bearer_token_env_var,
  tool_timeout_sec,
}: JsonObject): DeclaredServer | undefined {
  const auth = typeof bearer_token_env_var === 'string' && {
    auth: { type: 'bearer', value: { env: bearer_token_env_var } },
  }
  const more = { ...(typeof tool_timeout_sec === 'number' && { tool_timeout_secs: tool_timeout_sec }), ...auth }
  if (typeof command === 'string') return { command, args, env, cwd, more }
  const target = httpUrl ?? url
  if (typeof target !== 'string' || type === 'ws') return undefined
  return { type: type === 'sse' ? 'sse' : 'streamable-http', url: target, headers, more }
}
