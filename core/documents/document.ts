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
import { isInside, requireLibrary } from '../system/index.js'

/**
 * One untrusted document as plain JSON. `at` returns the position of a value, or of its nearest parent, as
 * `file:line:column`.
 */
export interface ParsedDocument {
  readonly value: unknown
  /** Content of the file. */
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
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
const PARSE_OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  uniqueKeys: true,
  resolveKnownTags: false,
  strict: true,
  prettyErrors: false,
  logLevel: 'error',
} as const

const createProblem = (code: Code, text: string, at: string) =>
  problem(code, { problem: text }, { details: { files: [at] } })

/** Returns whether root owns the file and no other user can write it. */
export function isWritableByRootOnly(path: string): boolean {
  const { uid, mode } = statSync(path)
  return uid === 0 && (mode & 0o022) === 0
}

/** Returns the real path of a file or folder. */
export type RealPath = (path: string) => string
const realPath: RealPath = (path) => realpathSync.native(path)

/** Creates a resolver of real paths that caches folders; regular files need no resolving of their own. */
export function createRealPathResolver(): RealPath {
  const folders = new Map<string, string>()
  const resolveFolder = (folder: string) => {
    const real = folders.get(folder) ?? realPath(folder)
    folders.set(folder, real)
    return real
  }
  return (path) => (lstatSync(path).isFile() ? join(resolveFolder(dirname(path)), basename(path)) : resolveFolder(path))
}

interface ReadOptions {
  within?: string | undefined
  judge?: ((openPath: string) => void) | undefined
  /** Bytes. */
  limit?: number
  real?: RealPath
}

/**
 * Reads the bytes of a regular file; pipes and devices are refused without waiting for them. With `within`, links may
 * lead to files below that folder only. `judge` gets the path of the open file before anything is read, and throws to
 * refuse it. Throws VT_MANIFEST_LIMIT, VT_MANIFEST_INVALID and system errors.
 */
export function readBytes(
  file: string,
  { within, judge, limit = limits.bytes, real = realPath }: ReadOptions = {},
): Buffer {
  const path = real(file)
  if (within !== undefined && !isInside(real(within), path)) {
    throw createProblem('VT_MANIFEST_INVALID', `The link ${file} leads out of ${within}.`, file)
  }
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    // A parent folder may have become a link since.
    const openPath = within !== undefined || judge ? findOpenPath(fd, path) : path
    if (within !== undefined && !isInside(real(within), openPath))
      throw createProblem('VT_MANIFEST_INVALID', `The link ${file} leads out of ${within}.`, file)
    judge?.(openPath)
    if (!stat.isFile()) throw createProblem('VT_MANIFEST_INVALID', `${file} is not a regular file.`, file)
    const bytes = Buffer.allocUnsafe(Math.min(stat.size, limit) + 1)
    let length = 0
    for (let more = 1; more > 0 && length < bytes.length; length += more)
      more = readSync(fd, bytes, length, bytes.length - length, null)
    if (length > limit) throw createProblem('VT_MANIFEST_LIMIT', `${file} is larger than ${limit / 1024} KiB.`, file)
    return bytes.subarray(0, length)
  } finally {
    closeSync(fd)
  }
}

/** Returns the path of an open file, as far as the system reports it. */
function findOpenPath(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realpathSync(path)
  }
}

/**
 * Parses one YAML 1.2 (core schema) or JSON document: one document, unique text keys, no foreign tags, no numbers that
 * JSON lacks, and the `limits`, checked before any recursion. Throws VT_MANIFEST_INVALID and VT_MANIFEST_LIMIT with
 * `details.files`.
 */
export async function parseData(bytes: Uint8Array, file: string): Promise<ParsedDocument> {
  return parseText(await import('yaml'), decodeDocument(bytes, file), bytes, file)
}

/** Parses a JSON document that `parseData` accepted before; positions are computed on first use. */
export function parseCheckedJson(bytes: Uint8Array, file: string): ParsedDocument {
  let data: ParsedDocument | undefined
  return {
    value: JSON.parse(decodeDocument(bytes, file)),
    bytes,
    at: (path) => (data ??= parseText(requireLibrary('yaml'), decodeDocument(bytes, file), bytes, file)).at(path),
  }
}

/** Parses the text of a document, decoded from `bytes`. */
export function parseText(yaml: typeof import('yaml'), text: string, bytes: Uint8Array, file: string): ParsedDocument {
  const lines = new yaml.LineCounter()
  const toPosition = (offset: number) => formatPosition(file, lines, offset)
  const invalid = (text: string, offset: number) => createProblem('VT_MANIFEST_INVALID', text, toPosition(offset))
  const overLimit = (text: string, offset: number) => createProblem('VT_MANIFEST_LIMIT', text, toPosition(offset))

  checkNesting(text, yaml.Lexer, file)
  const tree = yaml.parseDocument(text, { ...PARSE_OPTIONS, lineCounter: lines })
  // A warning is about a tag or directive that the parser would have to guess at.
  const first = [...tree.errors, ...tree.warnings].sort((a, b) => a.pos[0] - b.pos[0])[0]
  if (first?.code === 'MULTIPLE_DOCS')
    throw invalid('The file contains several documents. Write one per file.', first.pos[0])
  if (first) throw invalid(`${first.message}.`.replace(/\.+$/, '.'), first.pos[0])
  if (tree.directives?.yaml.version !== '1.2')
    throw createProblem('VT_MANIFEST_INVALID', 'The YAML version is not 1.2. Use YAML 1.2.', `${file}:1:1`)
  const value = copyTree(tree, yaml, { invalid, overLimit })
  if (file.endsWith('.json')) checkJson(text, file)

  return { value, bytes, at: (path) => toPosition(findOffset(tree, path, yaml)) }
}

