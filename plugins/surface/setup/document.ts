import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../../core/index.js'

/** Our entry in a document. */
export const NAME = 'vtcode'
/** What is to be done with it: the keys that it gets, beside those that the user added, or nothing to take it out. */
export type Wanted = JsonObject | undefined

/** The value of a whole document as it shall be: the entry put in or taken out, and what is empty then. Throws where something else stands in the way. */
export function changedValue(value: JsonObject, path: string[], entry: Wanted): JsonObject {
  const [key, ...rest] = path
  if (key === undefined) {
    if (!entry) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== NAME))
    const before = value[NAME] ?? {}
    if (!isTable(before)) throw new Error(`'${NAME}' does not hold an object`)
    return { ...value, [NAME]: { ...before, ...entry } }
  }
  const before = value[key] ?? {}
  if (!isTable(before)) throw new Error(`'${key}' does not hold an object`)
  const inner = changedValue(before, rest, entry)
  return !entry && Object.keys(inner).length === 0
    ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
    : { ...value, [key]: inner }
}

/** An object of keys, and none of the values that are objects to JavaScript alone. */
export const isTable = (value: unknown): value is JsonObject =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Date) &&
  !('toISOString' in value)

/** The text, if the document in it is the wanted one; an editor that changed anything else is not believed. */
export function verified(text: string, read: (text: string) => unknown, wanted: JsonObject): string {
  if (!isDeepStrictEqual(plain(read(text)), plain(wanted)))
    throw new Error('it cannot be changed without changing something else in it')
  return text
}

// Readers make objects with and without a prototype.
const plain = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(plain)
    : isTable(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
      : value
