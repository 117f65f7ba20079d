import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { nearest, programFile, type JsonObject, type Schema } from '../base/index.js'

/** What is wrong with one value of a document, and where. */
export interface Fault {
  path: (string | number)[]
  problem: string
}
export type Contract = 'manifest.1.json' | 'config.1.json' | 'tool-policy.1.json'

/** One of our published schemas, as it lies in `manifests/schema/`. */
export function readContract(name: Contract): Schema {
  return JSON.parse(readFileSync(programFile(`manifests/schema/${name}`), 'utf8'))
}

const require = createRequire(import.meta.url)

/** Checks a document against one of our schemas; `known` are the keys its top may have where the schema does not list them in one place. */
export function conform(name: Contract, value: unknown, known?: readonly string[]): Fault[] {
  // Compiling a schema takes longer than starting Node; the build has done it.
  const validate = require(programFile(`manifests/schema/_${name.slice(0, -'.json'.length)}.cjs`)) as ValidateFunction
  return validate(value) ? [] : explain(validate.errors ?? [], known).slice(0, 8)
}

/** The check of a schema as a script, for the build. */
export async function compileContract(name: Contract): Promise<string> {
  const [{ Ajv2020 }, { default: standalone }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv/dist/standalone/index.js')])
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, verbose: true, logger: false, inlineRefs: false, code: { source: true } })
  ajv.addVocabulary(['x-workspace', 'x-merge', 'x-tightens', 'x-unlimited', 'x-free-value', 'x-keeps-own', 'x-moved', 'x-fired', 'x-said-by'])
  // A provider is the same thing in a manifest and in the settings.
  if (name === 'manifest.1.json') ajv.addSchema(readContract('config.1.json'))
  return standalone.default(ajv, ajv.compile(readContract(name)))
}

/** ajv's errors in our words, one per mistake. */
function explain(errors: ErrorObject[], known: readonly string[] = []): Fault[] {
  const nothing = errors.find(({ instancePath, keyword }) => instancePath === '' && keyword === 'type')
  if (nothing) return [{ path: [], problem: say([nothing], known)! }]
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  // Where a value may be of several kinds each of them objects to it, and what lies below it; they speak as one.
  const places = choices.filter((choice) => !isRequired(choice)).map(({ instancePath }) => instancePath)
  const outer = [...new Set(places)].filter((place) => !places.some((other) => place.startsWith(`${other}/`)))
  const groups = outer.map((place) => errors.filter(({ instancePath }) => instancePath === place || instancePath.startsWith(`${place}/`)))
  const branches = choices.filter(isRequired).map(({ schemaPath }) => `${schemaPath}/`)
  const alone = errors.filter((error) => !groups.some((group) => group.includes(error)) && !branches.some((branch) => error.schemaPath.startsWith(branch)))
  return [...alone.map((error) => [error]), ...groups.flatMap(meant)].flatMap((alike): Fault[] => {
    const [error] = alike as [ErrorObject]
    const problem = say(alike, known)
    const path = error.instancePath.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    return problem === undefined ? [] : [{ path: [...path, ...extra(error)], problem }]
  })
}

/** Of all that the kinds object to what lies deepest: it shows which kind was meant. What several say of one thing comes together. */
function meant(group: ErrorObject[]): ErrorObject[][] {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  const deepest = Math.max(...group.map(depth))
  const last = group.filter((error) => depth(error) === deepest)
  const said = [/^(?!type$|required$|anyOf$|oneOf$)/, /^required$/, /^type$/].map((kind) => last.filter(({ keyword }) => kind.test(keyword))).find(({ length }) => length > 0)
  const alike = new Map<string, ErrorObject[]>()
  for (const error of said ?? []) {
    const key = JSON.stringify([error.instancePath, error.keyword, extra(error)])
    alike.set(key, [...(alike.get(key) ?? []), error])
  }
  return [...alike.values()]
}

/** Alternatives that differ only in which key must be there. */
function isRequired(choice: ErrorObject): boolean {
  return (choice.schema as Schema[]).every((branch) => Object.keys(branch).join() === 'required')
}
const extra = ({ params, propertyName }: ErrorObject): string[] => [propertyName ?? params['additionalProperty'] ?? params['unevaluatedProperty'] ?? []].flat()

/** `alike`: what one or several kinds say of the same thing in the same words. */
function say(alike: ErrorObject[], known: readonly string[]): string | undefined {
  const [error] = alike as [ErrorObject]
  const { keyword, params, parentSchema, schema, data, propertyName } = error
  const field = [...error.instancePath.split('/').slice(1), ...(propertyName === undefined ? [] : [propertyName])].join('.')
  const subject = field ? `'${field}'` : 'The file'
  switch (keyword) {
    case 'if':
    case 'propertyNames':
      return undefined
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const [key] = extra(error) as [string]
      const valid = keyword === 'additionalProperties' ? alike.flatMap(({ parentSchema: one }) => Object.keys((one?.['properties'] as JsonObject) ?? {})) : known
      // When another rule of the kind fails, ajv counts the keys of that kind as unevaluated too.
      if (keyword === 'unevaluatedProperties' && valid.includes(key)) return undefined
      const moved = (parentSchema?.['x-moved'] as Record<string, string> | undefined)?.[key]
      const near = nearest(key, valid)
      const advice = moved ? `it is '${moved}' here` : near ? `did you mean '${near}'?` : `known: ${valid.join(', ')}`
      return `Unknown key '${field ? `${field}.` : ''}${key}'; ${advice}`.replace(/(?<!\?)$/, '.')
    }
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
      const given = keys.filter((key) => Object.hasOwn(data as object, key))
      return given.length > 1 ? `${given.join(' and ')} exclude each other.` : `One of ${keys.join(', ')} is needed.`
    }
    case 'pattern':
      return `${subject} is ${quote(data)}, which does not match ${params['pattern']}`
    default:
      return `${subject} ${error.message}.`
  }
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