/** Creates the errors of a document at an offset. */
interface Faults {
  invalid(text: string, offset: number): Error
  overLimit(text: string, offset: number): Error
}

/** Copies a tree to frozen plain data. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT. */
function copyTree(tree: Tree, yaml: typeof import('yaml'), faults: Faults): unknown {
  const { invalid, overLimit } = faults
  const scalarValue = (node: unknown): unknown => (yaml.isScalar(node) ? node.value : undefined)
  let nodes = 0
  let aliases = 0
  const copy = (node: Node | null, depth: number): unknown => {
    if (node === null) return null
    const offset = node.range?.[0] ?? 0
    if (++nodes > limits.nodes) throw overLimit(`More than ${limits.nodes} values.`, offset)
    if (depth > limits.depth) throw overLimit(`Nested more than ${limits.depth} levels deep.`, offset)
    if (yaml.isAlias(node)) {
      if (++aliases > limits.aliases) throw overLimit(`More than ${limits.aliases} aliases.`, offset)
      const anchored = node.resolve(tree)
      if (!anchored) throw invalid(`The anchor &${node.source} does not exist.`, offset)
      return copy(anchored, depth)
    }
    if (yaml.isSeq(node)) return Object.freeze(node.items.map((item) => copy(item as Node | null, depth + 1)))
    if (!yaml.isMap(node)) return copyScalar(scalarValue(node), offset, faults)
    const result: Record<string, unknown> = {}
    for (const { key, value } of node.items) {
      const keyOffset = (key as Node | null)?.range?.[0] ?? offset
      const name = scalarValue(key)
      if (typeof name !== 'string') throw invalid('A key is not text. Quote it.', keyOffset)
      if (FORBIDDEN_KEYS.has(name)) throw invalid(`The key '${name}' is not allowed.`, keyOffset)
      result[name] = copy(value as Node | null, depth + 1)
    }
    return Object.freeze(result)
  }
  return copy(tree.contents as Node | null, 0)
}

function copyScalar(value: unknown, offset: number, { invalid, overLimit }: Faults): unknown {
  if (typeof value === 'string' && value.length > limits.text) {
    throw overLimit(`A text is longer than ${limits.text} characters.`, offset)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw invalid('JSON has no infinite numbers.', offset)
  return value ?? null
}

/** Decodes a document. Throws VT_MANIFEST_LIMIT for a text that is too large, not UTF-8, or contains a NUL. */
export function decodeDocument(bytes: Uint8Array, file: string): string {
  if (bytes.length > limits.bytes)
    throw createProblem('VT_MANIFEST_LIMIT', `${file} is larger than ${limits.bytes / 1024} KiB.`, file)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw createProblem('VT_MANIFEST_LIMIT', `${file} is not UTF-8.`, file)
  }
  if (text.includes('\0')) throw createProblem('VT_MANIFEST_LIMIT', `${file} contains a NUL character.`, file)
  return text
}

/** The tokenizer of the YAML library; declared here so that our .d.ts files do not import yaml. */
export type LexerClass = new () => { lex(source: string): Iterable<string> }

/** Checks the depth on the lexer's flat list, before the parser builds a tree from it. */
export function checkNesting(text: string, Lexer: LexerClass, file: string): void {
  const steep = new RegExp(`^[ \\-?:\\t]{${limits.indent + 1}}`, 'm').exec(text)
  if (steep) {
    const line = text.slice(0, steep.index).split('\n').length
    throw createProblem('VT_MANIFEST_LIMIT', `Indented more than ${limits.indent} columns.`, `${file}:${line}`)
  }
  let depth = 0
  let line = 1
  let scalar = false
  for (const token of new Lexer().lex(text)) {
    if (!scalar && (token === '{' || token === '[')) depth++
    else if (!scalar && (token === '}' || token === ']')) depth--
    if (depth > limits.flow)
      throw createProblem('VT_MANIFEST_LIMIT', `Nested more than ${limits.flow} levels deep.`, `${file}:${line}`)
    // The token U+001F announces the text of a scalar.
    scalar = token === '\u001f'
    for (const char of token) if (char === '\n') line++
  }
}

/** Checks that the text is JSON: the YAML parser finds duplicate keys and positions, but accepts more. */
function checkJson(text: string, file: string): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw createProblem('VT_MANIFEST_INVALID', `Not JSON: ${(error as Error).message}.`, file)
  }
}

function findOffset(tree: Tree, path: readonly (string | number)[], yaml: typeof import('yaml')): number {
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

function formatPosition(file: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return line > 0 ? `${file}:${line}:${col}` : `${file}:1:1`
}
