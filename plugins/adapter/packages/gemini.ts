import { sep } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { addHooks } from './hooks.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { addRules } from './rules.js'
import { addServer } from './servers.js'
import { collectSkills } from './skills.js'
import { readTomlCommands } from './toml.js'
import { parseNeeds } from './values.js'

export function readGeminiExtension(found: Package, manifest: JsonObject): boolean {
  const { root, workspace } = found.place
  const file = `${root}/gemini-extension.json`
  const literals = { extensionPath: root, workspacePath: workspace, '/': sep }
  const names = { literals, environment: true }
  found.needs = parseSettings(manifest['settings'])
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
    else found.reportInvalid(`${file}: the server ${name} needs a command or a URL.`, file)
  }
  const env = { extensionPath: root, workspacePath: workspace, GEMINI_PROJECT_DIR: workspace, ...found.listVariables() }
  const hooks = { document: found.readJson('hooks/hooks.json'), file: `${root}/hooks/hooks.json` }
  addHooks(found, [hooks], { dialect: 'gemini', names: { literals }, env, units: 1000 })
  const listTexts = (key: string): readonly string[] => [manifest[key] ?? []].flat().map(toText)
  const instructions = manifest['contextFileName'] === undefined ? ['GEMINI.md'] : listTexts('contextFileName')
  reportGeminiFaults(found, manifest, manifest['contextFileName'] === undefined ? [] : instructions, file)
  const agents = found.listPackageFiles('agents', '.md').map((name) => `agents/${name}`)
  found.skills = () =>
    collectSkills(found, { skills: ['skills'], instructions, agents, more: () => readTomlCommands(found) })
  addRules(found, listTexts('excludeTools'), file)
  found.reportUnsupported(
    {
      ...Object.fromEntries(
        ['themes', 'plan', 'migratedTo'].map((key) => [`'${key}'`, manifest[key] === undefined ? 0 : 1]),
      ),
    },
    file,
  )
  return true
}

/** Parses the settings that Gemini asks the user for, keyed by their environment variables. */
const parseSettings = (raw: unknown) =>
  parseNeeds(
    Object.fromEntries(
      (Array.isArray(raw) ? raw : []).flatMap((field) =>
        isObject(field) && typeof field['envVar'] === 'string'
          ? [[field['envVar'], { ...field, title: field['name'] }]]
          : [],
      ),
    ),
  )

/** Reports a missing version and context file, and a list of agents, which Gemini reads from their folder only. */
function reportGeminiFaults(found: Package, manifest: JsonObject, contexts: readonly string[], file: string): void {
  if (typeof manifest['version'] !== 'string') found.reportForeign(`'version' is missing`, file)
  if (manifest['agents'] !== undefined)
    found.reportInvalid(`${file}: 'agents' does not count; agents are read from the folder agents/.`, file)
  for (const name of contexts)
    if (!found.resolveInside(name))
      found.reportInvalid(`${file}: the context file ${JSON.stringify(name)} does not exist.`, file)
}
