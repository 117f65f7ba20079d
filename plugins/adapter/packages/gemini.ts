import { sep } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { addHooks } from './hooks.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { addRules } from './rules.js'
import { addServer } from './servers.js'
import { skillsIn } from './skills.js'
import { tomlCommands } from './toml.js'
import { needsOf } from './values.js'

export function readGeminiExtension(found: Package, manifest: JsonObject): boolean {
  const { root, workspace } = found.place
  const file = `${root}/gemini-extension.json`
  const literals = { extensionPath: root, workspacePath: workspace, '/': sep }
  const names = { literals, environment: true }
  found.needs = settingsOf(manifest['settings'])
  found.variable = (key) => key
  for (const [name, raw] of Object.entries(isObject(manifest['mcpServers']) ? manifest['mcpServers'] : {})) {
    const { command, args, env, cwd, httpUrl, url, headers, includeTools, excludeTools, timeout } = isObject(raw)
      ? raw
      : {}
    const more = {
      ...(Array.isArray(includeTools) && { include: includeTools.map(toText) }),
      ...(Array.isArray(excludeTools) && { exclude: excludeTools.map(toText) }),
      ...(typeof timeout === 'number' && { tool_timeout_secs: Math.max(1, timeout / 1000) }),
    }
    if (typeof command === 'string') addServer(found, name, { command, args, env, cwd, more }, names, file)
    else if (typeof httpUrl === 'string')
      addServer(found, name, { type: 'streamable-http', url: httpUrl, headers, more }, names, file)
    else if (typeof url === 'string') addServer(found, name, { type: 'sse', url, headers, more }, names, file)
    else found.invalid(`${file}: the server ${name} has neither a command nor a URL.`, file)
  }
  const env = { extensionPath: root, workspacePath: workspace, GEMINI_PROJECT_DIR: workspace, ...found.exported() }
  const hooks = { document: found.read('hooks/hooks.json'), file: `${root}/hooks/hooks.json` }
  addHooks(found, [hooks], { dialect: 'gemini', names: { literals }, env, units: 1000 })
  const listed = (key: string): readonly string[] => [manifest[key] ?? []].flat().map(toText)
  const instructions = manifest['contextFileName'] === undefined ? ['GEMINI.md'] : listed('contextFileName')
  const agents = found.files('agents', '.md').map((name) => `agents/${name}`)
  found.skills = () => skillsIn(found, { skills: ['skills'], instructions, agents, more: () => tomlCommands(found) })
  addRules(found, listed('excludeTools'), file)
  found.unsupported(
    {
      ...Object.fromEntries(
        ['themes', 'plan', 'migratedTo'].map((key) => [`'${key}'`, manifest[key] === undefined ? 0 : 1]),
      ),
    },
    file,
  )
  return true
}

/** What the user is asked for there, by the variable under which programs find it. */
const settingsOf = (raw: unknown) =>
  needsOf(
    Object.fromEntries(
      (Array.isArray(raw) ? raw : []).flatMap((field) =>
        isObject(field) && typeof field['envVar'] === 'string'
          ? [[field['envVar'], { ...field, title: field['name'] }]]
          : [],
      ),
    ),
  )
