import type { Node, ParseError } from 'jsonc-parser'
import { isObject } from '../../../core/shapes/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changedValue, NAME, verified, type Wanted } from './document.js'

type Editor = typeof import('jsonc-parser')

/** JSON is changed where our entry stands and nowhere else: lines of others are not laid out anew. Clients that take comments and trailing commas keep them. */
export async function editJson(
  text: string,
  path: string[],
  entry: Wanted,
  comments: boolean,
): Promise<string | undefined> {
  // Nothing but this needs it.
  const editor = await import('jsonc-parser')
  const options = { allowTrailingComma: comments, disallowComments: !comments }
  const errors: ParseError[] = []
  const before = text.trim() === '' ? {} : (editor.parse(text, errors, options) as unknown)
  if (errors[0])
    throw new Error(
      `it is no valid JSON (${editor.printParseErrorCode(errors[0].error)} at character ${errors[0].offset})`,
    )
  if (!isObject(before)) throw new Error('it does not hold an object')
  const wanted = changedValue(before as JsonObject, path, entry)
  const read = (source: string): unknown => editor.parse(source, [], options)
  if (!entry) {
    const target = emptied(text, before as JsonObject, [...path, NAME], editor)
    return target.length === 0
      ? undefined
      : verified(remove(text, target, editor), read, without(before as JsonObject, target))
  }
  const at = [...path, NAME]
  const known = valueAt(before as JsonObject, at)
  const changed = Object.entries(entry).filter(([key, value]) => JSON.stringify(known?.[key]) !== JSON.stringify(value))
  const source = text.trim() === '' ? '{}\n' : text
  const after = known
    ? changed.reduce((whole, [key, value]) => put(whole, [...at, key], value, editor), source)
    : put(source, at, entry, editor)
  return verified(after, read, wanted)
}

/** The text with a value in its place: instead of the one that is there, or as the last of the innermost object that is. */
function put(text: string, at: string[], value: unknown, editor: Editor): string {
  const tree = editor.parseTree(text, [], { allowTrailingComma: true })!
  const there = editor.findNodeAtLocation(tree, at)
  const depth = there ? at.length : at.findIndex((_, index) => !editor.findNodeAtLocation(tree, at.slice(0, index + 1)))
  const holder = editor.findNodeAtLocation(tree, at.slice(0, there ? depth - 1 : depth))!
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = indentation(text)
  const inside = holder.children?.at(-1)
  const flat = [tree, holder].some((node) => node.children?.length && !partOf(text, node).includes('\n'))
  const indent = inside ? lineIndent(text, inside.offset) : lineIndent(text, holder.offset) + unit
  const laidOut = (one: unknown): string =>
    flat ? JSON.stringify(one) : JSON.stringify(one, undefined, unit).replaceAll('\n', `${end}${indent}`)
  if (there) return text.slice(0, there.offset) + laidOut(value) + text.slice(there.offset + there.length)
  const entry = `${JSON.stringify(at[depth])}: ${laidOut(at.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value))}`
  if (inside) return splice(text, inside.offset + inside.length, flat ? `, ${entry}` : `,${end}${indent}${entry}`)
  const close = holder.offset + holder.length - 1
  const from = text.slice(0, close).trimEnd().length
  if (flat) return splice(text, from, entry)
  return `${text.slice(0, from)}${end}${indent}${entry}${end}${lineIndent(text, holder.offset)}${text.slice(close)}`
}

/** The text without a key: with its lines and one comma, and without a comment of anybody. */
function remove(text: string, at: string[], editor: Editor): string {
  const key = editor.findNodeAtLocation(editor.parseTree(text, [], { allowTrailingComma: true })!, at)?.parent
  if (!key) return text
  const before = key.parent!.children![key.parent!.children!.indexOf(key) - 1]
  const comma = (place: number): number | undefined => {
    const scanner = editor.createScanner(text, true)
    scanner.setPosition(place)
    scanner.scan()
    return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined
  }
  const end = key.offset + key.length
  const behind = comma(end)
  const other = behind ?? (before && comma(before.offset + before.length))
  const rest = text.slice(behind === undefined ? end : behind + 1)
  const blank = /(?:\r?\n)?[ \t]*$/.exec(text.slice(0, key.offset))!.index
  const lined = text.slice(blank, key.offset).includes('\n')
  // What follows in the line stays in it: behind a comment that ends the line before, it would become part of that.
  const whole = lined
    ? /^[ \t]*(?:\r?\n|$)/.test(rest) || (behind === undefined && /^[ \t]*\/\//.test(rest))
    : behind === undefined
  const gap = whole || behind === undefined ? 0 : /^[ \t]*/.exec(rest)![0].length
  const cuts = [[whole ? blank : key.offset, end], ...(other === undefined ? [] : [[other, other + 1 + gap]])] as [
    number,
    number,
  ][]
  return cuts.toSorted(([a], [b]) => b - a).reduce((left, [from, past]) => left.slice(0, from) + left.slice(past), text)
}

const partOf = (text: string, { offset, length }: Node): string => text.slice(offset, offset + length)
const splice = (text: string, at: number, more: string): string => text.slice(0, at) + more + text.slice(at)
/** What the line of a place begins with. */
const lineIndent = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))![0]

/** What goes with an entry: every object that holds nothing else, unless somebody wrote a comment into it. Nothing = the whole document. */
function emptied(text: string, value: JsonObject, entry: string[], editor: Editor): string[] {
  if (!valueAt(value, entry)) return entry
  const tree = editor.parseTree(text, [], { allowTrailingComma: true })!
  let target = entry
  while (target.length > 0) {
    const holder = target.slice(0, -1)
    const node = editor.findNodeAtLocation(tree, holder)
    const source = holder.length === 0 ? text : partOf(text, node!)
    if (Object.keys(valueAt(value, holder)!).length > 1 || editor.stripComments(source) !== source) return target
    target = holder
  }
  return target
}

function without(value: JsonObject, [key, ...rest]: string[]): JsonObject {
  if (!isObject(value[key!])) return value
  if (rest.length > 0) return { ...value, [key!]: without(value[key!] as JsonObject, rest) }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}

const valueAt = (value: JsonObject, path: string[]): JsonObject | undefined =>
  path.reduce<JsonObject | undefined>((at, key) => (isObject(at?.[key]) ? (at[key] as JsonObject) : undefined), value)

/** As the first line inside is indented. */
const indentation = (text: string): string => /^\s*\{[^\n]*\n([ \t]+)/.exec(text)?.[1] ?? '  '
