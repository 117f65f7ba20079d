import { report } from './errors.js'
import type { Diagnostic, JsonObject, Layer, Origin, Schema } from './types.js'

/** What one file, variable or option says. */
export interface Source {
  layer: Layer
  /** Absolute file, or the name of what said it. */
  file: string
  value: JsonObject
  /** 1-based line of a value in `file`. */
  line?(path: readonly string[]): number
  /** May this value of a workspace count, which needs the user's consent? Asked once for each key that says `x-workspace: trusted`. */
  trusted?(path: string, value: unknown): boolean
}
export interface Merged {
  settings: JsonObject
  origins: Origin[]
  diagnostics: Diagnostic[]
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)
const isMap = (node: Schema): boolean => node['type'] === 'object' && (isObject(node['properties']) || isObject(node['additionalProperties']))
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const has = (list: readonly unknown[], item: unknown): boolean => list.some((other) => same(other, item))

/** A copy that may be changed; `structuredClone` costs a start milliseconds. */
function copy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy) as T
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)])) as T
}

/** The schema of a key: a named property or a value of a map. */
export function child(node: Schema, key: string): Schema | undefined {
  const properties = node['properties'] as Record<string, Schema> | undefined
  if (properties && Object.hasOwn(properties, key)) return properties[key]
  return isObject(node['additionalProperties']) ? node['additionalProperties'] : undefined
}

/** The settings that the `default`s of a schema make. */
export function defaultsOf(node: Schema): unknown {
  if (!isObject(node['properties'])) return copy(node['default'])
  const result: JsonObject = {}
  for (const [key, property] of Object.entries(node['properties'])) {
    const value = defaultsOf(property as Schema)
    if (value !== undefined) result[key] = value
  }
  return result
}

/**
 * Lays sources over the defaults of a schema, lowest first. Objects merge by key, scalars and lists replace, `null` goes back to the default;
 * the schema's `x-merge` says which lists join and its `x-workspace` what a workspace may change. What a workspace may not is ignored and reported.
 */
export function merge(schema: Schema, sources: readonly Source[]): Merged {
  const settings = defaultsOf(schema) as JsonObject
  const origins = new Map<string, Origin>()
  const diagnostics: Diagnostic[] = []
  const root = { settings }
  record(schema, settings, [], { layer: 'builtin', file: 'defaults' })

  // What the user's own layers below the workspace say is what a workspace may only tighten.
  let own: JsonObject = settings
  let first = true
  for (const source of sources) {
    if (source.layer === 'workspace' && first) {
      own = copy(root.settings)
      first = false
    }
    lay(source, schema, source.value, [], root, 'settings', own, { standing: 'free', agreed: true })
  }
  return { settings: root.settings, origins: [...origins.values()], diagnostics }

  /** Lays one value over `target[key]`. */
  function lay(source: Source, node: Schema, value: unknown, path: string[], target: JsonObject, key: string, base: unknown, above: { standing: string; agreed: boolean }): void {
    if (value === undefined) return
    const said = node['x-workspace'] as string | undefined
    const name = path.join('.')
    const here = { standing: said ?? above.standing, agreed: above.agreed }
    if (source.layer === 'workspace' && said === 'trusted') here.agreed = source.trusted?.(name, value) ?? false
    if (isMap(node) && (isObject(value) || value === null)) {
      const members = value ?? Object.fromEntries(Object.keys((target[key] as JsonObject | undefined) ?? {}).map((key) => [key, null]))
      if (!isObject(target[key])) target[key] = {}
      for (const [member, item] of Object.entries(members)) {
        const inner = isObject(base) ? base[member] : undefined
        lay(source, child(node, member) ?? {}, item, [...path, member], target[key] as JsonObject, member, inner, here)
      }
      return
    }
    const objection = source.layer === 'workspace' ? objectionTo(node, value, base, here) : undefined
    if (objection) return ignore(source, path, value, objection)
    const before = target[key]
    const after = joined(node, before, value)
    if (after === undefined) delete target[key]
    else target[key] = after
    record(node, after, path, source, { value, before })
  }

  /** Notes who said a value, and what it replaced. Each item of a list that layers extend has an origin of its own. */
  function record(node: Schema, value: unknown, path: string[], source: Omit<Source, 'value'>, said?: { value: unknown; before: unknown }): void {
    if (isObject(value) && isMap(node)) {
      for (const [key, item] of Object.entries(value)) record(child(node, key) ?? {}, item, [...path, key], source)
      return
    }
    note(path, value, source, path)
    if (node['x-merge'] === undefined || !Array.isArray(value)) return
    const extended = node['x-merge'] === 'concat' && Array.isArray(said?.before) && said.value !== null ? said.before.length : 0
    value.forEach((item, index) => {
      if (index < extended || (Array.isArray(said?.value) && !has(said.value, item))) return
      note([...path, String(index)], item, source, [...path, String(index - extended)])
    })
    for (let index = value.length; origins.delete([...path, String(index)].join('.')); index++);
  }

  function note(path: string[], value: unknown, { layer, file, line }: Omit<Source, 'value'>, place: string[]): void {
    const name = path.join('.')
    const before = origins.get(name)
    const number = line?.(place)
    const overridden = before ? [...before.overridden, { layer: before.layer, file: before.file, ...(before.line !== undefined && { line: before.line }), value: before.value }] : []
    origins.set(name, { path: name, layer, file, ...(number !== undefined && { line: number }), value, overridden })
  }

  function ignore({ layer, file, line }: Source, path: string[], value: unknown, code: Objection): void {
    const key = path.join('.')
    const number = line?.(path)
    const remark = report(code, { key, value: JSON.stringify(value) }, [number === undefined ? file : `${file}:${number}`], 'warning')
    diagnostics.push(remark)
    if (!origins.has(key)) origins.set(key, { path: key, layer: 'builtin', file: 'defaults', value: undefined, overridden: [] })
    origins.get(key)!.overridden.push({ layer, file, ...(number !== undefined && { line: number }), value, reason: remark.message })
  }
}

