import { isObject, report, type Diagnostic, type JsonObject, type Schema } from '../shapes/index.js'
import type { SettingsSource } from './source.js'
import type { Origin } from './types.js'
import { among, workspaceObjection, type WorkspaceObjection, type WorkspaceRule } from './workspace_rules.js'

type Sayer = Omit<SettingsSource, 'value'>
export interface Merged {
  settings: JsonObject
  origins: Origin[]
  diagnostics: Diagnostic[]
}

const isMap = ({ type, properties, additionalProperties }: Schema): boolean =>
  type === 'object' && (isObject(properties) || isObject(additionalProperties))

/** A mutable copy; `structuredClone` costs milliseconds at the start. */
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

/** A place in the settings that a value is merged into. */
interface Spot {
  node: Schema
  path: string[]
  /** `target[key]` is the value. */
  target: JsonObject
  key: string
  /** The value of the user's own layers below the workspace. */
  own: unknown
  rule: WorkspaceRule
}

/** The records of a merge. */
interface Laid {
  /** By path, the origin of a value. */
  readonly origins: Map<string, Origin>
  readonly diagnostics: Diagnostic[]
}

/**
 * Merges sources over the defaults of a schema, lowest first. Objects merge by key, scalars and lists replace, `null` restores
 * the default; `x-merge` names the lists that join. A value that `x-workspace` forbids a workspace is ignored and reported.
 */
export function merge(schema: Schema, sources: readonly SettingsSource[]): Merged {
  const laid: Laid = { origins: new Map(), diagnostics: [] }
  const root = { settings: defaultsOf(schema) as JsonObject }
  record(laid, schema, root.settings, [], { layer: 'builtin', file: 'defaults' })

  let own: JsonObject | undefined
  for (const source of sources) {
    if (source.layer === 'workspace') own ??= copy(root.settings)
    lay(laid, source, source.value, {
      node: schema,
      path: [],
      target: root,
      key: 'settings',
      own,
      rule: { may: 'free', agreed: false },
    })
  }
  return { settings: root.settings, origins: [...laid.origins.values()], diagnostics: laid.diagnostics }
}

function lay(laid: Laid, source: SettingsSource, value: unknown, spot: Spot): void {
  if (value === undefined) return
  const { node, path, target, key, own } = spot
  const rule = standingOf(source, value, spot)
  if (isObject(value) && mixesAuthors(laid, source, value, spot))
    return ignore(laid, source, path, value, 'VT_CONFIG_OWN_ONLY')
  if (isMap(node) && (isObject(value) || value === null)) {
    // null unsets every present member.
    const members = value ?? Object.fromEntries(Object.keys(Object(target[key])).map((member) => [member, null]))
    const inner = isObject(target[key]) ? target[key] : (target[key] = {} as JsonObject)
    for (const [member, item] of Object.entries(members)) {
      const below = {
        node: child(node, member) ?? {},
        path: [...path, member],
        own: isObject(own) ? own[member] : undefined,
        rule,
      }
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

/**
 * Whether a workspace would add to an entry of the user's own, and so be sent what the user meant for another server. The other way round an
 * entry of a later layer of the user's own stands alone: that of the workspace goes.
 */
function mixesAuthors(
  { origins }: Laid,
  { layer }: SettingsSource,
  value: JsonObject,
  { node, path, target, key, own }: Spot,
): boolean {
  const members = node['x-one-author'] as string[] | undefined
  if (!members?.some((member) => member in value)) return false
  if (layer === 'workspace') return own !== undefined
  const inside = [...origins].filter(([name]) => name.startsWith(`${path.join('.')}.`))
  if (!inside.some(([, origin]) => origin.layer === 'workspace')) return false
  for (const [name] of inside) origins.delete(name)
  delete target[key]
  return false
}

function standingOf({ layer, trusted }: SettingsSource, value: unknown, { node, path, rule }: Spot): WorkspaceRule {
  const may = node['x-workspace'] as WorkspaceRule['may'] | undefined
  if (may === undefined) return rule
  return { may, agreed: layer === 'workspace' && may === 'trusted' && (trusted?.(path.join('.'), value) ?? false) }
}

/** Records the origin of a value and the value that it replaced. Each item of a list that layers extend has an origin of its own. */
function record(
  laid: Laid,
  node: Schema,
  value: unknown,
  path: string[],
  source: Sayer,
  change?: { value: unknown; before: unknown },
): void {
  if (isObject(value) && isMap(node)) {
    for (const [key, item] of Object.entries(value)) record(laid, child(node, key) ?? {}, item, [...path, key], source)
    return
  }
  note(laid, path, value, source, path)
  if (node['x-merge'] === undefined || !Array.isArray(value)) return
  const extended =
    node['x-merge'] === 'concat' && Array.isArray(change?.before) && change.value !== null ? change.before.length : 0
  const isChanged = Array.isArray(change?.value) ? among(change.value) : undefined
  value.forEach((item, index) => {
    if (index < extended || isChanged?.(item) === false) return
    note(laid, [...path, String(index)], item, source, [...path, String(index - extended)])
  })
  for (let index = value.length; laid.origins.delete([...path, String(index)].join('.')); index++);
}

function note({ origins }: Laid, path: string[], value: unknown, { layer, file, line }: Sayer, place: string[]): void {
  const name = path.join('.')
  const before = origins.get(name)
  const overridden = before
    ? [...before.overridden, saying(before, before.value, 'line' in before ? () => before.line : undefined)]
    : []
  const origin = saying({ layer, file }, value, line && (() => line(place)))
  origins.set(name, Object.assign(origin, { path: name, overridden }))
}

function ignore(
  { origins, diagnostics }: Laid,
  { layer, file, line }: Sayer,
  path: string[],
  value: unknown,
  code: WorkspaceObjection,
): void {
  const key = path.join('.')
  const number = line?.(path)
  const remark = report(
    code,
    { key, value: JSON.stringify(value) },
    [number === undefined ? file : `${file}:${number}`],
    'warning',
  )
  diagnostics.push(remark)
  if (!origins.has(key))
    origins.set(key, { path: key, layer: 'builtin', file: 'defaults', value: undefined, overridden: [] })
  origins
    .get(key)!
    .overridden.push({ layer, file, ...(number !== undefined && { line: number }), value, reason: remark.message })
}

/** The origin of a value. Its line is computed on first use, because the file has to be parsed for it. */
function saying(
  { layer, file }: Pick<Sayer, 'layer' | 'file'>,
  value: unknown,
  line: (() => number | undefined) | undefined,
): Pick<Origin, 'layer' | 'file' | 'line' | 'value'> {
  const origin = { layer, file, value }
  return line ? Object.defineProperty(origin, 'line', { get: line, enumerable: true }) : origin
}

/** Items with the layer that set them, for readers that depend on it; a `layer` that an item names itself is overwritten. */
const signed = (value: unknown, { layer }: SettingsSource): unknown =>
  Array.isArray(value) ? value.map((item) => (isObject(item) ? { ...item, layer } : (item as unknown))) : value

/** The joined list, the list joined by name, or the new value; `null` is the default again. */
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
