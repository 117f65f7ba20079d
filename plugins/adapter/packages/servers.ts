import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isOwnServer } from '../../lib/base/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { holdsSecret, wordedValue, type Names, type ValueWords } from './values.js'

export interface DeclaredServer {
  command?: unknown
  args?: unknown
  env?: unknown
  cwd?: unknown
  /** The address, with the way it is spoken. */
  url?: unknown
  type?: 'streamable-http' | 'sse'
  headers?: unknown
  /** What is in our words already. */
  more?: JsonObject
  /** What has to be here for it. */
  requires?: JsonObject
}

/** A server whose texts may wait for values of the user; one that cannot be meant so is left out and named. */
export function addServer(
  found: Package,
  name: string,
  { command, args, env, cwd, url, type, headers, more, requires }: DeclaredServer,
  names: Names,
  file: string,
): void {
  // It would never run, so nobody is asked about it: `vtcode setup` enters it into a file that we read as well.
  if (isOwnServer(command, args)) return
  const { needs } = found
  const word = (text: unknown): ValueWords => wordedValue(toText(text), names, needs)
  const open = (text: unknown, where: string): ValueWords => {
    const words = word(text)
    if (holdsSecret(words)) throw new Error(`it puts a secret into ${where}, where others can read it`)
    return words
  }
  const each = (texts: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, word(text)]))
  try {
    const own = { ...found.exported(), ...(isObject(env) && each(env)) }
    const definition: JsonObject =
      typeof command === 'string'
        ? {
            type: 'stdio',
            command: open(command, 'its command'),
            ...(Array.isArray(args) && { args: args.map((arg) => open(arg, 'its arguments')) }),
            ...(Object.keys(own).length > 0 && { env: own }),
            ...(typeof cwd === 'string' && { cwd: open(cwd, 'its folder') }),
          }
        : { type, url: open(url, 'its address'), ...(isObject(headers) && { headers: each(headers) }) }
    found.addManifest(name, { mcp: { server: { ...definition, ...more } }, ...(requires && { requires }) }, file)
  } catch (error) {
    found.invalid(`${file}: the server ${name} is left out: ${(error as Error).message}.`, file)
  }
}
