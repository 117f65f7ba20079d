import type { Node, ParseError } from 'jsonc-parser'
import { isObject } from '../../../core/shapes/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changeDocument, ENTRY_NAME, requireExactChange, type EntryChange } from './document.js'

type Editor = typeof import('jsonc-parser')

/** Changes only our entry in JSON; other lines keep their layout. `comments` accepts comments and trailing commas. */
export async function editJson(
  text: string,
  path: string[],
  entry: EntryChange,
  comments: boolean,
): Promise<string | undefined> {
  // Only this function needs the library.
  const editor = await import('jsonc-parser')
  const options = { allowTrailingComma: comments, disallowComments: !comments }
  const errors: ParseError[] = []
  const before = text.trim() === '' ? {} : (editor.parse(text, errors, options) as unknown)
  if (errors[0])
    throw new Error(
      `the file is no valid JSON (${editor.printParseErrorCode(errors[0].error)} at character ${errors[0].offset})`,
    )
  if (!isObject(before)) throw new Error('the file does not hold an object')
  const expected = changeDocument(before as JsonObject, path, entry)
  const read = (source: string): unknown => editor.parse(source, [], options)
  if (!entry) {
    const target = findRemovable(text, before as JsonObject, [...path, ENTRY_NAME], editor)
    return target.length === 0
      ? undefined
      : requireExactChange(removeKey(text, target, editor), read, omitPath(before as JsonObject, target))
  }
  const at = [...path, ENTRY_NAME]
  const known = readValue(before as JsonObject, at)
  const changed = Object.entries(entry).filter(([key, value]) => JSON.stringify(known?.[key]) !== JSON.stringify(value))
  const source = text.trim() === '' ? '{}\n' : text
  const after = known
    ? changed.reduce((whole, [key, value]) => putValue(whole, [...at, key], value, editor), source)
    : putValue(source, at, entry, editor)
  return requireExactChange(after, read, expected)
}

/** Sets a value: replaces the existing one, or appends it to the innermost existing object. */
function putValue(text: string, at: string[], value: unknown, editor: Editor): string {
  const tree = editor.parseTree(text, [], { allowTrailingComma: true })!
  const existing = editor.findNodeAtLocation(tree, at)
  const depth = existing
    ? at.length
    : at.findIndex((_, index) => !editor.findNodeAtLocation(tree, at.slice(0, index + 1)))
  const holder = editor.findNodeAtLocation(tree, at.slice(0, existing ? depth - 1 : depth))!
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = detectIndent(text)
  const inside = holder.children?.at(-1)
  const flat = [tree, holder].some((node) => node.children?.length && !sliceNode(text, node).includes('\n'))
  const indent = inside ? readLineIndent(text, inside.offset) : readLineIndent(text, holder.offset) + unit
  const formatValue = (one: unknown): string =>
    flat ? JSON.stringify(one) : JSON.stringify(one, undefined, unit).replaceAll('\n', `${lineBreak}${indent}`)
  if (existing)
    return text.slice(0, existing.offset) + formatValue(value) + text.slice(existing.offset + existing.length)
  const entry =
    `${JSON.stringify(at[depth])}: ` +
    `${formatValue(at.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value))}`
  if (inside)
    return appendEntry(text, inside.offset + inside.length, flat ? ` ${entry}` : `${lineBreak}${indent}${entry}`)
  const close = holder.offset + holder.length - 1
  const from = text.slice(0, close).trimEnd().length
  if (flat) return splice(text, from, entry)
  return (
    `${text.slice(0, from)}${lineBreak}${indent}${entry}${lineBreak}${readLineIndent(text, holder.offset)}` +
    `${text.slice(close)}`
  )
}

