import { RESULT_LIMITS } from './result_limits.js'

/** The module that turns the `result` of a JavaScript snippet into JSON. Values that JSON lacks become text. */
export const javascriptResult = `import { isUtf8 } from 'node:buffer'
import { inspect, types } from 'node:util'

class Unshown extends Error {}

export function describe(result) {
  const kinds = new Set()
  try {
    const encoded = new Encoder(kinds).encode(result, [])
    const size = Buffer.byteLength(JSON.stringify(encoded))
    if (size > ${RESULT_LIMITS.bytes})
      throw new Unshown('it is ' + size + ' bytes of JSON; at most ${RESULT_LIMITS.bytes} are shown')
    return { result: encoded, kinds: [...kinds].slice(0, 8) }
  } catch (error) {
    if (error instanceof Unshown) return { unshown: error.message }
    return { unshown: inspect(error, { depth: 0 }).split('\\n')[0].slice(0, 300) }
  }
}

class Encoder {
  count = 0
  constructor(kinds) {
    this.kinds = kinds
  }

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
    if (typeof value !== 'object') return this.text(typeof value, inspect(value))
    if (above.includes(value)) {
      this.kinds.add("a cycle as '<cycle>'")
      return '<cycle>'
    }
    if (above.length >= ${RESULT_LIMITS.levels}) return this.text('the deepest levels', inspect(value, { depth: 0 }))
    return this.encodeObject(value, [...above, value])
  }

  encodeObject(value, above) {
    const list = (items) => Array.from(items, (item) => this.encode(item, above))
    const record = (entries) => Object.fromEntries(entries.map(([key, item]) => [key, this.encode(item, above)]))
    if (Array.isArray(value)) return list(value)
    if (types.isPromise(value)) return this.text('a promise that was not awaited', inspect(value))
    if (types.isSet(value)) {
      this.kinds.add('Set as a list')
      return list(value)
    }
    if (types.isMap(value)) {
      const entries = [...value]
      const isRecord = entries.every(([key]) => typeof key === 'string')
      this.kinds.add(isRecord ? 'Map as an object' : 'Map as pairs')
      return isRecord ? record(entries) : list(entries)
    }
    if (types.isDate(value))
      return this.text('Date', Number.isNaN(value.getTime()) ? String(value) : value.toISOString())
    if (types.isRegExp(value)) return this.text('RegExp', String(value))
    if (types.isNativeError(value) || value instanceof Error)
      return this.text('Error', value.name + ': ' + value.message)
    if (types.isAnyArrayBuffer(value)) return this.encodeBytes(Buffer.from(value))
    if (ArrayBuffer.isView(value)) {
      if (value instanceof Uint8Array || value instanceof DataView)
        return this.encodeBytes(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      this.kinds.add(value.constructor.name + ' as a list')
      return list(value)
    }
    if (typeof value.toJSON === 'function') return this.encode(value.toJSON(), above)
    const prototype = Object.getPrototypeOf(value)
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
    const name = String(value.constructor?.name || 'object')
    const entries = Object.entries(value)
    if (!isPlain && entries.length === 0) return this.text(name, inspect(value))
    if (!isPlain) this.kinds.add(name + ' as its properties')
    return record(entries)
  }

  encodeBytes(bytes) {
    const isText = isUtf8(bytes)
    this.kinds.add(isText ? 'bytes as text' : 'bytes as base64')
    return bytes.toString(isText ? 'utf8' : 'base64')
  }
}
`
