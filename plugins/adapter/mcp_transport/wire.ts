import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'

/** The `_meta` key of the unchanged message. */
const ORIGINAL_KEY = 'dev.vtcode/came'

/** Empty values for the lists and the content that the library reads. */
const EMPTY_LISTS = {
  content: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
  messages: [],
  contents: [],
  description: '',
  isError: false,
}

/**
 * Wraps a message for the client's library. For servers of the newest revision the library validates each response as a
 * whole, so one wrong tool would cost all tools, and one unknown block the response. The library gets an empty frame,
 * with only the tool fields that it needs for headers; the response is kept in `_meta`.
 */
export function frameMessage<T>(message: T): T {
  const { result } = message as { result?: unknown }
  if (!isObject(result) || result['resultType'] === 'input_required') return message
  const { tools, nextCursor, ttlMs, cacheScope, _meta } = result
  const frame = {
    ...result,
    ...EMPTY_LISTS,
    tools: (Array.isArray(tools) ? (tools as unknown[]) : []).map(toFrameTool),
    nextCursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined,
    ttlMs: isCount(ttlMs) ? ttlMs : 0,
    cacheScope: cacheScope === 'public' ? cacheScope : 'private',
    _meta: { ...(isObject(_meta) && _meta), [ORIGINAL_KEY]: result },
    // The library does not know responses that are tasks.
    ...(result['resultType'] === 'task' && { resultType: 'complete' }),
  }
  return { ...message, result: frame }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

function toFrameTool(tool: unknown): JsonObject {
  const { name, inputSchema } = (isObject(tool) ? tool : {}) as { name?: unknown; inputSchema?: unknown }
  const { $schema: _, ...schema } =
    isObject(inputSchema) && findHeaderFault(inputSchema) === undefined ? inputSchema : {}
  return {
    name: typeof name === 'string' ? name : '',
    inputSchema: { ...schema, type: 'object' },
    _meta: { [ORIGINAL_KEY]: tool },
  }
}

/** Returns the unchanged value of a frame. */
export function readOriginal(shown: unknown): unknown {
  const meta = isObject(shown) ? shown['_meta'] : undefined
  return isObject(meta) && ORIGINAL_KEY in meta ? meta[ORIGINAL_KEY] : shown
}

/** The schema of a response. Each entry is checked separately, so that a wrong one costs only itself. */
export const originalSchema = {
  '~standard': { version: 1, vendor: 'vtcode', validate: (value: unknown) => ({ value: readOriginal(value) }) },
} as const

const HEADER = 'x-mcp-header'
const HEADER_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const SENDABLE_TYPES = new Set(['string', 'integer', 'boolean'])

/** Returns why values cannot be sent in headers; over HTTP such a tool is left out. */
export function findHeaderFault(schema: JsonObject): string | undefined {
  const taken = new Set<string>()
  const visit = (
    node: unknown,
    path: string,
    { names = false, reached }: { names?: boolean; reached: boolean },
  ): string | undefined => {
    if (typeof node !== 'object' || node === null) return undefined
    const own = names ? undefined : findKeywordFault(node as JsonObject, path !== '' && reached, taken)
    if (own !== undefined) return `inputSchema${path}.${HEADER}: ${own}`
    for (const [key, value] of Object.entries(node)) {
      if (!names && DATA_KEYWORDS.has(key)) continue
      const fault = visit(value, `${path}.${key}`, {
        names: !names && NAMING_KEYWORDS.has(key),
        reached: reached && (names || key === 'properties'),
      })
      if (fault !== undefined) return fault
    }
    return undefined
  }
  try {
    return visit(schema, '', { reached: true })
  } catch {
    return 'inputSchema is nested too deeply'
  }
}
/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS = new Set(['enum', 'const', 'default', 'examples'])
/** Keywords whose value maps names to schemas. */
const NAMING_KEYWORDS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

function findKeywordFault(schema: JsonObject, isProperty: boolean, taken: Set<string>): string | undefined {
  if (!Object.hasOwn(schema, HEADER)) return undefined
  if (!isProperty) return 'only a property may have a header'
  const { [HEADER]: header, type } = schema
  if (typeof header !== 'string' || !HEADER_TOKEN.test(header))
    return `${JSON.stringify(header)?.slice(0, 80)} is not a valid header name`
  if (!SENDABLE_TYPES.has(toText(type)))
    return `a value of type ${JSON.stringify(type)?.slice(0, 80)} cannot be sent in a header`
  const name = header.toLowerCase()
  return taken.size === taken.add(name).size ? `an earlier property uses the header ${header}` : undefined
}
