import { RESULT_LIMITS } from '../code/result_limits.js'

/** The code that encodes values as JSON; values that JSON lacks become text or lists, and their kinds are named. */
export const encoderCode = `class Unshown extends Error {}
class Encoder {
  count = 0
  kinds = new Set()
  shown = []

  text(kind, text) {
    this.kinds.add(kind + ' as text')
    return text
  }
  encode(value, above) {
    this.count += 1
    if (this.count > ${RESULT_LIMITS.values}) throw new Unshown('it has more than ${RESULT_LIMITS.values} values')
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number') return Number.isFinite(value) ? value : this.text(String(value), String(value))
    if (value === undefined) {
      this.kinds.add('undefined as null')
      return null
    }
    if (typeof value === 'bigint') return this.text('bigint', String(value))
    if (typeof value === 'function') return this.text('function', '[Function: ' + value.name + ']')
    if (typeof value === 'symbol') return this.text('symbol', String(value))
    if (above.includes(value)) {
      this.kinds.add("a cycle as '<cycle>'")
      return '<cycle>'
    }
    if (above.length >= ${RESULT_LIMITS.levels}) return this.text('the deepest levels', '[' + nameOf(value) + ']')
    const content = contents.get(value)
    if (content) this.shown.push(...content)
    return this.encodeObject(value, [...above, value])
  }
  encodeObject(value, above) {
    const list = (items) => Array.from(items, (item) => this.encode(item, above))
    const record = (entries) => {
      const made = {}
      for (const [key, item] of entries) define(made, key, this.encode(item, above))
      return made
    }
    if (Array.isArray(value)) return list(value)
    if (value instanceof Promise) return this.text('a promise that was not awaited', 'Promise {}')
    if (value instanceof Set) {
      this.kinds.add('Set as a list')
      return list(value)
    }
    if (value instanceof Map) {
      const entries = [...value]
      const isRecord = entries.every(([key]) => typeof key === 'string')
      this.kinds.add(isRecord ? 'Map as an object' : 'Map as pairs')
      return isRecord ? record(entries) : list(entries)
    }
    if (value instanceof Date) return this.text('Date', isNaN(value.getTime()) ? String(value) : value.toISOString())
    if (value instanceof RegExp) return this.text('RegExp', String(value))
    if (value instanceof Error) return this.text('Error', describeError(value).text)
    if (value instanceof ArrayBuffer) return this.encodeBytes(new Uint8Array(value))
    if (value instanceof Uint8Array) return this.encodeBytes(value)
    if (value instanceof DataView)
      return this.encodeBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (ArrayBuffer.isView(value)) {
      this.kinds.add(nameOf(value) + ' as a list')
      return list(value)
    }
    if (typeof value.toJSON === 'function') return this.encode(value.toJSON(), above)
    const prototype = Object.getPrototypeOf(value)
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
    const entries = Object.entries(value)
    if (!isPlain && entries.length === 0) return this.text(nameOf(value), nameOf(value) + ' {}')
    if (!isPlain) this.kinds.add(nameOf(value) + ' as its properties')
    return record(entries)
  }
  encodeBytes(bytes) {
    const text = decodeText(bytes, true)
    this.kinds.add(text === undefined ? 'bytes as base64' : 'bytes as text')
    return text ?? btoa(String.fromCharCode(...bytes))
  }
}
const nameOf = (value) => String(value.constructor?.name || 'object')
// A plain assignment to __proto__ would set the prototype.
const define = (target, key, value) =>
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })`

/** The code of functions that the engine lacks: text as bytes, base64, and copies of values. */
export const textCode = `function encodeText(text) {
  const escaped = encodeURIComponent(String(text).toWellFormed?.() ?? String(text))
  const bytes = escaped.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))
}
function decodeText(bytes, strict) {
  let escaped = ''
  for (const byte of bytes) escaped += '%' + byte.toString(16).padStart(2, '0')
  try {
    return decodeURIComponent(escaped)
  } catch {
    if (strict) return undefined
    throw new TypeError('The bytes are not UTF-8.')
  }
}
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
function btoa(text) {
  const bytes = Array.from(String(text), (char) => char.charCodeAt(0))
  if (bytes.some((byte) => byte > 255)) throw new RangeError('btoa takes characters up to U+00FF.')
  let made = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a, b, c] = bytes.slice(at, at + 3)
    made += ALPHABET[a >> 2] + ALPHABET[((a & 3) << 4) | ((b ?? 0) >> 4)]
    made += b === undefined ? '=' : ALPHABET[((b & 15) << 2) | ((c ?? 0) >> 6)]
    made += c === undefined ? '=' : ALPHABET[c & 63]
  }
  return made
}
function atob(text) {
  const digits = String(text).replace(/[\\s=]/g, '')
  let bits = ''
  for (const digit of digits) {
    const value = ALPHABET.indexOf(digit)
    if (value < 0) throw new RangeError("atob: '" + digit + "' is no character of base64.")
    bits += value.toString(2).padStart(6, '0')
  }
  return (bits.match(/.{8}/g) ?? []).map((byte) => String.fromCharCode(parseInt(byte, 2))).join('')
}
function structuredClone(value, known = new Map()) {
  if (typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError('A ' + typeof value + ' cannot be cloned.')
  if (typeof value !== 'object' || value === null) return value
  if (known.has(value)) return known.get(value)
  const keep = (made) => (known.set(value, made), made)
  const clone = (item) => structuredClone(item, known)
  if (value instanceof Date) return keep(new Date(value.getTime()))
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags))
  if (value instanceof ArrayBuffer || (ArrayBuffer.isView(value) && !(value instanceof DataView)))
    return keep(value.slice())
  if (value instanceof Map) {
    const made = keep(new Map())
    for (const [key, item] of value) made.set(clone(key), clone(item))
    return made
  }
  if (value instanceof Set) {
    const made = keep(new Set())
    for (const item of value) made.add(clone(item))
    return made
  }
  const made = keep(Array.isArray(value) ? [] : value instanceof Error ? new Error(value.message) : {})
  for (const [key, item] of Object.entries(value)) define(made, key, clone(item))
  return made
}`
