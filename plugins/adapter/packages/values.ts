import { toText } from '../../../core/text/index.js'
import type { JsonObject, Manifest } from '../../../core/index.js'
import { fill, isObject } from './objects.js'

/** A text, or what is looked up when it is used: an option, a secret, a variable, several of them joined. */
export type ValueWords = string | JsonObject
/** Which names a format gives to what. */
export interface Names {
  /** Folders and the like, filled in at once and never looked at again. */
  literals: Readonly<Record<string, string>>
  /** Every other name is a variable of the user's environment. */
  environment?: boolean
}
/** Options are values that the settings say, secrets are bound to where they are kept. */
export interface Needs {
  options: Record<string, JsonObject>
  required: string[]
  secrets: Record<string, JsonObject>
}

const reference = /\$\{(?:user_config\.([\w-]+)|([A-Za-z_]\w*|\/)(?::-([^}]*))?)\}/g
const types = new Set(['string', 'number', 'boolean'])

/** `userConfig` of Claude Code and `user_config` of a bundle: key to field. */
export function needsOf(raw: unknown, literals: Readonly<Record<string, string>> = {}): Needs {
  const needs: Needs = { options: {}, required: [], secrets: {} }
  for (const [key, field] of Object.entries(isObject(raw) ? raw : {})) {
    if (!isObject(field)) continue
    const { type, title, description, sensitive, required, multiple } = field
    const about = [title, description].filter((text) => typeof text === 'string').join(': ')
    if (sensitive === true) needs.secrets[key] = { description: about, required: required === true }
    else {
      // A file or a folder is a text.
      const one = { type: types.has(toText(type)) ? toText(type) : 'string' }
      const byDefault = fill(field['default'], literals)
      needs.options[key] = {
        ...(multiple === true ? { type: 'array', items: one } : one),
        description: about,
        ...(byDefault !== undefined && { default: byDefault }),
      }
      if (required === true && byDefault === undefined) needs.required.push(key)
    }
  }
  return needs
}

/** As every manifest of the package declares them. */
export const declared = ({ options, required, secrets }: Needs): Pick<Manifest, 'options'> & JsonObject => ({
  ...(Object.keys(options).length > 0 && { options: { type: 'object', properties: options, required } }),
  ...(Object.keys(secrets).length > 0 && { secrets }),
})

/** Every value under a variable of its own, for programs that look for them there. */
export const exported = ({ options, secrets }: Needs, nameOf: (key: string) => string): Record<string, JsonObject> =>
  Object.fromEntries([
    ...Object.keys(options).map((key) => [nameOf(key), { option: key }]),
    ...Object.keys(secrets).map((key) => [nameOf(key), { secret: key }]),
  ])

/** A text with its references taken apart, in one pass. Throws what it names and nobody declares. */
export function wordedValue(
  text: string,
  { literals, environment = false }: Names,
  { options, secrets }: Needs,
): ValueWords {
  const parts: ValueWords[] = []
  const add = (part: ValueWords): void => {
    const last = parts.at(-1)
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part
    else if (part !== '') parts.push(part)
  }
  let end = 0
  for (const { 0: whole, 1: key, 2: name = '', 3: otherwise, index } of text.matchAll(reference)) {
    add(text.slice(end, index))
    end = index + whole.length
    if (key !== undefined) {
      if (!Object.hasOwn(options, key) && !Object.hasOwn(secrets, key))
        throw new Error(`it names the value '${key}', which the package does not declare`)
      add(Object.hasOwn(secrets, key) ? { secret: key } : { option: key })
    } else if (Object.hasOwn(literals, name)) add(literals[name]!)
    else if (environment && name !== '/') add({ env: name, ...(otherwise !== undefined && { default: otherwise }) })
    else add(whole)
  }
  add(text.slice(end))
  return parts.length > 1 ? { join: parts } : (parts[0] ?? '')
}

/** Other programs see the arguments of a process, and servers keep the addresses they are asked for: no secret belongs there. */
export const holdsSecret = (words: ValueWords | undefined): boolean =>
  typeof words === 'object' &&
  (Object.hasOwn(words, 'secret') ||
    (Array.isArray(words['join']) && words['join'].some((part: ValueWords) => holdsSecret(part))))
