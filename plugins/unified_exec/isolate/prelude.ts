import { RESULT_LIMITS } from '../code/result_limits.js'
import { agentsCode } from './prelude_agents.js'
import { encoderCode, textCode } from './prelude_values.js'

/** Characters that a script may print; the rest is only counted. */
export const MAX_PRINTED_CHARS = 1024 * 1024

/** The name of a script in its stack traces. */
export const SCRIPT_NAME = 'script.js'

/**
 * The code that runs in a new isolate before the script: a function of `host`, which takes messages as JSON. Returns
 * functions that deliver answers, define the tools, and await the script. All texts cross as JSON with escapes,
 * because the library cuts strings at U+0000 and changes lone surrogates.
 */
export const prelude = `(host) => {
'use strict'
// The script may replace its globals and change their prototypes later; a message takes nothing from either.
const { Array, ArrayBuffer, DataView, Date, Error, JSON, Map, Number, Object, Promise, RangeError, Reflect, RegExp } =
  globalThis
const { Set, String, TypeError, Uint8Array, WeakMap, decodeURIComponent, encodeURIComponent, isNaN, parseInt } =
  globalThis
const { parse, stringify } = JSON
const { assign, create } = Object
const { apply } = Reflect
const { exec } = RegExp.prototype
const send = (message) => host(stringify(assign(create(null), message)))
const pending = new Map()
const timers = new Map()
const contents = new WeakMap()
let last = 0
let printed = 0
let unprinted = 0

class CallError extends Error {
  constructor({ code, message, hint, next }) {
    super(code + ': ' + message)
    Object.assign(this, { name: 'CallError', code, hint, ...(next && { next }) })
  }
}

const linePattern = /\\b${SCRIPT_NAME.replace('.', '\\.')}:(\\d{1,9})/
const findLine = (stack) => Number(apply(exec, linePattern, [stack])?.[1] ?? 0)

function request(message) {
  const line = findLine(new Error().stack)
  return new Promise((resolve, reject) => {
    last += 1
    pending.set(last, { resolve, reject, line })
    send({ ...message, id: last, line })
  })
}

// Values on their way out, for which JSON has no form.
function toPlain(key, value) {
  if (typeof value === 'bigint')
    throw new TypeError("'" + key + "' is a bigint: convert it with Number() or String().")
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  return value
}
const call = (tool, input = {}) => request({ op: 'call', tool: String(tool), input: stringify(input, toPlain) ?? '{}' })

function deliver(text) {
  const { timer, id, error, value, content } = parse(text)
  if (timer !== undefined) {
    const run = timers.get(timer)
    timers.delete(timer)
    try {
      return run?.()
    } catch (error) {
      return send({ op: 'failed', unawaited: pending.size, unprinted, ...describeError(error) })
    }
  }
  const { resolve, reject, line } = pending.get(id)
  pending.delete(id)
  if (error) return reject(Object.defineProperty(new CallError(error), 'line', { value: line }))
  if (content && typeof value === 'object' && value !== null) contents.set(value, content)
  resolve(value)
}

function print(stream, args) {
  const text = args.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ') + '\\n'
  if (printed + text.length > ${MAX_PRINTED_CHARS}) unprinted += text.length
  else {
    printed += text.length
    send({ op: 'print', stream, text })
  }
}
function inspect(value) {
  if (value instanceof Error) return describeError(value).text
  const encoder = new Encoder()
  try {
    const encoded = encoder.encode(value, [])
    return typeof encoded === 'string' && typeof value !== 'object' ? encoded : stringify(encoded)
  } catch (error) {
    return '<' + describeError(error).text + '>'
  }
}
function describeError(error) {
  if (!(error instanceof Error)) return { text: 'Uncaught ' + inspect(error), line: 0 }
  const { name, message, hint, stack } = error
  const isNamed = error instanceof CallError || String(message).startsWith(String(name))
  const text = isNamed ? String(message) : name + ': ' + message
  const own = Number.isSafeInteger(error.line) ? error.line : findLine(String(stack ?? ''))
  return { text: text + (hint ? '\\n' + String(hint) : ''), line: own }
}

${encoderCode}
function describe(value) {
  if (value === undefined) return {}
  const encoder = new Encoder()
  try {
    const result = encoder.encode(value, [])
    const text = stringify(result)
    const { length } = text
    if (length > ${RESULT_LIMITS.bytes})
      throw new Unshown('it is ' + length + ' bytes of JSON; at most ${RESULT_LIMITS.bytes} are shown')
    return { result: text, kinds: [...encoder.kinds].slice(0, 8), shown: encoder.shown }
  } catch (error) {
    return { unshown: error instanceof Unshown ? error.message : describeError(error).text.split('\\n')[0] }
  }
}

${textCode}
function setTimeout(run, ms = 0, ...args) {
  last += 1
  timers.set(last, () => run(...args))
  send({ op: 'timer', id: last, ms: Number(ms) || 0 })
  return last
}
function clearTimeout(id) {
  if (timers.delete(id)) send({ op: 'clear', id })
}
${agentsCode}
const out = (...args) => print('stdout', args)
const err = (...args) => print('stderr', args)
const globals = {
  console: { log: out, info: out, debug: out, error: err, warn: err },
  vtcode: Object.freeze({ call, CallError }),
  store: Object.freeze({
    get: (key) => request({ op: 'store', action: 'get', key: String(key) }),
    set: (key, value) =>
      request({ op: 'store', action: 'set', key: String(key), value: stringify(value, toPlain) ?? 'null' }),
    list: (prefix = '') => request({ op: 'store', action: 'list', key: String(prefix) }),
    delete: (key) => request({ op: 'store', action: 'delete', key: String(key) }),
  }),
  agent,
  parallel,
  pipeline,
  tools: (query) => request({ op: 'tools', query: String(query) }),
  setTimeout,
  clearTimeout,
  queueMicrotask: (run) => void Promise.resolve().then(run),
  structuredClone: (value) => structuredClone(value),
  atob,
  btoa,
  TextEncoder: class TextEncoder {
    encode(text = '') {
      return encodeText(text)
    }
  },
  TextDecoder: class TextDecoder {
    decode(bytes = []) {
      return decodeText(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes)
    }
  },
}
for (const name of Object.keys(globals))
  Object.defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true })

// The functions of tools are a tree without prototypes: a name like constructor is one of them or nothing.
function defineGlobals(text) {
  const { functions, input } = parse(text)
  const root = Object.create(null)
  if (input !== undefined) root.input = input
  for (const [path, tool] of functions) {
    let at = root
    for (const name of path.slice(0, -1))
      at = Object.hasOwn(at, name) ? at[name] : define(at, name, Object.create(null))[name]
    define(at, path.at(-1), (input) => call(tool, input))
  }
  for (const name of Object.keys(root))
    if (!(name in globalThis))
      Object.defineProperty(globalThis, name, { value: root[name], writable: true, configurable: true })
}
// Awaits the value of a script, or the exports of a module, and reports it.
function finish(made, isModule) {
  Promise.resolve(made)
    .then((value) => (isModule ? ('result' in value ? value.result : value.default) : value))
    .then(
      (value) => send({ op: 'done', unawaited: pending.size, unprinted, ...describe(value) }),
      (error) => send({ op: 'failed', unawaited: pending.size, unprinted, ...describeError(error) }),
    )
}
return { deliver, defineGlobals, finish }
}`
