import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import type { Document } from 'yaml'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { readOwnFile, type FileDraft } from './draft.js'
import { editYamlLines } from './yaml_lines.js'

const stem = 'vtcode.config'

/** Returns the existing settings file of a folder, or the path of a new YAML file. */
export const findSettingsFile = (folder: string): string =>
  ['yaml', 'yml', 'json', 'ts', 'mts', 'js', 'mjs']
    .map((end) => join(folder, `${stem}.${end}`))
    .find((file) => existsSync(file)) ?? join(folder, `${stem}.yaml`)

/**
 * Drafts a settings file with new values at paths such as `agent.model`; `undefined` removes a value. Everything else
 * stays, comments included. Throws for a file in code, an unreadable file, and where another value is in the way.
 */
export async function draftSettings(file: string, values: Readonly<Record<string, unknown>>): Promise<FileDraft> {
  const before = readOwnFile(file)
  const yaml = await import('yaml')
  const { parseDocument, isMap } = yaml
  const tree = parseSettings(file, before, yaml)
  const was = (tree.toJS() ?? {}) as JsonObject
  for (const [path, value] of Object.entries(values)) setValue(tree, path.split('.'), value, isMap)
  const wanted = Object.entries(values).reduce((all, [path, value]) => changeValue(all, path.split('.'), value), was)
  const empty = Object.keys(wanted).length === 0 && !before?.includes('#')
  const text = file.endsWith('.json')
    ? `${JSON.stringify(wanted, null, 2)}\n`
    : (editLines(before ?? '', values, wanted, yaml) ?? tree.toString({ lineWidth: 0 }))
  const after = empty && before !== undefined ? undefined : text
  if (after !== undefined && !isDeepStrictEqual(parseDocument(after).toJS() ?? {}, wanted))
    throw new Error('a change would alter other settings in it; edit the file by hand')
  return { file, before, after }
}

function parseSettings(file: string, text: string | undefined, yaml: typeof import('yaml')): Document {
  if (!/\.(ya?ml|json)$/.test(file)) throw new Error('it is written in code')
  const tree = text?.trim() ? yaml.parseDocument(text) : new yaml.Document({})
  if (tree.errors.length > 0) throw new Error('it cannot be read')
  if (tree.contents !== null && !yaml.isMap(tree.contents)) throw new Error('it holds no settings')
  return tree as Document
}

/** Changes only the lines of the values; `undefined` where that is not possible. */
function editLines(
  before: string,
  values: Readonly<Record<string, unknown>>,
  wanted: JsonObject,
  yaml: typeof import('yaml'),
): string | undefined {
  const text = Object.entries(values).reduce<string | undefined>(
    (all, [path, value]) => (all === undefined ? undefined : editYamlLines(all, path.split('.'), value, yaml)),
    before,
  )
  if (text === undefined) return undefined
  const tree = yaml.parseDocument(text)
  return tree.errors.length === 0 && isDeepStrictEqual(tree.toJS() ?? {}, wanted) ? text : undefined
}

type IsMap = (node: unknown) => boolean

function setValue(tree: Document, keys: readonly string[], value: unknown, isMap: IsMap): void {
  const getNode = (length: number): unknown => tree.getIn(keys.slice(0, length), true)
  const holder = keys.slice(0, -1).findIndex((_, at) => tree.hasIn(keys.slice(0, at + 1)) && !isMap(getNode(at + 1)))
  if (holder >= 0) throw new Error(`'${keys.slice(0, holder + 1).join('.')}' holds no settings`)
  if (value !== undefined) return tree.setIn(keys, tree.createNode(value))
  tree.deleteIn(keys)
  // Maps that become empty are removed as well.
  for (let at = keys.length - 1; at > 0 && isEmptyMap(getNode(at), isMap); at--) tree.deleteIn(keys.slice(0, at))
}

const isEmptyMap = (node: unknown, isMap: IsMap): boolean =>
  isMap(node) && (node as { items: unknown[] }).items.length === 0

function changeValue(value: JsonObject, [key, ...rest]: string[], wanted: unknown): JsonObject {
  const { [key!]: before, ...others } = value
  const inner = rest.length > 0 ? changeValue(isObject(before) ? (before as JsonObject) : {}, rest, wanted) : wanted
  const gone = inner === undefined || (wanted === undefined && isObject(inner) && Object.keys(inner).length === 0)
  // A changed key keeps its position.
  return gone ? others : { ...value, [key!]: inner }
}
