import type { ParseError } from 'jsonc-parser'
import { isObject } from '../../../core/base/index.js'
import type { JsonObject } from '../../../core/index.js'
import { changedValue, NAME, verified, type Wanted } from './document.js'

type Editor = typeof import('jsonc-parser')

/** JSON is changed where our entry stands and nowhere else. Clients that take comments and trailing commas keep them. */
export async function editJson(text: string, path: string[], entry: Wanted, comments: boolean): Promise<string | undefined> {
  // Nothing but this needs it.
  const editor = await import('jsonc-parser')
  const options = { allowTrailingComma: comments, disallowComments: !comments }
  const errors: ParseError[] = []
  const before = text.trim() === '' ? {} : (editor.parse(text, errors, options) as unknown)
  if (errors[0]) throw new Error(`it is no valid JSON (${editor.printParseErrorCode(errors[0].error)} at character ${errors[0].offset})`)
  if (!isObject(before)) throw new Error('it does not hold an object')
  const wanted = changedValue(before as JsonObject, path, entry)
  const read = (source: string): unknown => editor.parse(source, [], options)
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const set = (source: string, at: string[], value: unknown): string => {
    const formattingOptions = { ...indentation(text), eol: end }
    return editor.applyEdits(source, editor.modify(source, at, value, { formattingOptions }))
  }
  if (!entry) {
    const target = emptied(text, before as JsonObject, [...path, NAME], editor)
    return target.length === 0 ? undefined : verified(set(text, target, undefined), read, without(before as JsonObject, target))
  }
  const known = valueAt(before as JsonObject, [...path, NAME])
  const changed = Object.entries(entry).filter(([key, value]) => JSON.stringify(known?.[key]) !== JSON.stringify(value))
  const source = text.trim() === '' ? `{}${end}` : text
  const after = known ? changed.reduce((whole, [key, value]) => set(whole, [...path, NAME, key], value), source) : set(source, [...path, NAME], entry)
  return verified(after, read, wanted)
}

/** What goes with an entry: every object that holds nothing else, unless somebody wrote a comment into it. Nothing = the whole document. */
function emptied(text: string, value: JsonObject, entry: string[], editor: Editor): string[] {
  if (!valueAt(value, entry)) return entry
  const tree = editor.parseTree(text, [], { allowTrailingComma: true })!
  let target = entry
  while (target.length > 0) {
    const holder = target.slice(0, -1)
    const node = editor.findNodeAtLocation(tree, holder)
    const source = holder.length === 0 ? text : text.slice(node!.offset, node!.offset + node!.length)
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
function indentation(text: string): { insertSpaces: boolean; tabSize: number } {
  const [, blank = '  '] = /^\s*\{[^\n]*\n([ \t]+)/.exec(text) ?? []
  return { insertSpaces: !blank.startsWith('\t'), tabSize: blank.startsWith('\t') ? 4 : blank.length }
}
