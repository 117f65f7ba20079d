import type { Duplex } from 'node:stream'
import {
  problem,
  VtError,
  type Context,
  type JsonObject,
  type PreparedCall,
  type Problem,
} from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { lines } from '../../lib/process/index.js'

/** One call that a snippet made, without what came of it. */
export interface NestedCall {
  tool: string
  action?: string
  ok: boolean
  code?: string
  duration_ms: number
}
/** What a snippet told over its private line. */
export interface SnippetOutput {
  calls: NestedCall[]
  result?: { value: unknown }
}

const most = { calls: 100, result: 256 * 1024 }

/** Answers the calls that a snippet makes over its private line: ordinary calls of this session, each judged like any other. */
export function serve(line: Duplex, context: Context): SnippetOutput {
  const output: SnippetOutput = { calls: [] }
  const reader = lines((text) => {
    const message = parsed(text)
    if (message && 'tool' in message) void answer(message as unknown as Question)
    else if (message && 'result' in message && text.length <= most.result) output.result = { value: message.result }
  })
  line.on('data', (chunk: Buffer) => void reader.take(chunk))
  // A snippet that ends while it is answered is no error of ours.
  line.on('error', () => {})
  return output

  async function answer({ id, tool, input }: Question): Promise<void> {
    const began = Date.now()
    const call: NestedCall = { tool: String(tool), ok: false, duration_ms: 0 }
    if (typeof input?.action === 'string') call.action = input.action
    if (output.calls.length < most.calls) output.calls.push(call)
    else return reply(id, { error: tooMany().problem })
    const prepared = await context.host.resolve(call.tool, input ?? {})
    const error = prepared && refusal(prepared, context)
    const made = () => (prepared ? context.call(prepared) : context.call(call.tool, input ?? {}))
    const result = error ? { ok: false as const, error: error.problem } : await made()
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

interface Question {
  id: unknown
  tool: unknown
  input?: JsonObject
}

function parsed(text: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.toString())
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** A snippet starts no programs through us, under whatever name: it has a language for that, and depth would have no end. */
function refusal({ slot }: PreparedCall, { host }: Context): VtError | undefined {
  const starts = [slot, ...host.slots().filter((other) => other.tool === slot.tool)].some(({ effects }) =>
    effects.includes('exec'),
  )
  return starts ? problem('VT_CALL_DEPTH', { limit: 1, slot: slot.slot }) : undefined
}

const tooMany = (): VtError =>
  createSlotError('VT_EXEC_LIMIT', `A snippet makes at most ${most.calls} calls.`, {
    hint: 'Ask for more with each call.',
  })
