import { isObject, createDiagnostic, type Diagnostic, type JsonObject, type Schema } from '../shapes/index.js'
import type { SettingsSource } from './source.js'
import type { Origin } from './types.js'
import {
  createMembershipTest,
  findWorkspaceObjection,
  type WorkspaceObjection,
  type WorkspaceRule,
} from './workspace_rules.js'

type SourceInfo = Omit<SettingsSource, 'value'>
export interface Merged {
  settings: JsonObject
  origins: Origin[]
  diagnostics: Diagnostic[]
}

const isMap = ({ type, properties, additionalProperties }: Schema): boolean =>
  type === 'object' && (isObject(properties) || isObject(additionalProperties))

/** Returns a mutable copy; `structuredClone` costs milliseconds at the start. */
function copy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy) as T
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)])) as T
}

/** Returns the schema of a key: of a named property or of a value of a map. */
export function findChildSchema(node: Schema, key: string): Schema | undefined {
  const properties = node['properties'] as Record<string, Schema> | undefined
  if (properties && Object.hasOwn(properties, key)) return properties[key]
  return isObject(node['additionalProperties']) ? node['additionalProperties'] : undefined
}

/** Returns the settings that consist of the `default`s of a schema. */
export function collectDefaults(node: Schema): unknown {
  if (!isObject(node['properties'])) return copy(node['default'])
  const result: JsonObject = {}
  for (const [key, property] of Object.entries(node['properties'])) {
    const value = collectDefaults(property as Schema)
    if (value !== undefined) result[key] = value
  }
  return result
}

/** A position in the settings that a value is merged into. */
interface MergeTarget {
  node: Schema
  path: string[]
  /** `parent[key]` is the value. */
  parent: JsonObject
  key: string
  /** Value of the user's own layers below the workspace. */
  own: unknown
  rule: WorkspaceRule
}

/** Records of a merge. */
interface MergeRecords {
  /** Origins of values by path. */
  readonly origins: Map<string, Origin>
  readonly diagnostics: Diagnostic[]
}

/**
 * Merges sources over the defaults of a schema, lowest first. Objects merge by key, scalars and lists replace, `null`
 * restores the default; `x-merge` names the lists that join. A value that `x-workspace` forbids for a workspace is
 * ignored and reported.
 */
export function merge(schema: Schema, sources: readonly SettingsSource[]): Merged {
  const records: MergeRecords = { origins: new Map(), diagnostics: [] }
  const root = { settings: collectDefaults(schema) as JsonObject }
  recordValue(records, schema, root.settings, [], { layer: 'builtin', file: 'defaults' })

  let own: JsonObject | undefined
  for (const source of sources) {
    if (source.layer === 'workspace') own ??= copy(root.settings)
    mergeValue(records, source, source.value, {
      node: schema,
      path: [],
      parent: root,
      key: 'settings',
      own,
      rule: { may: 'free', consented: false },
    })
  }
  return { settings: root.settings, origins: [...records.origins.values()], diagnostics: records.diagnostics }
}

function mergeValue(records: MergeRecords, source: SettingsSource, value: unknown, position: MergeTarget): void {
  if (value === undefined) return
  const { node, path, parent, key, own } = position
  const rule = resolveRule(source, value, position)
  if (isObject(value) && hasOneAuthor(node, value)) {
    if (source.layer !== 'workspace') dropWorkspaceEntry(records, position)
    else if (own !== undefined) return recordIgnored(records, source, path, value, 'VT_CONFIG_OWN_ONLY')
  }
  if (isMap(node) && (isObject(value) || value === null))
    return mergeMembers(records, source, value, { ...position, rule })
  if (node['x-adds-layer'] === true) value = addLayer(value, source)
  const objection = source.layer === 'workspace' ? findWorkspaceObjection(node, value, own, rule) : undefined
  if (objection) return recordIgnored(records, source, path, value, objection)
  const before = parent[key]
  const after = joinValues(node, before, value)
  if (after === undefined) delete parent[key]
  else parent[key] = after
  recordValue(records, node, after, path, source, { value, before })
}

/** Merges the members of a map. `null` unsets every present member. */
function mergeMembers(
  records: MergeRecords,
  source: SettingsSource,
  value: JsonObject | null,
  { node, path, parent, key, own, rule }: MergeTarget,
): void {
  const members = value ?? Object.fromEntries(Object.keys(Object(parent[key])).map((member) => [member, null]))
  const inner = isObject(parent[key]) ? parent[key] : (parent[key] = {} as JsonObject)
  for (const [member, item] of Object.entries(members)) {
    const child = {
      node: findChildSchema(node, member) ?? {},
      path: [...path, member],
      own: isObject(own) ? own[member] : undefined,
      rule,
    }
    mergeValue(records, source, item, { ...child, parent: inner as JsonObject, key: member })
  }
}

