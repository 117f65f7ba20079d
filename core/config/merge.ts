import { isObject, report, type Diagnostic, type JsonObject, type Schema } from '../base/index.js'
import type { SettingsSource } from './source.js'
import type { Origin } from './types.js'
import { has, workspaceObjection, type WorkspaceObjection, type WorkspaceRule } from './workspace_rules.js'

type Sayer = Omit<SettingsSource, 'value'>
export interface Merged {
  settings: JsonObject
  origins: Origin[]
  diagnostics: Diagnostic[]
}

const isMap = ({ type, properties, additionalProperties }: Schema): boolean =>
  type === 'object' && (isObject(properties) || isObject(additionalProperties))

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

/** Where in the settings a value is laid. */
interface Spot {
  node: Schema
  path: string[]
  /** `target[key]` is the value. */
  target: JsonObject
  key: string
  /** What the user's own layers below the workspace say here. */
  own: unknown
  rule: WorkspaceRule
}

/** What is noted while sources are laid over one another. */
interface Laid {
  /** By path, who said a value. */
  readonly origins: Map<string, Origin>
  readonly diagnostics: Diagnostic[]
}

/**
 * Lays sources over the defaults of a schema, lowest first. Objects merge by key, scalars and lists replace, `null` goes back to
 * the default; `x-merge` says which lists join. What a workspace may not say by `x-workspace` is ignored and reported.
 */
export function merge(schema: Schema, sources: readonly SettingsSource[]): Merged {
  const laid: Laid = { origins: new Map(), diagnostics: [] }
  const root = { settings: defaultsOf(schema) as JsonObject }
  record(laid, schema, root.settings, [], { layer: 'builtin', file: 'defaults' })

  let own: JsonObject | undefined
  for (const source of sources) {
    if (source.layer === 'workspace') own ??= copy(root.settings)
    lay(laid, source, source.value, { node: schema, path: [], target: root, key: 'settings', own, rule: { may: 'free', agreed: false } })
  }
  return { settings: root.settings, origins: [...laid.origins.values()], diagnostics: laid.diagnostics }
}

function lay(laid: Laid, source: SettingsSource, value: unknown, spot: Spot): void {
  if (value === undefined) return
  const { node, path, target, key, own } = spot
  const rule = standingOf(source, value, spot)
  if (isMap(node) && (isObject(value) || value === null)) {
    // null takes back every member that is there.
    const members = value ?? Object.fromEntries(Object.keys(Object(target[key])).map((member) => [member, null]))
    const inner = isObject(target[key]) ? target[key] : (target[key] = {} as JsonObject)
    for (const [member, item] of Object.entries(members)) {
      const below = { node: child(node, member) ?? {}, path: [...path, member], own: isObject(own) ? own[member] : undefined, rule }
      lay(laid, source, item, { ...below, target: inner as JsonObject, key: member })
    }
    return
  }
  if (node['x-said-by'] === true) value = signed(value, source)
  const objection = source.layer === 'workspace' ? workspaceObjection(node, value, own, rule) : undefined
  if (objection) return ignore(laid, source, path, value, objection)
  const before = target[key]
  const after = joined(node, before, value)
  if (after === undefined) delete target[key]
  else target[key] = after
  record(laid, node, after, path, source, { value, before })
}

function standingOf({ layer, trusted }: SettingsSource, value: unknown, { node, path, rule }: Spot): WorkspaceRule {
  const may = node['x-workspace'] as WorkspaceRule['may'] | undefined
  if (may === undefined) return rule
  return { may, agreed: layer === 'workspace' && may === 'trusted' && (trusted?.(path.join('.'), value) ?? false) }
}

/** Notes who said a value, and what it replaced. Each item of a list that layers extend has an origin of its own. */
function record(laid: Laid, node: Schema, value: unknown, path: string[], source: Sayer, change?: { value: unknown; before: unknown }): void {
  if (isObject(value) && isMap(node)) {
    for (const [key, item] of Object.entries(value)) record(laid, child(node, key) ?? {}, item, [...path, key], source)
    return
  }
  note(laid, path, value, source, path)
  if (node['x-merge'] === undefined || !Array.isArray(value)) return
  const extended = node['x-merge'] === 'concat' && Array.isArray(change?.before) && change.value !== null ? change.before.length : 0
  value.forEach((item, index) => {
    if (index < extended || (Array.isArray(change?.value) && !has(change.value, item))) return
    note(laid, [...path, String(index)], item, source, [...path, String(index - extended)])
  })
  for (let index = value.length; laid.origins.delete([...path, String(index)].join('.')); index++);
}

function note({ origins }: Laid, path: string[], value: unknown, { layer, file, line }: Sayer, place: string[]): void {
  const name = path.join('.')
  const before = origins.get(name)
  const overridden = before ? [...before.overridden, saying(before, before.value, 'line' in before ? () => before.line : undefined)] : []
  const origin = saying({ layer, file }, value, line && (() => line(place)))
  origins.set(name, Object.assign(origin, { path: name, overridden }))
}

function ignore({ origins, diagnostics }: Laid, { layer, file, line }: Sayer, path: string[], value: unknown, code: WorkspaceObjection): void {
  const key = path.join('.')
  const number = line?.(path)
  const remark = report(code, { key, value: JSON.stringify(value) }, [number === undefined ? file : `${file}:${number}`], 'warning')
  diagnostics.push(remark)
  if (!origins.has(key)) origins.set(key, { path: key, layer: 'builtin', file: 'defaults', value: undefined, overridden: [] })
  origins.get(key)!.overridden.push({ layer, file, ...(number !== undefined && { line: number }), value, reason: remark.message })
}

/** Who said a value. Its line is looked for by those who show it: the file is parsed for its places then. */
function saying({ layer, file }: Pick<Sayer, 'layer' | 'file'>, value: unknown, line: (() => number | undefined) | undefined): Pick<Origin, 'layer' | 'file' | 'line' | 'value'> {
  const origin = { layer, file, value }
  return line ? Object.defineProperty(origin, 'line', { get: line, enumerable: true }) : origin
}

/** Items that bear who said them, for readers to whom it matters; what they say of it themselves does not count. */
const signed = (value: unknown, { layer }: SettingsSource): unknown => (Array.isArray(value) ? value.map((item) => (isObject(item) ? { ...item, layer } : (item as unknown))) : value)

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
