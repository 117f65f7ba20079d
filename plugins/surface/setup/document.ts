import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../../core/index.js'

/** The key of our entry. */
export const ENTRY_NAME = 'vtcode'
/** The keys to set in our entry, in addition to those of the user; undefined removes the entry. */
export type EntryChange = JsonObject | undefined

/**
 * Returns the document with the entry set, or removed together with objects that become empty. Throws where a key on
 * the path holds no object.
 */
export function changeDocument(value: JsonObject, path: string[], entry: EntryChange): JsonObject {
  const [key, ...rest] = path
  if (key === undefined) {
    if (!entry) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== ENTRY_NAME))
    const before = value[ENTRY_NAME] ?? {}
    if (!isTable(before)) throw new Error(`'${ENTRY_NAME}' does not hold an object`)
    return { ...value, [ENTRY_NAME]: { ...before, ...entry } }
  }
  const before = value[key] ?? {}
  if (!isTable(before)) throw new Error(`'${key}' does not hold an object`)
  const inner = changeDocument(before, rest, entry)
  return !entry && Object.keys(inner).length === 0
    ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
    : { ...value, [key]: inner }
}

/** Checks whether a value is a map, not a list or a date. */
export const isTable = (value: unknown): value is JsonObject =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Date) &&
  !('toISOString' in value)

/** Returns the text if it parses to the expected document. Throws where the editor changed anything else. */
export function requireExactChange(text: string, read: (text: string) => unknown, expected: JsonObject): string {
  if (!isDeepStrictEqual(toPlainValue(read(text)), toPlainValue(expected)))
    throw new Error('the entry cannot be changed without changing other settings')
  return text
}

// Parsers create objects with and without a prototype.
const toPlainValue = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(toPlainValue)
    : isTable(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, toPlainValue(one)]))
      : value
