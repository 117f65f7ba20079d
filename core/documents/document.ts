import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { LineCounter, Node, Document as Tree } from 'yaml'
import { problem, type Code } from '../shapes/index.js'
import { inside, requireLibrary } from '../system/index.js'

/** One untrusted document as plain frozen JSON. `at` names the place of a value, or of its nearest parent, as `file:line:column`. */
export interface Data {
  readonly value: unknown
  /** The file that the document was read from. */
  readonly bytes: Uint8Array
  at(path: readonly (string | number)[]): string
}

export const limits = {
  bytes: 256 * 1024,
  flow: 64,
  indent: 200,
  aliases: 64,
  depth: 32,
  nodes: 20_000,
  text: 64 * 1024,
}
/** Keys that could change an object's prototype. */
export const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
const strict = {
  version: '1.2',
  schema: 'core',
  merge: false,
  uniqueKeys: true,
  resolveKnownTags: false,
  strict: true,
  prettyErrors: false,
  logLevel: 'error',
} as const

const refuse = (code: Code, text: string, at: string) => problem(code, { problem: text }, { details: { files: [at] } })

/** Whether root owns the file and nobody else may write it. */
export function closedToOthers(path: string): boolean {
  const { uid, mode } = statSync(path)
  return uid === 0 && (mode & 0o022) === 0
}

/** The real path of a file or folder. */
export type RealPath = (path: string) => string
const realPath: RealPath = (path) => realpathSync.native(path)

/** Real paths for many files: each folder is resolved once, and of the files only links. */
export function realPaths(): RealPath {
  const folders = new Map<string, string>()
  const folderOf = (folder: string) => {
    const real = folders.get(folder) ?? realPath(folder)
    folders.set(folder, real)
    return real
  }
  return (path) => (lstatSync(path).isFile() ? join(folderOf(dirname(path)), basename(path)) : folderOf(path))
}

interface HowRead {
  within?: string | undefined
  judge?: ((place: string) => void) | undefined
  /** Bytes. */
  limit?: number
  real?: RealPath
}

/**
 * The bytes of a regular file; pipes and devices are refused without waiting for them. With `within`, links may lead to any
 * file below that folder and nowhere else. `judge` hears where the open file lies, before anything is read, and throws to refuse it. Throws VT_MANIFEST_LIMIT, VT_MANIFEST_INVALID and system errors.
 */
export function readBytes(
  file: string,
  { within, judge, limit = limits.bytes, real = realPath }: HowRead = {},
): Buffer {
  const path = real(file)
  if (within !== undefined && !inside(real(within), path)) {
    throw refuse('VT_MANIFEST_INVALID', `The link ${file} leads out of ${within}.`, file)
  }
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    // A folder on the way may have become a link since.
    const place = within !== undefined || judge ? placeOf(fd, path) : path
    if (within !== undefined && !inside(real(within), place))
      throw refuse('VT_MANIFEST_INVALID', `The link ${file} leads out of ${within}.`, file)
    judge?.(place)
    if (!stat.isFile()) throw refuse('VT_MANIFEST_INVALID', `${file} is not a regular file.`, file)
    const bytes = Buffer.allocUnsafe(Math.min(stat.size, limit) + 1)
    let length = 0
    for (let more = 1; more > 0 && length < bytes.length; length += more)
      more = readSync(fd, bytes, length, bytes.length - length, null)
    if (length > limit) throw refuse('VT_MANIFEST_LIMIT', `${file} is larger than ${limit / 1024} KiB.`, file)
    return bytes.subarray(0, length)
  } finally {
    closeSync(fd)
  }
}

/** Where an open file lies, where the system tells it. */
function placeOf(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realpathSync(path)
  }
}

/**
 * Parses one YAML 1.2 (core schema) or JSON document: one document, unique text keys, no foreign tags, no numbers that JSON lacks, and
 * the `limits`, checked before anything recurses. Throws VT_MANIFEST_INVALID and VT_MANIFEST_LIMIT with `details.files`.
 */
export async function parseData(bytes: Uint8Array, file: string): Promise<Data> {
  return parseText(await import('yaml'), decode(bytes, file), bytes, file)
}

/** A JSON document that `parseData` accepted before; positions are computed on the first request for one. */
export function parseAgain(bytes: Uint8Array, file: string): Data {
  let data: Data | undefined
  return {
    value: JSON.parse(decode(bytes, file)),
    bytes,
    at: (path) => (data ??= parseText(requireLibrary('yaml'), decode(bytes, file), bytes, file)).at(path),
  }
}

/** The same for the text of the document, which `bytes` hold. */
export function parseText(yaml: typeof import('yaml'), text: string, bytes: Uint8Array, file: string): Data {
  const lines = new yaml.LineCounter()
  const place = (offset: number) => where(file, lines, offset)
  const wrong = (text: string, offset: number) => refuse('VT_MANIFEST_INVALID', text, place(offset))
  const over = (text: string, offset: number) => refuse('VT_MANIFEST_LIMIT', text, place(offset))

  checkNesting(text, yaml.Lexer, file)
  const tree = yaml.parseDocument(text, { ...strict, lineCounter: lines })
  // A warning is a tag or directive that the parser would have to guess at.
  const first = [...tree.errors, ...tree.warnings].sort((a, b) => a.pos[0] - b.pos[0])[0]
  if (first?.code === 'MULTIPLE_DOCS')
    throw wrong('The file holds several documents; write one per file.', first.pos[0])
  if (first) throw wrong(`${first.message}.`.replace(/\.+$/, '.'), first.pos[0])
  if (tree.directives?.yaml.version !== '1.2')
    throw refuse('VT_MANIFEST_INVALID', 'Only YAML 1.2 is read.', `${file}:1:1`)
  const value = copyTree(tree, yaml, { wrong, over })
  if (file.endsWith('.json')) checkJson(text, file)

  return { value, bytes, at: (path) => place(offsetOf(tree, path, yaml)) }
}

