import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../../core/base/index.js'
import { ownText, type FileDraft } from './draft.js'

const stem = 'vtcode.config'

/** The settings file in a folder: the one that is there, else the YAML file that would be. */
export const settingsFile = (folder: string): string => ['yaml', 'yml', 'json', 'ts', 'mts', 'js', 'mjs'].map((end) => join(folder, `${stem}.${end}`)).find((file) => existsSync(file)) ?? join(folder, `${stem}.yaml`)

/**
 * A settings file with other values at these paths, such as `agent.model`; `undefined` takes a value out. All else stays, comments too.
 * Throws for a file in code, for one that cannot be read, and where something else stands in the way.
 */
export async function settingsDraft(file: string, values: Readonly<Record<string, unknown>>): Promise<FileDraft> {
  const before = ownText(file)
  if (!/\.(ya?ml|json)$/.test(file)) throw new Error('it is written in code')
  const { parseDocument, isMap, Document } = await import('yaml')
  const tree = before === undefined || before.trim() === '' ? new Document({}) : parseDocument(before)
  if (tree.errors.length > 0) throw new Error('it cannot be read')
  if (tree.contents !== null && !isMap(tree.contents)) throw new Error('it holds no settings')
  const was = (tree.toJS() ?? {}) as JsonObject
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('.')
    const holder = keys.slice(0, -1).findIndex((_, at) => tree.hasIn(keys.slice(0, at + 1)) && !isMap(tree.getIn(keys.slice(0, at + 1), true)))
    if (holder >= 0) throw new Error(`'${keys.slice(0, holder + 1).join('.')}' holds no settings`)
    if (value !== undefined) tree.setIn(keys, tree.createNode(value))
    // What is empty then goes as well.
    else for (let at = keys.length; at > 0 && (at === keys.length || emptyMap(tree.getIn(keys.slice(0, at), true), isMap)); at--) tree.deleteIn(keys.slice(0, at))
  }
  const wanted = Object.entries(values).reduce((all, [path, value]) => changed(all, path.split('.'), value), was)
  const empty = Object.keys(wanted).length === 0 && !before?.includes('#')
  const after = empty && before !== undefined ? undefined : file.endsWith('.json') ? `${JSON.stringify(wanted, null, 2)}\n` : tree.toString({ lineWidth: 0 })
  if (after !== undefined && !isDeepStrictEqual(parseDocument(after).toJS() ?? {}, wanted)) throw new Error('it cannot be changed without changing something else in it')
  return { file, before, after }
}

const emptyMap = (node: unknown, isMap: (node: unknown) => boolean): boolean => isMap(node) && (node as { items: unknown[] }).items.length === 0

function changed(value: JsonObject, [key, ...rest]: string[], wanted: unknown): JsonObject {
  const { [key!]: before, ...others } = value
  const inner = rest.length > 0 ? changed(isObject(before) ? (before as JsonObject) : {}, rest, wanted) : wanted
  const gone = inner === undefined || (wanted === undefined && isObject(inner) && Object.keys(inner).length === 0)
  // A key keeps its place.
  return gone ? others : { ...value, [key!]: inner }
}
