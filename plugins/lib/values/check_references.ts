import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { isObject, type Contribution, type JsonObject, type Schema } from '../../../core/shapes/index.js'
import { isProgram } from '../../../core/system/index.js'
import { findNearest, toText } from '../../../core/text/index.js'
import { loadDocument } from '../../../core/documents/index.js'
import { parseReference, type Piece } from './references.js'

type Path = readonly (string | number)[]
interface Part {
  path: Path
  value: unknown
}

/** Keys of an element that name a field of the input, and keys that hold further elements. */
const NAME_KEYS = new Set(['if', 'each', 'json', 'input'])
const LIST_KEYS = new Set(['then', 'else', 'args', 'join'])

/**
 * Finds invalid references in `run` and `http` of a manifest: to a program of the plugin, a field of the input, an
 * option. Each text begins with the file of the plugin, line and column, and ends with the fix. Runs no code of the
 * plugin.
 */
export async function checkReferences(contribution: Contribution, input: Schema): Promise<string[]> {
  const { manifest, root, file } = contribution
  const faults = [
    ...checkProgram(manifest.run?.[0], root),
    ...findFieldReferences(manifest).flatMap(({ path, value }) =>
      checkField(toText(value), path, input, manifest.options ?? {}),
    ),
  ]
  if (faults.length === 0) return []
  const data = await loadDocument(file, root).catch(() => undefined)
  return faults.map(({ path, value }) => `${relative(root, data?.at(path) ?? file)}: ${toText(value)}`)
}

/** A program of the machine may be absent here; one of the plugin may not. */
function checkProgram(name: unknown, root: string): Part[] {
  if (typeof name !== 'string' || !/[/\\]/.test(name)) return []
  const program = resolve(root, name)
  if (isProgram(program)) return []
  const value = existsSync(program)
    ? `'${name}' is not executable. Run \`chmod +x ${name}\`, ` +
      "or name the program that runs it: [sh, '{$plugin_root}/…']."
    : `'${name}' does not exist. Name a file of the plugin, relative to its folder, with slashes.`
  return [{ path: ['run', 0], value }]
}

/**
 * Returns the names of fields and options in a manifest, with their paths; the name of an option begins with
 * `$option.`.
 */
function findFieldReferences({ run = [], stdin, cwd, env, http = {} }: Contribution['manifest']): Part[] {
  const { url, query, headers, auth, body } = http
  const values = [
    ...listEntries(query, ['http', 'query']),
    ...listEntries(headers, ['http', 'headers']),
    ...listEntries(auth, ['http', 'auth']),
  ]
  const elements: Part[] = [
    ...[
      { path: ['run'], value: run },
      { path: ['stdin'], value: stdin },
      { path: ['cwd'], value: cwd },
    ],
    // A text of `env` is literal.
    ...listEntries(env, ['env']).filter(({ value }) => typeof value !== 'string'),
    ...[{ path: ['http', 'url'], value: url }, ...values],
  ]
  return [
    ...elements.flatMap((part) => findReferences(part)),
    ...findReferences({ path: ['http', 'body'], value: body }, true),
  ]
}

/** In `data` each key is a key of the body that is sent. */
function findReferences({ path, value }: Part, data = false): Part[] {
  if (typeof value === 'string') return listReferenceNames(value).map((name) => ({ path, value: name }))
  if (Array.isArray(value)) return value.flatMap((one, at) => findReferences({ path: [...path, at], value: one }, data))
  return listEntries(value, path).flatMap((part) => {
    const key = toText(part.path.at(-1))
    if (!data && NAME_KEYS.has(key)) return [part]
    return data || LIST_KEYS.has(key) ? findReferences(part, data) : []
  })
}

function checkField(name: string, path: Path, input: Schema, options: Schema): Part[] {
  const [, option] = /^\$option\.(.+)$/.exec(name) ?? []
  const isItem = path.includes('args') && name.split('.')[0] === 'item'
  if (option === undefined && (name.startsWith('$') || isItem)) return []
  const [place, schema, field] = option === undefined ? ['input', input, name] : ['options', options, option]
  if (isDeclared(schema, field)) return []
  const like = findNearest(field, Object.keys((schema['properties'] ?? {}) as JsonObject))
  const fix =
    like === undefined
      ? `Declare it under \`${place}.properties\`.`
      : `Write '${like}', or declare it under \`${place}.properties\`.`
  const where = path.filter((step) => typeof step === 'string').join('.')
  return [{ path, value: `${where} refers to {${name}}, which \`${place}\` does not declare. ${fix}` }]
}

function isDeclared(schema: Schema, field: string): boolean {
  let here: unknown = schema
  for (const name of field.split('.')) {
    const properties = isObject(here) ? here['properties'] : undefined
    if (!isObject(properties) || !Object.hasOwn(properties, name)) return false
    here = properties[name]
  }
  return true
}

const listEntries = (value: unknown, path: Path): Part[] =>
  isObject(value) ? Object.entries(value).map(([key, one]) => ({ path: [...path, key], value: one })) : []

function listReferenceNames(source: string): string[] {
  const toName = (piece: Piece) =>
    piece.kind === 'literal' ? [] : piece.kind === 'special' ? [`$${piece.name}`] : [piece.path]
  try {
    return parseReference(source, () => new Error(source)).flatMap(toName)
  } catch {
    return []
  }
}
