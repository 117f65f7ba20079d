import type { ErrorObject } from 'ajv'
import type { JsonObject, Schema } from '../shapes/index.js'
import { findNearest } from '../text/index.js'

// Explains ajv's errors of a document as faults, for a person who needs the line.

/** One fault of a document and its path. */
export interface ContractFault {
  path: (string | number)[]
  problem: string
}

/** Converts errors of a document to faults, one per mistake; `known` are the keys of its top level. */
export function toFaults(errors: readonly ErrorObject[], known: readonly string[] = []): ContractFault[] {
  const nothing = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'type')
  if (nothing) return [{ path: [], problem: formatFault([nothing], known)! }]
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  // Every possible kind of a value reports errors; these become one fault.
  const places = choices.filter((choice) => !isRequired(choice)).map(({ instancePath }) => instancePath)
  const outer = [...new Set(places)].filter((place) => !places.some((other) => place.startsWith(`${other}/`)))
  const groups = outer.map((place) =>
    errors.filter(({ instancePath }) => instancePath === place || instancePath.startsWith(`${place}/`)),
  )
  const branches = choices.filter(isRequired).map(({ schemaPath }) => `${schemaPath}/`)
  const alone = errors.filter(
    (error) =>
      !groups.some((group) => group.includes(error)) && !branches.some((branch) => error.schemaPath.startsWith(branch)),
  )
  return [...alone.map((error) => [error]), ...groups.flatMap(groupDeepest)].flatMap((alike): ContractFault[] => {
    const [error] = alike as [ErrorObject]
    const problem = formatFault(alike, known)
    return problem === undefined ? [] : [{ path: [...parsePointer(error), ...findNamedKey(error)], problem }]
  })
}

/** Returns the keys and indexes of the value of an error. */
export const parsePointer = ({ instancePath }: ErrorObject): string[] =>
  instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Formats one fault; `alike` are the equal errors of several kinds. */
function formatFault(alike: ErrorObject[], known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, params, schema, data, propertyName } = error
  const field = [...error.instancePath.split('/').slice(1), ...(propertyName === undefined ? [] : [propertyName])].join(
    '.',
  )
  const subject = field ? `'${field}'` : 'The file'
  switch (keyword) {
    case 'if':
    case 'propertyNames':
      return undefined
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return formatUnknownKey(alike, field, known)
    case 'required':
      return formatMissing(alike, field)
    case 'enum':
      return `${subject} is ${quoteValue(data)}; allowed: ${formatChoices(data, schema as string[])}`
    case 'type':
      return `${subject} is ${formatKind(data)}; ${formatTypes(alike.map((one) => one.params['type']))} is needed.`
    case 'anyOf':
    case 'oneOf': {
      const keys = (schema as Schema[]).flatMap((branch) => branch['required'] as string[])
      const present = keys.filter((key) => Object.hasOwn(data as object, key))
      return present.length > 1
        ? `${present.join(' and ')} exclude each other.`
        : `One of ${keys.join(', ')} is needed.`
    }
    case 'pattern':
      return `${subject} is ${quoteValue(data)}, which does not match ${params['pattern']}`
    default:
      return `${subject} ${formatRangeFault(error) ?? error.message}.`
  }
}

function formatMissing(alike: readonly ErrorObject[], field: string): string {
  const missing = alike.map(({ params }) => `'${field ? `${field}.` : ''}${params['missingProperty']}'`)
  return missing.length > 1 ? `One of ${missing.join(', ')} is needed.` : `${missing[0]} is missing.`
}

function formatChoices(data: unknown, choices: string[]): string {
  const near = typeof data === 'string' ? findNearest(data, choices) : undefined
  return `${choices.join(', ')}${near ? `. Did you mean '${near}'?` : '.'}`
}

/** Formats an unknown key, with its present name or the nearest known key. */
function formatUnknownKey(alike: ErrorObject[], field: string, known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, parentSchema } = error
  const [key] = findNamedKey(error) as [string]
  const valid =
    keyword === 'additionalProperties'
      ? alike.flatMap(({ parentSchema: one }) => Object.keys((one?.['properties'] as JsonObject) ?? {}))
      : known
  // If another rule of the kind fails, ajv also counts the keys of that kind as unevaluated.
  if (keyword === 'unevaluatedProperties' && valid.includes(key)) return undefined
  const moved = (parentSchema?.['x-moved'] as Record<string, string> | undefined)?.[key]
  const near = findNearest(key, valid)
  const advice = moved ? `use '${moved}' instead` : near ? `did you mean '${near}'?` : `known: ${valid.join(', ')}`
  return `Unknown key '${field ? `${field}.` : ''}${key}'; ${advice}`.replace(/(?<!\?)$/, '.')
}

/** Groups the deepest errors, which show the intended kind; equal errors of several kinds are one group. */
function groupDeepest(group: ErrorObject[]): ErrorObject[][] {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  const most = Math.max(...group.map(depth))
  const last = group.filter((error) => depth(error) === most)
  const telling = [/^(?!type$|required$|anyOf$|oneOf$)/, /^required$/, /^type$/]
    .map((kind) => last.filter(({ keyword }) => kind.test(keyword)))
    .find(({ length }) => length > 0)
  const alike = new Map<string, ErrorObject[]>()
  for (const error of telling ?? []) {
    const key = JSON.stringify([error.instancePath, error.keyword, findNamedKey(error)])
    alike.set(key, [...(alike.get(key) ?? []), error])
  }
  return [...alike.values()]
}

/** Returns whether alternatives differ only in their required key. */
const isRequired = (choice: ErrorObject): boolean =>
  (choice.schema as Schema[]).every((branch) => Object.keys(branch).join() === 'required')

/** Returns the key that an error names, if any. */
export const findNamedKey = ({ params, propertyName }: ErrorObject): string[] =>
  [propertyName ?? params['additionalProperty'] ?? params['unevaluatedProperty'] ?? []].flat()

/** Formats "has 0 items, 1 to 3 allowed": both ends of a range, so that one error shows all of it. */
export function formatRangeFault({ keyword, data, parentSchema = {} }: ErrorObject): string | undefined {
  const [, kind] = /^m(?:in|ax)(Length|Items)$/.exec(keyword) ?? []
  if (kind === undefined) return undefined
  const { [`min${kind}`]: least, [`max${kind}`]: most } = parentSchema as Record<string, number | undefined>
  const range =
    most === undefined ? `at least ${least}` : least === undefined ? `at most ${most}` : `${least} to ${most} allowed`
  return kind === 'Length'
    ? `is ${[...(data as string)].length} characters, ${range}`
    : `has ${(data as unknown[]).length} items, ${range}`
}

const TYPE_WORDS: Record<string, string> = {
  object: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
}
const formatTypes = (types: unknown[]): string =>
  [...new Set(types.flat())].map((type) => TYPE_WORDS[String(type)]).join(' or ')
const quoteValue = (value: unknown): string =>
  typeof value === 'string' ? `'${value.slice(0, 80)}'` : formatKind(value)
function formatKind(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return TYPE_WORDS['array']!
  return typeof value === 'object' || typeof value === 'string' ? TYPE_WORDS[typeof value]! : String(value)
}
