import type { ErrorObject } from 'ajv'
import { problem, type JsonObject, type Schema } from '../base/index.js'

/** One thing that is wrong with an input: `field` as the schema spells it, `allowed` at most 30 values. */
export interface Issue {
  code: 'VT_INPUT_MISSING' | 'VT_INPUT_UNKNOWN' | 'VT_INPUT_INVALID' | 'VT_INPUT_CONFLICT'
  field: string
  problem: string
  allowed?: unknown[]
  got?: unknown
}
/** Answers every issue of a value, at most 8; none means it fits. */
export type Check = (value: unknown) => Issue[]

type Compile = (schema: Schema) => (value: unknown) => true | ErrorObject[]
let compiler: Promise<Compile> | undefined

/** Compiles a JSON Schema (2020-12). ajv is loaded by the first call. Throws VT_SCHEMA_INVALID, VT_SCHEMA_PATTERN. */
export async function compile(schema: Schema, id = 'a schema'): Promise<Check> {
  compiler ??= load()
  const make = await compiler
  let validate: ReturnType<Compile>
  try {
    validate = make(schema)
  } catch (error) {
    throw error instanceof Error && error.name.startsWith('VT_') ? error : problem('VT_SCHEMA_INVALID', { id, reason: String((error as Error).message) })
  }
  return (value) => {
    const errors = validate(value)
    return errors === true ? [] : explain(errors)
  }
}

async function load(): Promise<Compile> {
  const [{ Ajv2020 }, formats, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats'), import('re2js')])
  // A pattern of a plugin's schema runs on every call: linear time or not at all.
  const linear = Object.assign(
    (pattern: string) => {
      try {
        const regex = RE2JS.compile(pattern)
        // ajv keeps one regex per text of it.
        return { test: (text: string) => text.length <= 65_536 && regex.matcher(text).find(), toString: () => pattern }
      } catch (error) {
        throw problem('VT_SCHEMA_PATTERN', { pattern, reason: String((error as Error).message) })
      }
    },
    { code: 'new RegExp' },
  )
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    verbose: true,
    validateSchema: false,
    validateFormats: true,
    logger: false,
    code: { regExp: linear, optimize: false },
  })
  formats.default.default(ajv)
  for (const ours of ['workspace-path', 'workspace-glob', 'command']) ajv.addFormat(ours, true)
  return (schema) => {
    const validate = ajv.compile(schema)
    // The instance would keep every schema of every generation.
    ajv.removeSchema(schema)
    return (value) => validate(value) || (validate.errors ?? [])
  }
}

/** ajv's errors in the words of the error style: what is wrong, what was given, what is allowed. */
function explain(errors: ErrorObject[]): Issue[] {
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

function issueOf(error: ErrorObject): Issue {
  const path = error.instancePath.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
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
      const name = memberOf(String(params['additionalProperty'] ?? params['unevaluatedProperty']))
      return { code: 'VT_INPUT_UNKNOWN', field: name, problem: `Unknown property '${name}'.` }
    }
    case 'enum': {
      const allowed = (params['allowedValues'] as unknown[]).slice(0, 30)
      return invalid(`is ${got}; allowed: ${allowed.join(', ')}`, { allowed })
    }
    case 'const':
      return invalid(`is ${got}; allowed: ${JSON.stringify(params['allowedValue'])}`, { allowed: [params['allowedValue']] })
    case 'minLength':
    case 'maxLength':
      return invalid(`is ${[...(error.data as string)].length} characters, ${boundsOf(error, 'Length')}`)
    case 'minItems':
    case 'maxItems':
      return invalid(`has ${(error.data as unknown[]).length} items, ${boundsOf(error, 'Items')}`)
    case 'type':
      return invalid(`is ${got}; needed: ${[params['type']].flat().join(' or ')}`)
    case 'not': {
      const fields = (error.schema as JsonObject)['required']
      if (Array.isArray(fields) && fields.length > 1) {
        return { code: 'VT_INPUT_CONFLICT', field: fields.join(', '), problem: `${fields.map((f) => `'${f}'`).join(' and ')} exclude each other.` }
      }
      return invalid(`is ${got}, which is not allowed here`)
    }
    default:
      return invalid(`is ${got}; it ${error.message ?? 'does not fit'}`)
  }
}

/** "1 to 3 allowed": both ends of a range, so that one refusal teaches all of it. */
function boundsOf({ parentSchema = {} }: ErrorObject, kind: 'Length' | 'Items'): string {
  const { [`min${kind}`]: least, [`max${kind}`]: most } = parentSchema as Record<string, number | undefined>
  if (most === undefined) return `at least ${least}`
  return least === undefined ? `at most ${most}` : `${least} to ${most} allowed`
}

const shorten = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length <= 80 ? value : `${text.slice(0, 79)}…`
}
