import type { ErrorObject } from 'ajv'
import { nearest, toText, type JsonObject, type Schema } from '../base/index.js'

// Explains ajv's errors: errors of a call's input as issues, for a model that is to correct the input, and errors of a document as
// faults, for a person who looks for the line.

/** One thing that is wrong with an input: `field` as the schema spells it, `allowed` at most 30 values. */
export interface Issue {
  code: 'VT_INPUT_MISSING' | 'VT_INPUT_UNKNOWN' | 'VT_INPUT_INVALID' | 'VT_INPUT_CONFLICT'
  field: string
  problem: string
  allowed?: unknown[]
  got?: unknown
}
/** One fault of a document and its path. */
export interface ContractFault {
  path: (string | number)[]
  problem: string
}

/** The errors of an input, at most 8, each with the problem, the received value and the allowed values. */
export function issuesOf(errors: readonly ErrorObject[]): Issue[] {
  const alternatives = new Map<string, string[]>()
  const issues: Issue[] = []
  for (const error of errors) {
    // Branches of anyOf/oneOf that only ask for a field are one issue: "Missing 'a' or 'b'".
    const branch = /^(.*\/(?:anyOf|oneOf))\/\d+\/required$/.exec(error.schemaPath)
    if (branch && error.keyword === 'required') alternatives.set(branch[1]!, [...(alternatives.get(branch[1]!) ?? []), error.params['missingProperty']])
  }
  for (const error of errors) {
    const at = error.schemaPath
    if ([...alternatives.keys()].some((path) => at.startsWith(`${path}/`))) continue
    const group = alternatives.get(at)
    if (group) issues.push({ code: 'VT_INPUT_MISSING', field: group.join(' or '), problem: `Missing ${group.map((f) => `'${f}'`).join(' or ')}.` })
    else if (error.keyword !== 'if' && !/\/(anyOf|oneOf)\/\d+\//.test(at)) issues.push(issueOf(error))
  }
  const seen = new Set<string>()
  const unique = issues.filter(({ field, problem }) => !seen.has(field + problem) && seen.add(field + problem))
  return (unique.length ? unique : errors.slice(0, 1).map(issueOf)).slice(0, 8)
}

/** The errors of a document, one per mistake; `known` are the keys that its top may have where the schema does not list them in one place. */
export function faultsOf(errors: readonly ErrorObject[], known: readonly string[] = []): ContractFault[] {
  const nothing = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'type')
  if (nothing) return [{ path: [], problem: faultText([nothing], known)! }]
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  // Where a value may be of several kinds, every kind reports errors for the value and for its members; these errors become one fault.
  const places = choices.filter((choice) => !isRequired(choice)).map(({ instancePath }) => instancePath)
  const outer = [...new Set(places)].filter((place) => !places.some((other) => place.startsWith(`${other}/`)))
  const groups = outer.map((place) => errors.filter(({ instancePath }) => instancePath === place || instancePath.startsWith(`${place}/`)))
  const branches = choices.filter(isRequired).map(({ schemaPath }) => `${schemaPath}/`)
  const alone = errors.filter((error) => !groups.some((group) => group.includes(error)) && !branches.some((branch) => error.schemaPath.startsWith(branch)))
  return [...alone.map((error) => [error]), ...groups.flatMap(deepest)].flatMap((alike): ContractFault[] => {
    const [error] = alike as [ErrorObject]
    const problem = faultText(alike, known)
    return problem === undefined ? [] : [{ path: [...stepsOf(error), ...extra(error)], problem }]
  })
}

/** The keys and indexes that lead to the value an error is about. */
const stepsOf = ({ instancePath }: ErrorObject): string[] => instancePath.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** What a branch of a choice takes, as far as one word says it. */
function kindNeeded({ type, minItems, const: only, minimum }: Schema): string {
  if (only !== undefined) return JSON.stringify(only)
  if (type === 'array' && minItems !== undefined) return minItems === 1 ? 'array that is not empty' : `array of at least ${toText(minItems)}`
  return [type ?? (minimum === undefined ? 'another value' : `at least ${toText(minimum)}`)].flat().join(' or ')
}

