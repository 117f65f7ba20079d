import { isObject } from '../../../core/base/index.js'
import type { JsonObject } from '../../../core/index.js'

const NAME = 'vtcode'
const BEGIN = '# vtcode: begin'
const END = '# vtcode: end'

/**
 * The text of a client's settings with our entry in it, or without it when `entry` is absent; everything else stays as it is.
 * Nothing left = `undefined`. Throws when the text is not what it should be: somebody's file is never guessed at.
 */
export function edit(text: string | undefined, path: string[] | undefined, entry: JsonObject | undefined): string | undefined {
  return path ? editJson(text, path, entry) : editToml(text ?? '', entry)
}

function editJson(text: string | undefined, path: string[], entry: JsonObject | undefined): string | undefined {
  const all = text?.trim() ? (JSON.parse(text) as unknown) : {}
  if (!isObject(all)) throw new Error('it does not hold an object')
  const parents = [all]
  for (const key of path) {
    const next = parents.at(-1)![key] ?? {}
    if (!isObject(next)) throw new Error(`'${key}' does not hold an object`)
    parents.at(-1)![key] = next
    parents.push(next)
  }
  if (entry) parents.at(-1)![NAME] = entry
  else delete parents.at(-1)![NAME]
  for (let depth = path.length; depth > 0; depth--) if (Object.keys(parents[depth]!).length === 0) delete parents[depth - 1]![path[depth - 1]!]
  const indent = /^\{\r?\n([ \t]+)/.exec(text ?? '')?.[1] ?? '  '
  return Object.keys(all).length === 0 ? undefined : `${JSON.stringify(all, null, indent)}\n`
}

/** TOML is not read: our table stands between two comments, and what is around them is not touched. */
function editToml(text: string, entry: JsonObject | undefined): string | undefined {
  const rest = text.replace(new RegExp(`\\n?${BEGIN}\\n[\\s\\S]*?${END}\\n`), '')
  if (entry && /^\s*\[mcp_servers\.(?:vtcode|"vtcode")\]/m.test(rest)) throw new Error('it has a table mcp_servers.vtcode of its own')
  if (!entry) return rest.trim() === '' ? undefined : rest
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
  const gap = rest === '' ? '' : rest.endsWith('\n') ? '\n' : '\n\n'
  return `${rest}${gap}${BEGIN}\n[mcp_servers.${NAME}]\n${lines.join('\n')}\n${END}\n`
}