/** A list that joins, a list joined by name, or the new value; `null` is the default again. */
function joined(node: Schema, before: unknown, value: unknown): unknown {
  if (value === null) return defaultsOf(node)
  if (!Array.isArray(value) || !Array.isArray(before)) return copy(value)
  if (node['x-merge'] === 'concat') return [...before, ...copy(value)]
  if (node['x-merge'] !== 'by-name') return copy(value)
  const result = [...before] as JsonObject[]
  for (const item of copy(value) as JsonObject[]) {
    const at = result.findIndex(({ name }) => name === item['name'])
    if (at < 0) result.push(item)
    else result[at] = item
  }
  return result
}

type Objection = 'VT_CONFIG_OWN_ONLY' | 'VT_CONFIG_CONSENT' | 'VT_CONFIG_LOOSENS'

/** Why a workspace may not say this value. */
function objectionTo(node: Schema, value: unknown, own: unknown, { standing, agreed }: { standing: string; agreed: boolean }): Objection | undefined {
  if (standing === 'own') return 'VT_CONFIG_OWN_ONLY'
  if (standing === 'trusted') {
    if (Object.hasOwn(node, 'x-free-value') && node['x-free-value'] === value) return undefined
    if (!agreed) return 'VT_CONFIG_CONSENT'
    // A binding may have been a restriction: no consent to a workspace lifts what the user has set.
    return node['x-keeps-own'] === true && own !== undefined ? 'VT_CONFIG_OWN_ONLY' : undefined
  }
  return standing === 'tighten' && !tightens(node, own, value) ? 'VT_CONFIG_LOOSENS' : undefined
}

/** Is `after` as strict as `before`, or stricter? Values without an order never are. */
export function tightens(node: Schema, before: unknown, after: unknown): boolean {
  if (after === null) return false
  if (same(before, after)) return true
  const way = node['x-tightens']
  const order = node['enum'] as unknown[] | undefined
  // No limit at all is the loosest value there is.
  const rank = (value: unknown): number => (value === undefined || value === node['x-unlimited'] ? Infinity : (value as number))
  if (order) return order.includes(after) && (before === undefined || order.indexOf(after) <= order.indexOf(before))
  if (typeof after === 'number') return way === 'higher' ? before === undefined || after >= (before as number) : rank(after) <= rank(before)
  if (typeof after === 'boolean') return String(after) === (way ?? 'false')
  if (!Array.isArray(after)) return false
  const list = before as unknown[] | undefined
  if (way === 'shorter') return list === undefined || after.every((item) => has(list, item))
  return way === 'longer' && (node['x-merge'] === 'concat' || (list ?? []).every((item) => has(after, item)))
}
