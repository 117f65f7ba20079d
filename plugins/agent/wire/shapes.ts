import { isObject, type JsonObject } from '../../../core/shapes/index.js'

/** Reads a text; numbers become texts, anything else nothing. */
export const toOptionalText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined

/** Reads a text that is not blank. */
export function toName(value: unknown): string | undefined {
  const text = toOptionalText(value)
  return text !== undefined && text.trim() !== '' ? text : undefined
}

/** Reads a whole number, also from digits in a text. */
export function toCount(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Reads arguments of a call: text unchanged, an object as JSON. */
export const toArgumentText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)

/** Reads arguments of a call as an object; text that is no JSON object is kept under a name of its own. */
export function toArgumentObject(value: unknown): JsonObject {
  if (isObject(value)) return value
  if (typeof value !== 'string' || value.trim() === '') return {}
  try {
    const parsed: unknown = JSON.parse(value)
    if (isObject(parsed)) return parsed
  } catch {
    // The kernel reports the argument as unknown.
  }
  return { invalid_arguments: value.slice(0, 2000) }
}

export const toObject = (value: unknown): JsonObject => (isObject(value) ? value : {})
export const toObjects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

/** Returns whether a value is the list in which Gemini counts tokens by modality. */
const isListOfModalities = (name: string, value: unknown): boolean => Array.isArray(value) && name.endsWith('Details')

/**
 * Joins two counts of tokens of one answer: a later count replaces an earlier one, but a zero replaces nothing. Texts
 * of digits become numbers, and values that are no counts are dropped; deeper objects are joined alike.
 */
export function joinUsage(known: JsonObject | undefined, next: unknown): JsonObject | undefined {
  if (!isObject(next)) return known
  const joined: JsonObject = { ...known }
  for (const [name, value] of Object.entries(next)) {
    const count = toCount(value)
    if (count !== undefined) {
      if (count !== 0 || joined[name] === undefined) joined[name] = count
    } else if (isObject(value)) joined[name] = joinUsage(toObject(joined[name]), value)!
    else if (typeof value === 'string' ? !/token|count/i.test(name) : isListOfModalities(name, value))
      joined[name] = value
  }
  return joined
}
