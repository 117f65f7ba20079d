import { toText } from '../../../core/text/index.js'
import type { JsonObject, Manifest } from '../../../core/index.js'
import { fill, isObject } from './objects.js'

/** A text, or a reference that is resolved on use: an option, a secret, a variable, or several joined. */
export type ValueTemplate = string | JsonObject
/** The meaning of names in a format. */
export interface Names {
  /** Folders and similar values, filled in at once and never parsed again. */
  literals: Readonly<Record<string, string>>
  /** Set when every other name is an environment variable of the user. */
  environment?: boolean
  /** Set when no other name has a meaning. */
  isComplete?: boolean
}
/** The values that a package needs: options come from the settings, secrets from where they are stored. */
export interface Needs {
  options: Record<string, JsonObject>
  required: string[]
  secrets: Record<string, JsonObject>
}

const REFERENCE = /\$\{(?:user_config\.([\w-]+)|([A-Za-z_]\w*|\/)(?::-([^}]*))?)\}/g
const types = new Set(['string', 'number', 'boolean'])

/** Parses `userConfig` of Claude Code and `user_config` of a bundle: key to field. */
export function parseNeeds(raw: unknown, literals: Readonly<Record<string, string>> = {}): Needs {
  const needs: Needs = { options: {}, required: [], secrets: {} }
  for (const [key, field] of Object.entries(isObject(raw) ? raw : {})) {
    if (!isObject(field)) continue
    const { type, title, description, sensitive, required, multiple } = field
    const about = [title, description].filter((text) => typeof text === 'string').join(': ')
    if (sensitive === true) needs.secrets[key] = { description: about, required: required === true }
    else {
      // Files and folders are strings.
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

/** Returns the fields that declare these values in every manifest of the package. */
export const toManifestFields = ({ options, required, secrets }: Needs): Pick<Manifest, 'options'> & JsonObject => ({
  ...(Object.keys(options).length > 0 && { options: { type: 'object', properties: options, required } }),
  ...(Object.keys(secrets).length > 0 && { secrets }),
})

/** Returns a variable for each value, for programs that read them from the environment. */
export const toVariables = ({ options, secrets }: Needs, nameOf: (key: string) => string): Record<string, JsonObject> =>
  Object.fromEntries([
    ...Object.keys(options).map((key) => [nameOf(key), { option: key }]),
    ...Object.keys(secrets).map((key) => [nameOf(key), { secret: key }]),
  ])

/**
 * Parses the references of a text in one pass. Throws for a name that the package does not declare, and for a list
 * within other text: the hosts of bundles leave such a text unfilled (`getMcpConfigForManifest` of @anthropic-ai/mcpb
 * 2.1.2).
 */
export function parseTextValue(
  text: string,
  { literals, environment = false, isComplete = false }: Names,
  { options, secrets }: Needs,
): ValueTemplate {
  const parts: ValueTemplate[] = []
  const add = (part: ValueTemplate): void => {
    const last = parts.at(-1)
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part
    else if (part !== '') parts.push(part)
  }
  let end = 0
  for (const { 0: whole, 1: key, 2: name = '', 3: otherwise, index } of text.matchAll(REFERENCE)) {
    add(text.slice(end, index))
    end = index + whole.length
    if (key !== undefined) add(toUserValue(key, { options, secrets }))
    else if (Object.hasOwn(literals, name)) add(literals[name]!)
    else if (environment && name !== '/') add({ env: name, ...(otherwise !== undefined && { default: otherwise }) })
    else if (isComplete) throw new Error(`it names ${whole}, which no host fills in`)
    else add(whole)
  }
  add(text.slice(end))
  if (parts.length < 2) return parts[0] ?? ''
  requireNoList(parts, text, options)
  return { join: parts }
}

function toUserValue(key: string, { options, secrets }: Pick<Needs, 'options' | 'secrets'>): JsonObject {
  if (!Object.hasOwn(options, key) && !Object.hasOwn(secrets, key))
    throw new Error(`it names the value '${key}', which the package does not declare`)
  return Object.hasOwn(secrets, key) ? { secret: key } : { option: key }
}

function requireNoList(parts: readonly ValueTemplate[], text: string, options: Needs['options']): void {
  const list = parts.find((part) => isList(part, options)) as JsonObject | undefined
  if (list)
    throw new Error(
      `it joins the list '${toText(list['option'])}' with other text in '${text}'; ` +
        'a list needs an argument of its own',
    )
}

/** Returns whether a value is a list of the user, which only an argument of its own can hold. */
export const isList = (words: ValueTemplate, options: Needs['options']): boolean =>
  typeof words === 'object' && options[toText(words['option'])]?.['type'] === 'array'

/**
 * Returns whether a value holds a secret. Arguments are visible to other programs and servers keep addresses, so
 * neither may hold one.
 */
export const holdsSecret = (words: ValueTemplate | undefined): boolean =>
  typeof words === 'object' &&
  (Object.hasOwn(words, 'secret') ||
    (Array.isArray(words['join']) && words['join'].some((part: ValueTemplate) => holdsSecret(part))))