const unfit: Record<string, string> = { command: 'has a NUL character or half of a surrogate pair; no program can be given that' }

function issueOf(error: ErrorObject): Issue {
  const path = stepsOf(error)
  const field = path.map((part, at) => (at === 0 ? part : /^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('') || 'the input'
  const memberOf = (name: string): string => (path.length > 0 ? `${field}.${name}` : name)
  const params: JsonObject = error.params
  const note = (error.parentSchema as JsonObject | undefined)?.['x-note']
  const invalid = (text: string, more: Partial<Issue> = {}): Issue => ({
    code: 'VT_INPUT_INVALID',
    field,
    problem: `'${field}' ${text}${note ? ` (${note})` : ''}.`,
    got: shorten(error.data),
    ...more,
  })
  const got = JSON.stringify(shorten(error.data))
  switch (error.keyword) {
    case 'required': {
      const name = memberOf(String(params['missingProperty']))
      return { code: 'VT_INPUT_MISSING', field: name, problem: `Missing '${name}'.` }
    }
    case 'dependentRequired': {
      const name = String(params['missingProperty'])
      return { code: 'VT_INPUT_MISSING', field: name, problem: `Missing '${name}', needed with '${params['property']}'.` }
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = memberOf(extra(error)[0]!)
      return { code: 'VT_INPUT_UNKNOWN', field: name, problem: `Unknown property '${name}'.` }
    }
    case 'enum': {
      const allowed = (params['allowedValues'] as unknown[]).slice(0, 30)
      return invalid(`is ${got}; allowed: ${allowed.join(', ')}`, { allowed })
    }
    case 'const':
      return invalid(`is ${got}; allowed: ${JSON.stringify(params['allowedValue'])}`, { allowed: [params['allowedValue']] })
    case 'type':
      return invalid(`is ${got}; needed: ${[params['type']].flat().join(' or ')}`)
    case 'not': {
      const fields = (error.schema as JsonObject)['required']
      if (Array.isArray(fields) && fields.length > 1) {
        return { code: 'VT_INPUT_CONFLICT', field: fields.join(', '), problem: `${fields.map((f) => `'${f}'`).join(' and ')} exclude each other.` }
      }
      return invalid(`is ${got}, which is not allowed here`)
    }
    case 'anyOf':
    case 'oneOf':
      return { code: 'VT_INPUT_INVALID', field, problem: `'${field}' is ${got}; needed: ${note ?? (error.schema as Schema[]).map(kindNeeded).join(', or ')}.`, got: shorten(error.data) }
    case 'false schema':
      return invalid('does not go with what else is given')
    default:
      return invalid(outOfRange(error) ?? unfit[String(params['format'])] ?? `is ${got}; it ${error.message ?? 'does not fit'}`)
  }
}

/** The text of one fault; `alike` are the errors that one or several kinds report for the same mistake. */
function faultText(alike: ErrorObject[], known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, params, schema, data, propertyName } = error
  const field = [...error.instancePath.split('/').slice(1), ...(propertyName === undefined ? [] : [propertyName])].join('.')
  const subject = field ? `'${field}'` : 'The file'
  switch (keyword) {
    case 'if':
    case 'propertyNames':
      return undefined
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return strangeKey(alike, field, known)
    case 'required': {
      const missing = alike.map(({ params: { missingProperty } }) => `'${field ? `${field}.` : ''}${missingProperty}'`)
      return missing.length > 1 ? `One of ${missing.join(', ')} is needed.` : `${missing[0]} is missing.`
    }
    case 'enum': {
      const near = typeof data === 'string' ? nearest(data, schema as string[]) : undefined
      return `${subject} is ${quote(data)}; allowed: ${(schema as unknown[]).join(', ')}${near ? `. Did you mean '${near}'?` : '.'}`
    }
    case 'type':
      return `${subject} is ${kindOf(data)}; ${wanted(alike.map((one) => one.params['type']))} is needed.`
    case 'anyOf':
    case 'oneOf': {
      const keys = (schema as Schema[]).flatMap((branch) => branch['required'] as string[])
      const present = keys.filter((key) => Object.hasOwn(data as object, key))
      return present.length > 1 ? `${present.join(' and ')} exclude each other.` : `One of ${keys.join(', ')} is needed.`
    }
    case 'pattern':
      return `${subject} is ${quote(data)}, which does not match ${params['pattern']}`
    default:
      return `${subject} ${outOfRange(error) ?? error.message}.`
  }
}

/** The text for an unknown key: its present name, or the nearest known key. */
function strangeKey(alike: ErrorObject[], field: string, known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, parentSchema } = error
  const [key] = extra(error) as [string]
  const valid = keyword === 'additionalProperties' ? alike.flatMap(({ parentSchema: one }) => Object.keys((one?.['properties'] as JsonObject) ?? {})) : known
  // When another rule of the kind fails, ajv counts the keys of that kind as unevaluated too.
  if (keyword === 'unevaluatedProperties' && valid.includes(key)) return undefined
  const moved = (parentSchema?.['x-moved'] as Record<string, string> | undefined)?.[key]
  const near = nearest(key, valid)
  const advice = moved ? `it is '${moved}' here` : near ? `did you mean '${near}'?` : `known: ${valid.join(', ')}`
  return `Unknown key '${field ? `${field}.` : ''}${key}'; ${advice}`.replace(/(?<!\?)$/, '.')
}

