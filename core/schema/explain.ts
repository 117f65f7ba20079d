import type { ErrorObject } from 'ajv'
import type { JsonObject, Schema } from '../shapes/index.js'
import { nearest } from '../text/index.js'

// Explains ajv's errors of a document as faults, for a person who needs the line.

/** One fault of a document and its path. */
export interface ContractFault {
  path: (string | number)[]
  problem: string
}

/** The errors of a document, one per mistake; `known` are the keys that its top may have. */
export function faultsOf(errors: readonly ErrorObject[], known: readonly string[] = []): ContractFault[] {
  const nothing = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'type')
  if (nothing) return [{ path: [], problem: faultText([nothing], known)! }]
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  // Every kind of a value reports errors; these become one fault.
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
  return [...alone.map((error) => [error]), ...groups.flatMap(deepest)].flatMap((alike): ContractFault[] => {
    const [error] = alike as [ErrorObject]
    const problem = faultText(alike, known)
    return problem === undefined ? [] : [{ path: [...stepsOf(error), ...extra(error)], problem }]
  })
}

/** The keys and indexes that lead to the value an error is about. */
export const stepsOf = ({ instancePath }: ErrorObject): string[] =>
  instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The text of one fault; `alike` are the equal errors of several kinds. */
function faultText(alike: ErrorObject[], known: readonly string[]): string | undefined {
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
      return strangeKey(alike, field, known)
    case 'required':
      return missingText(alike, field)
    case 'enum':
      return `${subject} is ${quote(data)}; allowed: ${choicesText(data, schema as string[])}`
    case 'type':
      return `${subject} is ${kindOf(data)}; ${wanted(alike.map((one) => one.params['type']))} is needed.`
    case 'anyOf':
    case 'oneOf': {
      const keys = (schema as Schema[]).flatMap((branch) => branch['required'] as string[])
      const present = keys.filter((key) => Object.hasOwn(data as object, key))
      return present.length > 1
        ? `${present.join(' and ')} exclude each other.`
        : `One of ${keys.join(', ')} is needed.`
    }
    case 'pattern':
      return `${subject} is ${quote(data)}, which does not match ${params['pattern']}`
    default:
      return `${subject} ${outOfRange(error) ?? error.message}.`
  }
}

function missingText(alike: readonly ErrorObject[], field: string): string {
  const missing = alike.map(({ params }) => `'${field ? `${field}.` : ''}${params['missingProperty']}'`)
  return missing.length > 1 ? `One of ${missing.join(', ')} is needed.` : `${missing[0]} is missing.`
}

function choicesText(data: unknown, choices: string[]): string {
  const near = typeof data === 'string' ? nearest(data, choices) : undefined
  return `${choices.join(', ')}${near ? `. Did you mean '${near}'?` : '.'}`
}

/** The text for an unknown key: its present name, or the nearest known key. */
function strangeKey(alike: ErrorObject[], field: string, known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, parentSchema } = error
  const [key] = extra(error) as [string]
  const valid =
    keyword === 'additionalProperties'
      ? alike.flatMap(({ parentSchema: one }) => Object.keys((one?.['properties'] as JsonObject) ?? {}))
      : known
  // When another rule of the kind fails, ajv counts the keys of that kind as unevaluated too.
  if (keyword === 'unevaluatedProperties' && valid.includes(key)) return undefined
  const moved = (parentSchema?.['x-moved'] as Record<string, string> | undefined)?.[key]
  const near = nearest(key, valid)
  const advice = moved ? `it is '${moved}' here` : near ? `did you mean '${near}'?` : `known: ${valid.join(', ')}`
  return `Unknown key '${field ? `${field}.` : ''}${key}'; ${advice}`.replace(/(?<!\?)$/, '.')
}

/** The deepest errors show the intended kind. Equal errors of several kinds are grouped. */
function deepest(group: ErrorObject[]): ErrorObject[][] {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  const most = Math.max(...group.map(depth))
  const last = group.filter((error) => depth(error) === most)
  const telling = [/^(?!type$|required$|anyOf$|oneOf$)/, /^required$/, /^type$/]
    .map((kind) => last.filter(({ keyword }) => kind.test(keyword)))
    .find(({ length }) => length > 0)
  const alike = new Map<string, ErrorObject[]>()
  for (const error of telling ?? []) {
    const key = JSON.stringify([error.instancePath, error.keyword, extra(error)])
    alike.set(key, [...(alike.get(key) ?? []), error])
  }
  return [...alike.values()]
}

/** Alternatives that differ only in their required key. */
const isRequired = (choice: ErrorObject): boolean =>
  (choice.schema as Schema[]).every((branch) => Object.keys(branch).join() === 'required')

/** The key that an error names, if it names one. */
export const extra = ({ params, propertyName }: ErrorObject): string[] =>
  [propertyName ?? params['additionalProperty'] ?? params['unevaluatedProperty'] ?? []].flat()

/** "has 0 items, 1 to 3 allowed": both ends of a range, so that one refusal teaches all of it. */
export function outOfRange({ keyword, data, parentSchema = {} }: ErrorObject): string | undefined {
  const [, kind] = /^m(?:in|ax)(Length|Items)$/.exec(keyword) ?? []
  if (kind === undefined) return undefined
  const { [`min${kind}`]: least, [`max${kind}`]: most } = parentSchema as Record<string, number | undefined>
  const range =
    most === undefined ? `at least ${least}` : least === undefined ? `at most ${most}` : `${least} to ${most} allowed`
  return kind === 'Length'
    ? `is ${[...(data as string)].length} characters, ${range}`
    : `has ${(data as unknown[]).length} items, ${range}`
}

const words: Record<string, string> = {
  object: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
}
const wanted = (types: unknown[]): string => [...new Set(types.flat())].map((type) => words[String(type)]).join(' or ')
const quote = (value: unknown): string => (typeof value === 'string' ? `'${value.slice(0, 80)}'` : kindOf(value))
function kindOf(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return words['array']!
  return typeof value === 'object' || typeof value === 'string' ? words[typeof value]! : String(value)
}
