import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'

/** Under which what came is kept beside what the client's library is shown. */
const CAME = 'dev.vtcode/came'

/** Every list and every content that the library looks into, empty. */
const emptied = {
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
 * A message as the client's library is shown it. For a server of the newest revision it holds each answer as a whole against the
 * protocol, so that one wrong tool costs all of them, and one block of a kind of its own the answer. What we read it has no need
 * to judge: it sees the frame, and of tools what it needs itself for the headers of a call; the answer as it came stands beside it.
 */
export function framed<T>(message: T): T {
  const { result } = message as { result?: unknown }
  if (!isObject(result) || result['resultType'] === 'input_required') return message
  const { tools, nextCursor, ttlMs, cacheScope, _meta } = result
  const frame = {
    ...result,
    ...emptied,
    tools: (Array.isArray(tools) ? (tools as unknown[]) : []).map(entry),
    nextCursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined,
    ttlMs: isCount(ttlMs) ? ttlMs : 0,
    cacheScope: cacheScope === 'public' ? cacheScope : 'private',
    _meta: { ...(isObject(_meta) && _meta), [CAME]: result },
    // The library knows no answer that is a task.
    ...(result['resultType'] === 'task' && { resultType: 'complete' }),
  }
  return { ...message, result: frame }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

function entry(tool: unknown): JsonObject {
  const { name, inputSchema } = (isObject(tool) ? tool : {}) as { name?: unknown; inputSchema?: unknown }
  const { $schema: _, ...schema } = isObject(inputSchema) && headerFault(inputSchema) === undefined ? inputSchema : {}
  return {
    name: typeof name === 'string' ? name : '',
    inputSchema: { ...schema, type: 'object' },
    _meta: { [CAME]: tool },
  }
}

/** What came, of something that the library was shown in a frame. */
export function came(shown: unknown): unknown {
  const meta = isObject(shown) ? shown['_meta'] : undefined
  return isObject(meta) && CAME in meta ? meta[CAME] : shown
}

/** The schema of an answer: each entry is judged alone, so that a wrong one costs only itself. */
export const asItCame = {
  '~standard': { version: 1, vendor: 'vtcode', validate: (value: unknown) => ({ value: came(value) }) },
} as const

const HEADER = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const sendable = new Set(['string', 'integer', 'boolean'])

/** Says why values cannot be sent in headers: over HTTP such a tool is left out. */
export function headerFault(schema: JsonObject): string | undefined {
  const taken = new Set<string>()
  const visit = (
    node: unknown,
    path: string,
    { names = false, reached }: { names?: boolean; reached: boolean },
  ): string | undefined => {
    if (typeof node !== 'object' || node === null) return undefined
    const own = names ? undefined : faultOfHeader(node as JsonObject, path !== '' && reached, taken)
    if (own !== undefined) return `inputSchema${path}.${HEADER}: ${own}`
    for (const [key, value] of Object.entries(node)) {
      if (!names && literal.has(key)) continue
      const fault = visit(value, `${path}.${key}`, {
        names: !names && named.has(key),
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
/** Words whose value is data, no schema. */
const literal = new Set(['enum', 'const', 'default', 'examples'])
/** Words whose value names schemas. */
const named = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

function faultOfHeader(schema: JsonObject, isProperty: boolean, taken: Set<string>): string | undefined {
  if (!Object.hasOwn(schema, HEADER)) return undefined
  if (!isProperty) return 'only a property has a header'
  const { [HEADER]: header, type } = schema
  if (typeof header !== 'string' || !token.test(header))
    return `${JSON.stringify(header)?.slice(0, 80)} is no name of a header`
  if (!sendable.has(toText(type)))
    return `a value of the type ${JSON.stringify(type)?.slice(0, 80)} cannot be sent in one`
  const name = header.toLowerCase()
  return taken.size === taken.add(name).size ? `${header} is the header of an earlier property` : undefined
}