/** The deepest errors of all kinds: they show which kind the author intended. Equal errors of several kinds are grouped. */
function deepest(group: ErrorObject[]): ErrorObject[][] {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  const most = Math.max(...group.map(depth))
  const last = group.filter((error) => depth(error) === most)
  const telling = [/^(?!type$|required$|anyOf$|oneOf$)/, /^required$/, /^type$/].map((kind) => last.filter(({ keyword }) => kind.test(keyword))).find(({ length }) => length > 0)
  const alike = new Map<string, ErrorObject[]>()
  for (const error of telling ?? []) {
    const key = JSON.stringify([error.instancePath, error.keyword, extra(error)])
    alike.set(key, [...(alike.get(key) ?? []), error])
  }
  return [...alike.values()]
}

/** Alternatives that differ only in their required key. */
const isRequired = (choice: ErrorObject): boolean => (choice.schema as Schema[]).every((branch) => Object.keys(branch).join() === 'required')

/** The key that an error names, if it names one. */
const extra = ({ params, propertyName }: ErrorObject): string[] => [propertyName ?? params['additionalProperty'] ?? params['unevaluatedProperty'] ?? []].flat()

/** "has 0 items, 1 to 3 allowed": both ends of a range, so that one refusal teaches all of it. */
function outOfRange({ keyword, data, parentSchema = {} }: ErrorObject): string | undefined {
  const [, kind] = /^m(?:in|ax)(Length|Items)$/.exec(keyword) ?? []
  if (kind === undefined) return undefined
  const { [`min${kind}`]: least, [`max${kind}`]: most } = parentSchema as Record<string, number | undefined>
  const range = most === undefined ? `at least ${least}` : least === undefined ? `at most ${most}` : `${least} to ${most} allowed`
  return kind === 'Length' ? `is ${[...(data as string)].length} characters, ${range}` : `has ${(data as unknown[]).length} items, ${range}`
}

const words: Record<string, string> = {
  object: 'an object', array: 'a list', string: 'text', number: 'a number', integer: 'a whole number', boolean: 'true or false',
}
const wanted = (types: unknown[]): string => [...new Set(types.flat())].map((type) => words[String(type)]).join(' or ')
const quote = (value: unknown): string => (typeof value === 'string' ? `'${value.slice(0, 80)}'` : kindOf(value))
function kindOf(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return words['array']!
  return typeof value === 'object' || typeof value === 'string' ? words[typeof value]! : String(value)
}

const shorten = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length <= 80 ? value : `${text.slice(0, 79)}…`
}
