import { problem } from './errors.js'
import { isObject, type JsonObject } from './types.js'

const formatSize = (bytes: number) => (bytes >= 1_048_576 ? `${Math.ceil(bytes / 1_048_576)} MiB` : `${bytes} bytes`)

/**
 * Returns a deep, frozen copy of JSON data, so that a value cannot change after a policy has approved it. Refuses
 * values that JSON cannot hold (functions, cycles, class instances), nesting over `depth` and more than `bytes` UTF-16
 * units of text. Own keys such as `__proto__` are copied as ordinary keys. Throws VT_INPUT_INVALID, VT_INPUT_TOO_LARGE.
 */
export function toJson(whole: unknown, { depth = 64, bytes = 4 * 1_048_576 } = {}): unknown {
  let left = bytes
  const spend = (n: number) => {
    left -= n
    if (left < 0) throw problem('VT_INPUT_TOO_LARGE', { size: `over ${formatSize(bytes)}`, limit: formatSize(bytes) })
  }
  const copy = (value: unknown, room: number): unknown => {
    spend(8)
    if (typeof value === 'string') return (spend(value.length), value)
    if (value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      return value
    if (typeof value !== 'object') throw createNotJsonError(value, whole)
    if (room === 0) throw problem('VT_INPUT_INVALID', { problem: `The data is nested more than ${depth} levels deep.` })
    if (Array.isArray(value))
      return Object.freeze(value.map((item) => (item === undefined ? null : copy(item, room - 1))))
    requirePlain(value)
    const result: JsonObject = {}
    for (const key of Object.keys(value)) {
      const item = (value as JsonObject)[key]
      if (item === undefined) continue
      spend(key.length)
      if (key === '__proto__')
        Object.defineProperty(result, key, {
          value: copy(item, room - 1),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      else result[key] = copy(item, room - 1)
    }
    return Object.freeze(result)
  }
  return copy(whole, depth)
}

function createNotJsonError(value: unknown, whole: unknown): Error {
  if (typeof value !== 'number') return problem('VT_INPUT_INVALID', { problem: `JSON has no ${typeof value}.` })
  const place = findNonJsonNumber(whole) ?? `The input is ${value}`
  return problem('VT_INPUT_INVALID', { problem: `${place}; JSON has no such number. Give a finite one.` })
}

function requirePlain(value: object): void {
  const proto = Object.getPrototypeOf(value)
  if (proto === Object.prototype || proto === null || Object.getPrototypeOf(proto) === null) return
  throw problem('VT_INPUT_INVALID', { problem: `JSON has no ${proto.constructor?.name ?? 'such object'}.` })
}

/** Returns the input of a refused call if it is plain data of a moderate size, else an empty object. */
export function toRecordedInput(sent: unknown): JsonObject {
  try {
    const value = toJson(sent, { bytes: 65_536 })
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Returns the path and the value of the first number that JSON cannot hold. Contract: never throws. */
export function findNonJsonNumber(value: unknown): string | undefined {
  const seen = new Set<unknown>()
  const look = (value: unknown, path: string): string | undefined => {
    if (typeof value === 'number' && !Number.isFinite(value)) return `'${path}' is ${value}`
    if (typeof value !== 'object' || value === null || seen.size > 100_000 || seen.has(value)) return undefined
    seen.add(value)
    for (const key in value) {
      const found = look((value as JsonObject)[key], path === '' ? key : `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  try {
    return look(value, '')
  } catch {
    return undefined
  }
}

/** Freezes plain data in place. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) deepFreeze(value[key])
  return Object.freeze(value)
}

/** Estimates the length of a value's JSON without creating it. */
export function estimateJsonSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 5
  let sum = 2
  if (Array.isArray(value)) for (const item of value) sum += estimateJsonSize(item) + 1
  else for (const key in value) sum += key.length + 4 + estimateJsonSize((value as JsonObject)[key])
  return sum
}

/** Estimates by how much the JSON of a value exceeds the JSON of an earlier form; the member `except` is left out. */
export function estimateJsonGrowth(before: object, after: object, except: string): number {
  const measureChanged = (one: object, other: object): number =>
    Object.entries(one).reduce(
      (sum, [key, value]) =>
        key === except || value === (other as JsonObject)[key] ? sum : sum + key.length + 4 + estimateJsonSize(value),
      0,
    )
  return measureChanged(after, before) - measureChanged(before, after)
}
