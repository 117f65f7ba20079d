import { isObject, toJson, VtError, type Effect, type JsonObject } from '../../../core/shapes/index.js'
import { isQuiet, type CallPart, type FinishReason } from '../base/index.js'
import type { RawCall } from '../model/index.js'

type Fault = NonNullable<CallPart['fault']>
export type Arguments = { input: JsonObject } | { input: string; fault: Fault }

/**
 * Parses the arguments of a call. Two rules repair them, but never in a truncated answer or for a call that may
 * change something: a repaired half of a file damages the file.
 */
export async function readArguments(
  call: RawCall,
  finish: FinishReason,
  effectsOf: (input: JsonObject) => Promise<readonly Effect[]>,
): Promise<Arguments> {
  const read = await parseArguments(call, finish, effectsOf)
  if ('fault' in read) return { ...read, input: shorten(read.input) }
  const fault = boundsFault(call.name, read.input)
  return fault ? { input: shorten(call.text), fault } : read
}

/** Checks depth and size first: the kernel would refuse these arguments after they were copied and stored. */
function boundsFault(name: string, input: JsonObject): Fault | undefined {
  try {
    toJson(input)
    return undefined
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    return {
      code: error.code,
      message: `The arguments of ${name} cannot be used: ${error.message} Nothing was done.`,
      hint: 'Send the call again with flat and short arguments; a long text goes in several calls.',
    }
  }
}

const longestKept = 4000
/** Shortens unusable arguments for the record. */
const shorten = (text: string): string =>
  text.length > longestKept ? `${text.slice(0, longestKept)}… (${text.length} characters)` : text

async function parseArguments(
  { name, text }: RawCall,
  finish: FinishReason,
  effectsOf: (input: JsonObject) => Promise<readonly Effect[]>,
): Promise<Arguments> {
  const strict = parse(text.trim() === '' ? '{}' : text)
  if (isObject(strict.value)) return { input: strict.value }
  if (finish === 'length') {
    const message = `The arguments of ${name} were cut at the limit of the answer; nothing was done.`
    return {
      input: text,
      fault: { code: 'VT_LLM_CALL_TRUNCATED', message, hint: 'Send smaller edits, several calls instead of one.' },
    }
  }
  if (typeof strict.value === 'string') {
    const inner = parse(strict.value)
    if (isObject(inner.value)) return { input: inner.value }
  }
  const repaired = await repair(text)
  if (isObject(repaired) && isQuiet(await effectsOf(repaired))) return { input: repaired }
  const why =
    strict.fault ??
    `a JSON object is needed, this is ${Array.isArray(strict.value) ? 'a list' : String(strict.value).slice(0, 40)}`
  return {
    input: text,
    fault: {
      code: 'VT_LLM_BAD_JSON',
      message: `The arguments of ${name} are not a JSON object: ${why}. Nothing was done.`,
      hint: 'Send the call again with the whole arguments as one JSON object.',
    },
  }
}

function parse(text: string): { value?: unknown; fault?: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

const longestRepair = 256 * 1024

async function repair(text: string): Promise<unknown> {
  if (text.length > longestRepair) return undefined
  const { jsonrepair } = await import('jsonrepair')
  try {
    return JSON.parse(jsonrepair(text))
  } catch {
    return undefined
  }
}