/** Make the refusals of a document at an offset. */
interface Faults {
  wrong(text: string, offset: number): Error
  over(text: string, offset: number): Error
}

/** Copies a tree to frozen plain data. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT. */
function copyTree(tree: Tree, yaml: typeof import('yaml'), faults: Faults): unknown {
  const { wrong, over } = faults
  const scalarOf = (node: unknown): unknown => (yaml.isScalar(node) ? node.value : undefined)
  let nodes = 0
  let aliases = 0
  const copy = (node: Node | null, depth: number): unknown => {
    if (node === null) return null
    const offset = node.range?.[0] ?? 0
    if (++nodes > limits.nodes) throw over(`More than ${limits.nodes} values.`, offset)
    if (depth > limits.depth) throw over(`Nested more than ${limits.depth} levels deep.`, offset)
    if (yaml.isAlias(node)) {
      if (++aliases > limits.aliases) throw over(`More than ${limits.aliases} aliases.`, offset)
      const named = node.resolve(tree)
      if (!named) throw wrong(`Nothing is named &${node.source}.`, offset)
      return copy(named, depth)
    }
    if (yaml.isSeq(node)) return Object.freeze(node.items.map((item) => copy(item as Node | null, depth + 1)))
    if (!yaml.isMap(node)) return copyScalar(scalarOf(node), offset, faults)
    const result: Record<string, unknown> = {}
    for (const { key, value } of node.items) {
      const there = (key as Node | null)?.range?.[0] ?? offset
      const name = scalarOf(key)
      if (typeof name !== 'string') throw wrong('A key is not text; quote it.', there)
      if (forbidden.has(name)) throw wrong(`The key '${name}' is not allowed.`, there)
      result[name] = copy(value as Node | null, depth + 1)
    }
    return Object.freeze(result)
  }
  return copy(tree.contents as Node | null, 0)
}

function copyScalar(value: unknown, offset: number, { wrong, over }: Faults): unknown {
  if (typeof value === 'string' && value.length > limits.text) {
    throw over(`A text is longer than ${limits.text} characters.`, offset)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong('JSON has no infinite numbers.', offset)
  return value ?? null
}

/** The text of a document. Throws VT_MANIFEST_LIMIT for a text that is too large, is no UTF-8, or contains a NUL. */
export function decode(bytes: Uint8Array, file: string): string {
  if (bytes.length > limits.bytes)
    throw refuse('VT_MANIFEST_LIMIT', `${file} is larger than ${limits.bytes / 1024} KiB.`, file)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('VT_MANIFEST_LIMIT', `${file} is not UTF-8.`, file)
  }
  if (text.includes('\0')) throw refuse('VT_MANIFEST_LIMIT', `${file} holds a NUL.`, file)
  return text
}

/** The part of the YAML library that cuts text into tokens; our declarations name no package. */
export type Lexing = new () => { lex(source: string): Iterable<string> }

/** The parser recurses and a deep enough document ends the process, so depth is measured on the lexer's flat list first. */
export function checkNesting(text: string, Lexer: Lexing, file: string): void {
  const steep = new RegExp(`^[ \\-?:\\t]{${limits.indent + 1}}`, 'm').exec(text)
  if (steep) {
    const line = text.slice(0, steep.index).split('\n').length
    throw refuse('VT_MANIFEST_LIMIT', `Indented more than ${limits.indent} columns.`, `${file}:${line}`)
  }
  let depth = 0
  let line = 1
  let scalar = false
  for (const token of new Lexer().lex(text)) {
    if (!scalar && (token === '{' || token === '[')) depth++
    else if (!scalar && (token === '}' || token === ']')) depth--
    if (depth > limits.flow)
      throw refuse('VT_MANIFEST_LIMIT', `Nested more than ${limits.flow} levels deep.`, `${file}:${line}`)
    // The lexer announces the text of a scalar with this mark.
    scalar = token === '\u001f'
    for (const char of token) if (char === '\n') line++
  }
}

/** The YAML parser finds duplicate keys and places, but takes more than JSON allows. */
function checkJson(text: string, file: string): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw refuse('VT_MANIFEST_INVALID', `Not JSON: ${(error as Error).message}.`, file)
  }
}

function offsetOf(tree: Tree, path: readonly (string | number)[], yaml: typeof import('yaml')): number {
  let node = tree.contents as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const step of path) {
    if (yaml.isAlias(node)) node = node.resolve(tree) ?? null
    const pair = yaml.isMap(node) ? node.items.find(({ key }) => yaml.isScalar(key) && key.value === step) : undefined
    if (pair) {
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value as Node | null
    } else if (yaml.isSeq(node) && node.items[Number(step)]) {
      node = node.items[Number(step)] as Node
      offset = node.range?.[0] ?? offset
    } else break
  }
  return offset
}

function where(file: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return line > 0 ? `${file}:${line}:${col}` : `${file}:1:1`
}
