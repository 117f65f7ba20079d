import { isObject, problem, renderTexts, type JsonObject, type Notice, type Schema } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { foldKey, listTypes, type InputShape } from '../registry/index.js'
import type { EntryStat, Workspace } from '../workspace/index.js'

// Each function-calling wire adds one wrapper; deeper nesting is data.
const MAX_WRAPPERS = 4

/** Returns the input as an object: parses JSON text, removes a sole wrapper, drops `tool`. */
export function unwrapInput(
  input: unknown,
  tool: string,
  known: (key: string) => boolean,
  wrappers = MAX_WRAPPERS,
): JsonObject {
  if (input === undefined || input === null || input === '') return {}
  const value = typeof input === 'string' ? parseText(input) : input
  if (!isObject(value)) {
    throw problem('VT_INPUT_INVALID', {
      problem: `The input is ${Array.isArray(value) ? 'an array' : `a ${typeof value}`}; give an object.`,
    })
  }
  const [key = '', ...others] = Object.keys(value)
  if (others.length === 0 && wrappers > 0 && WRAPPER_NAMES.includes(key) && !known(key) && isInputLike(value[key])) {
    return unwrapInput(value[key], tool, known, wrappers - 1)
  }
  if (value['tool'] === tool && !known('tool')) {
    const { tool: _, ...rest } = value
    return rest
  }
  return value
}

const WRAPPER_NAMES = ['arguments', 'args', 'params', 'input']

const isInputLike = (value: unknown): boolean =>
  typeof value === 'string' ? value.trimStart().startsWith('{') : isObject(value)

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw problem('VT_INPUT_INVALID', { problem: `The input is not JSON: ${(error as Error).message}.` })
  }
}

/**
 * Renames every property to its name in the shape and drops empty values; `unknown` has the other names. Throws
 * VT_INPUT_CONFLICT when one property is given twice with different values.
 */
export function renameProperties(input: JsonObject, shape: InputShape): { given: JsonObject; unknown: string[] } {
  const given: JsonObject = {}
  const spelt: Record<string, string> = {}
  const unknown: string[] = []
  const collected = collectIndexedKeys(input, shape)
  for (const key of Object.keys(collected)) {
    const value = collected[key]
    const name = findName(key, shape)
    if (value === undefined || (value === null && !canBeNull(name, shape))) continue
    if (name === undefined) unknown.push(key)
    else if (value === '' && isEmptyAbsent(shape.properties[name])) continue
    else if (Object.hasOwn(given, name) && JSON.stringify(given[name]) !== JSON.stringify(value)) {
      throw problem('VT_INPUT_CONFLICT', { fields: `'${spelt[name]}' and '${key}'` })
    } else {
      setOwn(given, name, value)
      spelt[name] = key
    }
  }
  return { given, unknown }
}

/** Returns the property of a key. In an open input every key is exact. */
const findName = (key: string, { properties, names, open }: InputShape): string | undefined =>
  open || Object.hasOwn(properties, key) ? key : names.get(foldKey(key))
const canBeNull = (name: string | undefined, { properties, nullable, open }: InputShape): boolean =>
  name !== undefined && (nullable.has(name) || (open && !Object.hasOwn(properties, name)))
/** Sets an own property, also `__proto__`. */
function setOwn(object: JsonObject, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
}

const isEmptyAbsent = (schema: Schema = {}): boolean =>
  schema['x-empty'] === 'absent' ||
  (Array.isArray(schema['enum']) && !schema['enum'].includes('')) ||
  schema['format'] === 'workspace-path' ||
  schema['format'] === 'workspace-glob'

