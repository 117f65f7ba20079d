import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isOwnServer } from '../../lib/base/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { holdsSecret, isList, parseTextValue, type Names, type ValueTemplate } from './values.js'

export interface DeclaredServer {
  command?: unknown
  args?: unknown
  env?: unknown
  cwd?: unknown
  /** The address; `type` is its transport. */
  url?: unknown
  type?: 'streamable-http' | 'sse'
  headers?: unknown
  /** Fields in our form already. */
  more?: JsonObject
  /** Programs and systems that the server needs. */
  requires?: JsonObject
}

/** Adds a server whose texts may refer to values of the user. Leaves out and reports one with invalid texts. */
export function addServer(
  found: Package,
  name: string,
  { command, args, env, cwd, url, type, headers, more, requires }: DeclaredServer,
  names: Names,
  file: string,
): void {
  // Our own server would never run here. `vtcode setup` writes it to a file that we read too.
  if (isOwnServer(command, args)) return
  const { needs } = found
  const word = (text: unknown): ValueTemplate => parseTextValue(toText(text), names, needs)
  const requireSingle = (text: unknown, where: string): ValueTemplate => {
    const words = word(text)
    if (isList(words, needs.options))
      throw new Error(`it puts a list into ${where}; only an argument of its own can hold it`)
    return words
  }
  const requirePublic = (text: unknown, where: string): ValueTemplate => {
    const words = where === 'its arguments' ? word(text) : requireSingle(text, where)
    if (holdsSecret(words)) throw new Error(`it puts a secret into ${where}, where others can read it`)
    return words
  }
  const each = (texts: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, requireSingle(text, `'${key}'`)]))
  try {
    const own = { ...found.listVariables(), ...(isObject(env) && each(env)) }
    const definition: JsonObject =
      typeof command === 'string'
        ? {
            type: 'stdio',
            command: requirePublic(command, 'its command'),
            ...(Array.isArray(args) && { args: args.map((arg) => requirePublic(arg, 'its arguments')) }),
            ...(Object.keys(own).length > 0 && { env: own }),
            ...(typeof cwd === 'string' && { cwd: requirePublic(cwd, 'its folder') }),
          }
        : { type, url: requirePublic(url, 'its address'), ...(isObject(headers) && { headers: each(headers) }) }
    found.addManifest(name, { mcp: { server: { ...definition, ...more } }, ...(requires && { requires }) }, file)
  } catch (error) {
    found.reportInvalid(`${file}: the server ${name} is left out: ${(error as Error).message}.`, file)
  }
}
