import type { Duplex } from 'node:stream'
import {
  problem,
  VtError,
  type Context,
  type JsonObject,
  type PreparedCall,
  type Problem,
} from '../../../core/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { createLineReader } from '../../lib/process/index.js'
import { RESULT_LIMITS } from './result_limits.js'

/** One call of a snippet, without its result. */
export interface NestedCall {
  tool: string
  action?: string
  ok: boolean
  code?: string
  duration_ms: number
}
/** The messages of a snippet on its private pipe. */
export interface SnippetOutput {
  calls: NestedCall[]
  result?: { value: unknown; kinds: string[] }
  /** The reason why its result cannot be shown. */
  unshown?: string
  /** `done`: its code ended; `unsettled`: it awaits a promise that nothing can settle. */
  state?: 'done' | 'unsettled'
}

const LIMITS = { calls: 100, message: RESULT_LIMITS.bytes + 4096, words: 300 }

/** Answers the calls of a snippet on its private pipe: ordinary calls of this session, each judged like any other. */
export function serveCalls(line: Duplex, context: Context): SnippetOutput {
  const output: SnippetOutput = { calls: [] }
  const reader = createLineReader((text) => {
    const message = parseMessage(text)
    if (message && 'tool' in message) void answer(message as unknown as CallRequest)
    else if (message && text.length <= LIMITS.message) Object.assign(output, parseEnd(message))
  })
  line.on('data', (chunk: Buffer) => void reader.take(chunk))
  // A snippet may end before it gets its answer.
  line.on('error', () => {})
  return output

  async function answer({ id, tool, input }: CallRequest): Promise<void> {
    const began = Date.now()
    const call: NestedCall = { tool: String(tool), ok: false, duration_ms: 0 }
    if (typeof input?.action === 'string') call.action = input.action
    if (output.calls.length < LIMITS.calls) output.calls.push(call)
    else return reply(id, { error: createLimitError().problem })
    const prepared = await context.host.resolve(call.tool, input ?? {})
    const error = prepared && findRefusal(prepared, context)
    const makeCall = () => (prepared ? context.call(prepared) : context.call(call.tool, input ?? {}))
    const result = error ? { ok: false as const, error: error.problem } : await makeCall()
    Object.assign(call, {
      ok: result.ok,
      duration_ms: Date.now() - began,
      ...(!result.ok && { code: result.error.code }),
    })
    reply(id, result.ok ? { output: result.output } : { error: result.error })
  }
  function reply(id: unknown, message: { output: JsonObject } | { error: Problem }): void {
    if (line.writable) line.write(`${JSON.stringify({ id, ...message })}\n`)
  }
}

interface CallRequest {
  id: unknown
  tool: unknown
  input?: JsonObject
}

function parseMessage(text: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.toString())
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Reads the last message of a snippet, which may have written it itself. */
function parseEnd({ done, unsettled, unshown, kinds, ...message }: JsonObject): Omit<SnippetOutput, 'calls'> {
  const words = (text: unknown): string => truncateLine(String(text), LIMITS.words)
  return {
    ...((done === true || unsettled === true) && { state: done === true ? 'done' : 'unsettled' }),
    ...('result' in message && {
      result: { value: message['result'], kinds: Array.isArray(kinds) ? kinds.slice(0, 8).map(words) : [] },
    }),
    ...(unshown !== undefined && { unshown: words(unshown) }),
  }
}

/**
 * Refuses a call that starts programs, under any name of it. A snippet can start them itself, and depth would be
 * endless.
 */
function findRefusal({ slot }: PreparedCall, { host }: Context): VtError | undefined {
  const starts = [slot, ...host.slots().filter((other) => other.tool === slot.tool)].some(({ effects }) =>
    effects.includes('exec'),
  )
  return starts ? problem('VT_CALL_DEPTH', { limit: 1, slot: slot.slot }) : undefined
}

const createLimitError = (): VtError =>
  createSlotError('VT_EXEC_LIMIT', `A snippet may make at most ${LIMITS.calls} calls.`, {
    hint: 'Request more with each call.',
  })