/** Collects `command.0 … command.n` (from 0 or 1, without gaps) into the array `command`. */
function collectIndexedKeys(input: JsonObject, shape: InputShape): JsonObject {
  if (shape.open || !Object.keys(input).some((key) => key.includes('.'))) return input
  const rest: JsonObject = {}
  const lists = new Map<string, unknown[]>()
  for (const [key, value] of Object.entries(input)) {
    const [, name, index] = /^(.+)\.(\d{1,4})$/.exec(key) ?? []
    if (name && shape.names.has(foldKey(name)))
      lists.set(name, Object.assign(lists.get(name) ?? [], { [Number(index)]: value }))
    else rest[key] = value
  }
  for (const [name, list] of lists) {
    const items = 0 in list ? list : list.slice(1)
    if (items.length === 0 || Object.keys(items).length !== items.length) {
      throw problem('VT_INPUT_INVALID', { problem: `'${name}.0', '${name}.1', … have a gap.` })
    }
    rest[name] = items
  }
  return rest
}

/** Converts values to the types of the schema: JSON text, one item for a list, enums in any case. */
export function coerce(input: JsonObject, shape: InputShape): JsonObject {
  const result: JsonObject = {}
  for (const name in input) {
    const schema = Object.hasOwn(shape.properties, name) ? shape.properties[name]! : (shape.other(name) ?? {})
    setOwn(result, name, coerceValue(input[name], schema, shape.types.get(name)))
  }
  return result
}

function coerceValue(value: unknown, schema: Schema, wanted: ReadonlySet<string> = listTypes(schema)): unknown {
  if (typeof value === 'string') return coerceText(value, schema, wanted)
  if (
    (typeof value === 'number' || typeof value === 'boolean') &&
    wanted.size === 1 &&
    wanted.has('string') &&
    !schema['x-verbatim']
  )
    return toText(value)
  if (Array.isArray(value) && schema['items']) return value.map((item) => coerceValue(item, schema['items'] as Schema))
  return value
}

function coerceText(text: string, schema: Schema, wanted: ReadonlySet<string>): unknown {
  const allowed = readEnum(schema)
  if (allowed) return allowed.find((option) => isMeant(option, text)) ?? text
  if (!wanted.has('string') && wanted.size > 0) {
    const parsed = parseJson(text, wanted)
    if (parsed !== undefined) return parsed
    const items = schema['items'] as Schema | undefined
    const takesText = items && (listTypes(items).has('string') || readEnum(items))
    if (wanted.has('array') && takesText) return [coerceValue(text, items)]
  }
  // A text stays where texts are allowed. Only a glob that is a JSON list is parsed, because it would match no path.
  const isList = wanted.has('array') && schema['format'] === 'workspace-glob' && /^\s*\["/.test(text)
  return isList ? (parseJson(text, new Set(['array'])) ?? text) : text
}

/** Returns whether a text means a choice: a text in any spelling, a number or a boolean. */
const isMeant = (option: unknown, text: string): boolean =>
  typeof option === 'string' ? foldKey(option) === foldKey(text) : JSON.stringify(option) === text.trim()

function parseJson(text: string, wanted: ReadonlySet<string>): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return wanted.has(type) || (type === 'number' && wanted.has('integer')) ? value : undefined
}

const readEnum = (schema: Schema): unknown[] | undefined => schema['enum'] as unknown[] | undefined

/**
 * Lowers numbers to their maximum, each with a notice, and fills in defaults. Throws VT_INPUT_TOO_LARGE for texts
 * beyond `x-max-bytes`.
 */
