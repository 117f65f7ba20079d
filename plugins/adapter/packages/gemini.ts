/** Extensions of the Gemini CLI: `gemini-extension.json`. */
import { sep } from 'node:path'
import type { JsonObject } from '../../../core/index.js'
import { texts } from './claude.js'
import { fill, isObject, type Package } from './package.js'

export function readGeminiExtension(found: Package, manifest: JsonObject): boolean {
  const { root, workspace } = found.place
  const file = `${root}/gemini-extension.json`
  const variables = { extensionPath: root, workspacePath: workspace, '/': sep }
  for (const [name, said] of Object.entries(isObject(manifest['mcpServers']) ? manifest['mcpServers'] : {})) {
    const { command, args, env, cwd, httpUrl, url, headers, includeTools, excludeTools, timeout } = fill(isObject(said) ? said : {}, variables)
    const limits = {
      expand: true,
      ...(Array.isArray(includeTools) && { include: includeTools.map(String) }),
      ...(Array.isArray(excludeTools) && { exclude: excludeTools.map(String) }),
      ...(typeof timeout === 'number' && { tool_timeout_secs: Math.max(1, timeout / 1000) }),
      ...(isObject(headers) && { headers: texts(headers) }),
    }
    if (typeof command === 'string') {
      const more = { ...(Array.isArray(args) && { args: args.map(String) }), ...(isObject(env) && { env: texts(env) }), ...(typeof cwd === 'string' && { cwd }) }
      found.server(name, { type: 'stdio', command, ...more, ...limits }, file)
    } else if (typeof httpUrl === 'string') found.server(name, { type: 'streamable-http', url: httpUrl, ...limits }, file)
    else if (typeof url === 'string') found.server(name, { type: 'sse', url, ...limits }, file)
    else found.invalid(`${file}: the server ${name} has neither a command nor a URL.`, file)
  }
  const list = (key: string): number => (Array.isArray(manifest[key]) ? manifest[key].length : manifest[key] === undefined ? 0 : 1)
  found.unsupported(
    {
      Commands: found.count('commands', /\.toml$/),
      'Lifecycle hooks': found.count('hooks', /\.json$/),
      'Policy files': found.count('policies', /\.toml$/),
      "'excludeTools'": list('excludeTools'),
      "'settings'": list('settings'),
      "'contextFileName'": list('contextFileName'),
      "'themes'": list('themes'),
    },
    file,
  )
  return true
}
