import type { Context } from '../../../core/index.js'
import { redact, redactText } from '../../../core/text/index.js'
import { createSlotError } from '../../lib/base/index.js'
import type { CallAnswer } from './script_calls.js'

/** Limits of a store: bytes of JSON with the keys, and of one key. */
const LIMITS = { bytes: 8 * 1024 * 1024, key: 256 }

/** Values as JSON, and the function that keeps them. */
type Backing = Pick<NonNullable<Context['scripts']>, 'values' | 'put'>
interface StoreRequest {
  action: unknown
  key: unknown
  value?: unknown
}

/** Answers a request of a script to the store of its session. Contract: never rejects. */
export async function answerStore(context: Context, { action, key, value }: StoreRequest): Promise<CallAnswer> {
  const store = findStore(context)
  const name = String(key)
  const old = store.values.get(name)
  if (action === 'get') return { value: old === undefined ? undefined : parseValue(old) }
  if (action === 'list') return { value: [...store.values.keys()].filter((one) => one.startsWith(name)).sort() }
  const text = action === 'delete' ? undefined : String(value)
  const fault = text === undefined ? undefined : findFault(store, name, text)
  if (fault !== undefined)
    return {
      error: createSlotError('VT_EXEC_STORE', fault, { hint: 'Delete keys that are no longer needed.' }).problem,
    }
  try {
    if (text !== undefined || old !== undefined) await store.put(name, text)
  } catch (error) {
    return { error: createSlotError('VT_EXEC_STORE', `The value was not kept: ${String(error)}`).problem }
  }
  return { value: text !== undefined || old !== undefined }
}

/** Returns why a value cannot be kept. */
function findFault({ values }: Backing, name: string, text: string): string | undefined {
  if (name.length > LIMITS.key)
    return `A key of the store is ${name.length} characters long; at most ${LIMITS.key} are allowed.`
  // The journal would keep the value without its secrets, so the script would get another one.
  if (redactText(name) !== name || hasSecret(text)) return 'The store keeps no secrets.'
  let bytes = Buffer.byteLength(name) + Buffer.byteLength(text)
  for (const [key, value] of values) if (key !== name) bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  return bytes > LIMITS.bytes ? `The store would have ${bytes} bytes; at most ${LIMITS.bytes} are allowed.` : undefined
}

function hasSecret(text: string): boolean {
  const value = parseValue(text)
  return redactText(text) !== text || JSON.stringify(redact(value)) !== JSON.stringify(value)
}

/** Parses a kept value; `undefined` for a damaged one. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the store of a session: that of its journal, or one in memory. */
const findStore = ({ session, scripts }: Context): Backing =>
  scripts ??
  session.state('script store', () => {
    const values = new Map<string, string>()
    return {
      values,
      put: async (key: string, value: string | undefined) =>
        void (value === undefined ? values.delete(key) : values.set(key, value)),
    }
  })