/** Appends an entry after the last one and the comments on its line; a comma at the end stays at the end. */
function appendEntry(text: string, end: number, entry: string): string {
  const [rest, comments, comma] = /^((?:[ \t]*\/\*[^\n]*?\*\/)*)[ \t]*(,?)/.exec(text.slice(end))!
  const past = end + (comma ? rest!.length : comments!.length)
  const isMultiline = entry.includes('\n')
  const remark = isMultiline ? /^(?:[ \t]*\/\*[^\n]*?\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/.exec(text.slice(past))![0] : ''
  // Without a comma of its own the comma follows the value, because a line comment hides it.
  const place = past + remark.length
  return comma
    ? `${text.slice(0, place)}${entry},${text.slice(place)}`
    : `${text.slice(0, end)},${text.slice(end, place)}${entry}${text.slice(place)}`
}

/** Removes a key with its lines and one comma; keeps all comments. */
function removeKey(text: string, at: string[], editor: Editor): string {
  const key = editor.findNodeAtLocation(editor.parseTree(text, [], { allowTrailingComma: true })!, at)?.parent
  if (!key) return text
  const before = key.parent!.children![key.parent!.children!.indexOf(key) - 1]
  const findComma = (place: number): number | undefined => {
    const scanner = editor.createScanner(text, true)
    scanner.setPosition(place)
    scanner.scan()
    return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined
  }
  const end = key.offset + key.length
  const nextComma = findComma(end)
  const removedComma = nextComma ?? (before && findComma(before.offset + before.length))
  const rest = text.slice(nextComma === undefined ? end : nextComma + 1)
  const blank = /(?:\r?\n)?[ \t]*$/.exec(text.slice(0, key.offset))!.index
  const isOwnLine = text.slice(blank, key.offset).includes('\n')
  // The rest of the line keeps its own line: after a line comment above, it would become part of that comment.
  const isWholeLine = isOwnLine
    ? /^[ \t]*(?:\r?\n|$)/.test(rest) || (nextComma === undefined && /^[ \t]*\/\//.test(rest))
    : nextComma === undefined
  const gap = isWholeLine || nextComma === undefined ? 0 : /^[ \t]*/.exec(rest)![0].length
  const cuts = [
    [isWholeLine ? blank : key.offset, end],
    ...(removedComma === undefined ? [] : [[removedComma, removedComma + 1 + gap]]),
  ] as [number, number][]
  return cuts.toSorted(([a], [b]) => b - a).reduce((left, [from, past]) => left.slice(0, from) + left.slice(past), text)
}

const sliceNode = (text: string, { offset, length }: Node): string => text.slice(offset, offset + length)
const splice = (text: string, at: number, more: string): string => text.slice(0, at) + more + text.slice(at)
/** Returns the indentation of the line at an offset. */
const readLineIndent = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))![0]

/**
 * Returns the path to remove with an entry: the outermost object that holds only the entry and no comment. Empty
 * means the whole document.
 */
function findRemovable(text: string, value: JsonObject, entry: string[], editor: Editor): string[] {
  if (!readValue(value, entry)) return entry
  const tree = editor.parseTree(text, [], { allowTrailingComma: true })!
  let target = entry
  while (target.length > 0) {
    const holder = target.slice(0, -1)
    const node = editor.findNodeAtLocation(tree, holder)
    const source = holder.length === 0 ? text : sliceNode(text, node!)
    if (Object.keys(readValue(value, holder)!).length > 1 || editor.stripComments(source) !== source) return target
    target = holder
  }
  return target
}

function omitPath(value: JsonObject, [key, ...rest]: string[]): JsonObject {
  if (!isObject(value[key!])) return value
  if (rest.length > 0) return { ...value, [key!]: omitPath(value[key!] as JsonObject, rest) }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}

const readValue = (value: JsonObject, path: string[]): JsonObject | undefined =>
  path.reduce<JsonObject | undefined>((at, key) => (isObject(at?.[key]) ? (at[key] as JsonObject) : undefined), value)

/** Returns the indentation of the first inner line. */
const detectIndent = (text: string): string => /^\s*\{[^\n]*\n([ \t]+)/.exec(text)?.[1] ?? '  '
