import type { JsonObject } from '../../../core/index.js'
import { addHooks, type HookDocument } from './hooks.js'
import { isObject } from './objects.js'
import { createFolderVariables, type Package } from './package.js'
import { addServer, type DeclaredServer } from './servers.js'
import { collectSkills, type CommandPlace } from './skills.js'
import { parseNeeds } from './values.js'

const TEXT_KEYS = ['name', 'version', 'description', 'license', 'homepage']
const UNSUPPORTED_KEYS = [
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

/**
 * Reads a plugin of Claude Code or Codex. Returns false when a known key has a wrong type: then nothing of it is used.
 */
export function readClaudePlugin(found: Package, manifest: JsonObject, file: string): boolean {
  const codex = found.format === 'Codex'
  const wrong = TEXT_KEYS.find((key) => manifest[key] !== undefined && typeof manifest[key] !== 'string')
  if (wrong !== undefined) {
    found.reportInvalid(`${file}: '${wrong}' is not a string.`, file)
    return false
  }
  if (!codex) reportRefusals(found, manifest, file)
  found.needs = parseNeeds(manifest['userConfig'])
  found.variable = (key) => `CLAUDE_PLUGIN_OPTION_${key.replace(/\W/g, '_').toUpperCase()}`
  const usual = listUsualPlaces(found, manifest)
  for (const { document, file: place } of readDocuments(found, manifest['mcpServers'], usual.servers, file))
    if (document) readServers(found, document, place)
  const sources = readDocuments(found, manifest['hooks'], usual.hooks, file)
  const env = { ...createFolderVariables(found.place), ...found.listVariables() }
  addHooks(found, sources, {
    dialect: 'claude',
    names: { literals: createFolderVariables(found.place) },
    env,
    ...(codex && { cwd: found.place.root }),
  })
  const listPaths = (key: string): string[] =>
    isObject(manifest[key]) ? [] : [manifest[key]].flat().filter((path) => typeof path === 'string')
  const commands = parseCommandPlaces(manifest['commands'] ?? usual.commands)
  const agents = [...usual.agents, ...listPaths('agents')].flatMap((path) =>
    path.endsWith('.md') ? [path] : found.listPackageFiles(path, '.md').map((name) => `${path}/${name}`),
  )
  found.skills = () =>
    collectSkills(found, {
      skills: listSkillPaths(usual.skills, listPaths('skills'), codex),
      commands,
      agents: [...new Set(agents)],
      instructions: codex ? listPaths('instructions') : [],
    })
  found.reportUnsupported(
    {
      // Without a manifest, the programs belong to an npm package.
      'Programs in bin/': file === found.place.root ? [] : found.listPackageFiles('bin'),
      ...Object.fromEntries(UNSUPPORTED_KEYS.map((key) => [`'${key}'`, manifest[key] === undefined ? 0 : 1])),
    },
    file,
  )
  return true
}

type UsualPlaces = Record<'servers' | 'hooks' | 'skills' | 'commands' | 'agents', string[]>

/**
 * Returns the places of parts that a manifest does not list. With `strict: false`, as an entry of a marketplace has it,
 * the manifest lists every part.
 */
function listUsualPlaces(found: Package, { strict }: JsonObject): UsualPlaces {
  if (strict === false) return { servers: [], hooks: [], skills: [], commands: [], agents: [] }
  return {
    servers: ['.mcp.json'],
    hooks: found.format === 'Codex' ? ['hooks/hooks.json', 'hooks.json'] : ['hooks/hooks.json'],
    skills: ['skills', ...(found.resolveInside('SKILL.md') ? ['.'] : [])],
    commands: ['commands'],
    agents: ['agents'],
  }
}

/** Returns the folders of skills. In Codex, paths that begin with `./` replace the usual one; others do not count. */
function listSkillPaths(usual: readonly string[], declared: readonly string[], codex: boolean): readonly string[] {
  const counted = declared.filter((path) => !codex || path.startsWith('./'))
  return codex && counted.length > 0 ? [...counted, ...usual.filter((path) => path === '.')] : [...usual, ...counted]
}

/** Reports what Claude Code refuses to install. */
function reportRefusals(found: Package, manifest: JsonObject, file: string): void {
  const name = manifest['name']
  if (typeof name === 'string' && /\s/.test(name))
    found.reportForeign(`its name ${JSON.stringify(name)} has a space`, file)
  for (const key of ['commands', 'agents', 'skills'])
    for (const path of [manifest[key]].flat())
      if (typeof path === 'string' && !path.startsWith('./'))
        found.reportForeign(`the path ${JSON.stringify(path)} in '${key}' does not begin with './'`, file)
}

/** Returns the paths of commands, or names with their files. Lists that only describe the usual folder name no path. */
function parseCommandPlaces(raw: unknown): CommandPlace[] {
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

/** Reads the documents of a part: in the manifest, in the files that it names, or in the usual files. */
function readDocuments(found: Package, raw: unknown, usual: readonly string[], file: string): HookDocument[] {
  const parts = [raw].flat()
  const named = parts.filter((part) => typeof part === 'string')
  const paths = [...new Set([...(raw === undefined ? usual : []), ...named])]
  return [
    ...parts.filter(isObject).map((document) => ({ document, file })),
    ...paths.map((path) => {
      const own = `${found.place.root}/${path.replace(/^\.\//, '')}`
      const document = found.readJson(path)
      // Without its guards or servers a plugin does less than it promises.
      if (!document && named.includes(path)) found.refuse(`${own} cannot be used, or does not exist.`, own)
      return { document, file: own }
    }),
  ]
}

/** Reads the servers of `{ mcpServers: {…} }` or of the bare map. */
export function readServers(found: Package, document: JsonObject, file: string): void {
  const names = { literals: createFolderVariables(found.place), environment: true }
  for (const [name, raw] of Object.entries(isObject(document['mcpServers']) ? document['mcpServers'] : document)) {
    const server = isObject(raw) ? toDeclaredServer(raw) : undefined
    if (server) addServer(found, name, server, names, file)
    else found.reportInvalid(`${file}: the server ${name} needs a command, or a URL of a supported type.`, file)
  }
}

function toDeclaredServer({
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
