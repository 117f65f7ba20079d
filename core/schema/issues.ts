import type { ErrorObject } from 'ajv'
import type { JsonObject, Schema } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { findNamedKey, formatRangeFault, parsePointer } from './explain.js'

// Explains ajv's errors of a call's input as issues, for a model that is to correct the input.

/** One fault of an input: `field` in the schema's spelling, `allowed` at most 30 values. */
export interface Issue {
  code: 'VT_INPUT_MISSING' | 'VT_INPUT_UNKNOWN' | 'VT_INPUT_INVALID' | 'VT_INPUT_CONFLICT'
  field: string
  problem: string
  allowed?: unknown[]
  got?: unknown
}

/** Converts the errors of an input to at most 8 issues, each with the received value and the allowed values. */
export function toIssues(errors: readonly ErrorObject[]): Issue[] {
  const alternatives = new Map<string, string[]>()
  const issues: Issue[] = []
  for (const error of errors) {
    // Branches of anyOf/oneOf that only require a field are one issue: "Missing 'a' or 'b'".
    const branch = /^(.*\/(?:anyOf|oneOf))\/\d+\/required$/.exec(error.schemaPath)
    if (branch && error.keyword === 'required')
      alternatives.set(branch[1]!, [...(alternatives.get(branch[1]!) ?? []), error.params['missingProperty']])
  }
  for (const error of errors) {
    const at = error.schemaPath
    if ([...alternatives.keys()].some((path) => at.startsWith(`${path}/`))) continue
    const group = alternatives.get(at)
    if (group)
      issues.push({
        code: 'VT_INPUT_MISSING',
        field: group.join(' or '),
        problem: `Missing ${group.map((f) => `'${f}'`).join(' or ')}.`,
      })
    else if (error.keyword !== 'if' && !/\/(anyOf|oneOf)\/\d+\//.test(at)) issues.push(toIssue(error))
  }
  const seen = new Set<string>()
  const unique = issues.filter(({ field, problem }) => !seen.has(field + problem) && seen.add(field + problem))
  return (unique.length ? unique : errors.slice(0, 1).map(toIssue)).slice(0, 8)
}

/** Formats the value that a branch of a choice accepts, in a few words. */
function formatBranch({ type, minItems, const: only, minimum }: Schema): string {
  if (only !== undefined) return JSON.stringify(only)
  if (type === 'array' && minItems !== undefined)
    return minItems === 1 ? 'array that is not empty' : `array of at least ${toText(minItems)}`
  return [type ?? (minimum === undefined ? 'another value' : `at least ${toText(minimum)}`)].flat().join(' or ')
}

const FORMAT_FAULTS: Record<string, string> = {
  command: 'has a NUL character or half of a surrogate pair, which no program accepts',
}

function toIssue(error: ErrorObject): Issue {
  const path = parsePointer(error)
  const field = formatField(path)
  const formatMember = (name: string): string => (path.length > 0 ? `${field}.${name}` : name)
  const params: JsonObject = error.params
  const note = (error.parentSchema as JsonObject | undefined)?.['x-note']
  const invalid = (text: string, more: Partial<Issue> = {}): Issue => ({
    code: 'VT_INPUT_INVALID',
    field,
    problem: `'${field}' ${text}${formatNote(note)}.`,
    got: shorten(error.data),
    ...more,
  })
  const got = JSON.stringify(shorten(error.data))
  switch (error.keyword) {
    case 'required': {
      const name = formatMember(String(params['missingProperty']))
      return { code: 'VT_INPUT_MISSING', field: name, problem: `Missing '${name}'.` }
    }
    case 'dependentRequired': {
      const name = String(params['missingProperty'])
      return {
        code: 'VT_INPUT_MISSING',
        field: name,
        problem: `Missing '${name}', needed with '${params['property']}'.`,
      }
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = formatMember(findNamedKey(error)[0]!)
      return { code: 'VT_INPUT_UNKNOWN', field: name, problem: `Unknown property '${name}'.` }
    }
    case 'enum': {
      const allowed = (params['allowedValues'] as unknown[]).slice(0, 30)
      return invalid(`is ${got}; allowed: ${allowed.join(', ')}`, { allowed })
    }
    case 'const':
      return invalid(`is ${got}; allowed: ${JSON.stringify(params['allowedValue'])}`, {
        allowed: [params['allowedValue']],
      })
    case 'type':
      return invalid(`is ${got}; needed: ${[params['type']].flat().join(' or ')}`)
    case 'not':
      return toConflict(error.schema as JsonObject) ?? invalid(`is ${got}, which is not allowed here`)
    case 'anyOf':
    case 'oneOf':
      return {
        ...invalid(''),
        problem: `'${field}' is ${got}; needed: ${note ?? (error.schema as Schema[]).map(formatBranch).join(', or ')}.`,
      }
    case 'false schema':
      return invalid('cannot be combined with the other properties')
    default:
      return invalid(formatMisfit(error, got))
  }
}

/** Formats a position in an input as `a[0].b`. */
const formatField = ([first = '', ...rest]: readonly string[]): string =>
  [first, ...rest.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))].join('') || 'the input'

const formatMisfit = (error: ErrorObject, got: string | undefined): string =>
  formatRangeFault(error) ?? FORMAT_FAULTS[String(error.params['format'])] ?? `is ${got}; it ${error.message}`

const formatNote = (note: unknown): string => (note ? ` (${toText(note)})` : '')

function toConflict({ required }: JsonObject): Issue | undefined {
  if (!Array.isArray(required) || required.length < 2) return undefined
  const problem = `${required.map((name) => `'${name}'`).join(' and ')} exclude each other.`
  return { code: 'VT_INPUT_CONFLICT', field: required.join(', '), problem }
}

const shorten = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length <= 80 ? value : `${text.slice(0, 79)}…`
}