/**
 * Returns whether only one author may write an entry. A workspace that adds to an entry of the user would get data that
 * the user meant for another server.
 */
const hasOneAuthor = (node: Schema, value: JsonObject): boolean =>
  (node['x-one-author'] as string[] | undefined)?.some((member) => member in value) === true

/** Deletes an entry that a workspace has written, because a later layer of the user sets it. */
function dropWorkspaceEntry({ origins }: MergeRecords, { path, parent, key }: MergeTarget): void {
  const inside = [...origins].filter(([name]) => name.startsWith(`${path.join('.')}.`))
  if (!inside.some(([, origin]) => origin.layer === 'workspace')) return
  for (const [name] of inside) origins.delete(name)
  delete parent[key]
}

function resolveRule(
  { layer, isTrusted }: SettingsSource,
  value: unknown,
  { node, path, rule }: MergeTarget,
): WorkspaceRule {
  const may = node['x-workspace'] as WorkspaceRule['may'] | undefined
  if (may === undefined) return rule
  const consented = layer === 'workspace' && may === 'trusted' && (isTrusted?.(path.join('.'), value) ?? false)
  return { may, consented }
}

/**
 * Records the origin of a value and the value that it replaced. In a list that layers extend, each item has its own
 * origin.
 */
function recordValue(
  records: MergeRecords,
  node: Schema,
  value: unknown,
  path: string[],
  source: SourceInfo,
  change?: { value: unknown; before: unknown },
): void {
  if (isObject(value) && isMap(node)) {
    for (const [key, item] of Object.entries(value))
      recordValue(records, findChildSchema(node, key) ?? {}, item, [...path, key], source)
    return
  }
  recordOrigin(records, path, value, source, path)
  if (node['x-merge'] === undefined || !Array.isArray(value)) return
  // Items of earlier layers keep their origins.
  const inheritedCount =
    node['x-merge'] === 'concat' && Array.isArray(change?.before) && change.value !== null ? change.before.length : 0
  const isFromSource = Array.isArray(change?.value) ? createMembershipTest(change.value) : undefined
  value.forEach((item, index) => {
    if (index < inheritedCount || isFromSource?.(item) === false) return
    recordOrigin(records, [...path, String(index)], item, source, [...path, String(index - inheritedCount)])
  })
  // Deletes the origins of items that no longer exist.
  for (let index = value.length; records.origins.delete([...path, String(index)].join('.')); index++);
}

function recordOrigin(
  { origins }: MergeRecords,
  path: string[],
  value: unknown,
  { layer, file, line }: SourceInfo,
  sourcePath: string[],
): void {
  const name = path.join('.')
  const before = origins.get(name)
  const overridden = before
    ? [...before.overridden, createOrigin(before, before.value, 'line' in before ? () => before.line : undefined)]
    : []
  const origin = createOrigin({ layer, file }, value, line && (() => line(sourcePath)))
  origins.set(name, Object.assign(origin, { path: name, overridden }))
}

function recordIgnored(
  { origins, diagnostics }: MergeRecords,
  { layer, file, line }: SourceInfo,
  path: string[],
  value: unknown,
  code: WorkspaceObjection,
): void {
  const key = path.join('.')
  const number = line?.(path)
  const diagnostic = createDiagnostic(
    code,
    { key, value: JSON.stringify(value) },
    [number === undefined ? file : `${file}:${number}`],
    'warning',
  )
  diagnostics.push(diagnostic)
  if (!origins.has(key))
    origins.set(key, { path: key, layer: 'builtin', file: 'defaults', value: undefined, overridden: [] })
  origins
    .get(key)!
    .overridden.push({ layer, file, ...(number !== undefined && { line: number }), value, reason: diagnostic.message })
}

/** Creates the origin of a value. Its line is computed on first use, because the file has to be parsed for it. */
function createOrigin(
  { layer, file }: Pick<SourceInfo, 'layer' | 'file'>,
  value: unknown,
  line: (() => number | undefined) | undefined,
): Pick<Origin, 'layer' | 'file' | 'line' | 'value'> {
  const origin = { layer, file, value }
  return line ? Object.defineProperty(origin, 'line', { get: line, enumerable: true }) : origin
}

/** Adds to each item the layer that set it; a `layer` that an item sets itself is overwritten. */
const addLayer = (value: unknown, { layer }: SettingsSource): unknown =>
  Array.isArray(value) ? value.map((item) => (isObject(item) ? { ...item, layer } : (item as unknown))) : value

/** Returns the joined list, the list joined by name, or the new value; `null` restores the default. */
function joinValues(node: Schema, before: unknown, value: unknown): unknown {
  if (value === null) return collectDefaults(node)
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