export function applyLimits(declared: JsonObject, shape: InputShape): { input: JsonObject; notices: Notice[] } {
  const input = { ...declared }
  const notices: Notice[] = []
  for (const [name, maximum] of shape.maxima) {
    const value = input[name]
    if (typeof value !== 'number' || value <= maximum) continue
    input[name] = maximum
    notices.push({
      code: 'VT_INPUT_CAPPED',
      message: renderTexts('VT_INPUT_CAPPED', { field: name, value, maximum })!.message,
    })
  }
  for (const [name, most] of shape.sizes) {
    const size = [input[name] ?? []]
      .flat()
      .reduce<number>((sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0)
    if (size > most) throw problem('VT_INPUT_TOO_LARGE', { size: `'${name}' of ${size} bytes`, limit: `${most} bytes` })
  }
  for (const [name, value] of shape.defaults) if (input[name] === undefined) input[name] = value
  return { input, notices }
}

/** Makes paths and globs workspace-relative. Throws VT_PATH_OUTSIDE, VT_INPUT_INVALID. */
export function confine(input: JsonObject, shape: InputShape, workspace: Workspace): JsonObject {
  let result = input
  for (const [name, format] of shape.paths) {
    const value = input[name]
    if (value === undefined) continue
    const one = (text: unknown) => {
      if (typeof text !== 'string') return text
      return format === 'workspace-path' ? workspace.normalize(text) : confineGlob(text, name, workspace)
    }
    result = { ...result, [name]: Array.isArray(value) ? value.map(one) : one(value) }
  }
  return result
}

/** Confines the input of a call, as `confine` does. Throws VT_INPUT_INVALID too, for a file with a slash at its end. */
export async function confineInput(input: JsonObject, shape: InputShape, workspace: Workspace): Promise<JsonObject> {
  const confined = confine(input, shape, workspace)
  await refuseFileWithSlash(input, shape, workspace)
  return confined
}

/** Refuses a path with a slash at its end that is a file, or that the call would make a file. */
async function refuseFileWithSlash(input: JsonObject, shape: InputShape, workspace: Workspace): Promise<void> {
  for (const [name, format] of shape.paths) {
    const texts = format === 'workspace-path' ? [input[name] ?? []].flat() : []
    for (const text of texts) {
      if (typeof text !== 'string' || !/[^/.]\/+$/.test(text)) continue
      const kind = await findVisibleKind(text, workspace)
      const isNew = kind === 'nothing' && shape.properties[name]?.['x-new'] === true
      if (!isNew && kind !== 'file') continue
      const what = isNew ? 'it names a directory that does not exist' : 'it is a file'
      throw problem(
        'VT_INPUT_INVALID',
        { problem: `'${name}' ${JSON.stringify(text.slice(0, 80))} ends with a slash, but ${what}.` },
        { hint: 'Leave out the slash at the end to name a file.' },
      )
    }
  }
}

/**
 * Returns the kind of an entry; `undefined` for a hidden one, whose existence is not reported before the policies judge
 * the call, and for a path that the tool refuses itself.
 */
async function findVisibleKind(text: string, workspace: Workspace): Promise<EntryStat['kind'] | 'nothing' | undefined> {
  try {
    const path = workspace.normalize(text)
    if (![path, workspace.resolve(path)].every((one) => workspace.isVisible(one))) return undefined
    return (await workspace.stat(path))?.kind ?? 'nothing'
  } catch {
    return undefined
  }
}

/** Checks a glob and returns it unchanged: its literal part may not lead out, and its braces and `**` are limited. */
function confineGlob(glob: string, name: string, workspace: Workspace): string {
  const body = glob.replace(/^!/, '')
  const refuse = (why: string) =>
    problem('VT_INPUT_INVALID', { problem: `'${name}' ${JSON.stringify(glob.slice(0, 80))} ${why}.` })
  if (body.includes('\0') || body.length > 4096) throw refuse('is not a glob')
  if (body.split('/').includes('..')) throw problem('VT_PATH_OUTSIDE', { path: glob })
  if (body.startsWith('/') && body.slice(1).includes('/'))
    workspace.normalize(body.slice(1).replace(/[*?[{].*$/s, '') || '.')
  if ((body.match(/\*\*/g)?.length ?? 0) > 8) throw refuse('has more than 8 `**`')
  let choices = 1
  for (const group of body.match(/\{[^{}]*\}/g) ?? []) choices *= group.split(',').length
  if (choices > 1000) throw refuse('expands to more than 1,000 alternatives')
  // No engine accepts braces nested this deep.
  if (/(?:\{[^{}]*){64}/.test(body)) throw refuse('nests braces 64 levels deep or more')
  return glob
}
