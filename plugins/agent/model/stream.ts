import type { LanguageModelV3StreamPart, LanguageModelV3ToolCall, LanguageModelV3Usage } from '@ai-sdk/provider'
import type { JsonObject } from '../../../core/shapes/index.js'
import { AgentError, type FinishReason, type MessagePart } from '../base/index.js'
import { Cut } from './failure.js'

/** One call as the model asked for it: its arguments are text until somebody has read them. */
export interface RawCall {
  type: 'raw_call'
  tool_call_id: string
  name: string
  text: string
  meta?: JsonObject
  /** The item of which those who follow were told already. */
  item_id?: string
}
export interface Read {
  parts: (Exclude<MessagePart, { type: 'tool_call' | 'tool_result' | 'image' }> | RawCall)[]
  finish: FinishReason
  usage: LanguageModelV3Usage
}
/** Who follows an answer while it grows, piece by piece. Contract: a promise is awaited, so that a slow reader of events slows the model. */
export interface Follower {
  grew(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> | undefined
  asks(id: string, tool_name: string, text: string): void
  itemOf(id: string): string | undefined
}

// Far above what models answer with; each call and each block is written down, reported and answered by itself.
const most = { calls: 512, parts: 8_192 }

const accepted = ['stop', 'tool-calls', 'length', 'content-filter']

/**
 * Reads one answer to its end. It is whole only if exactly one finish with a known reason came and no error; otherwise Cut, with
 * what was received so far left in `seen`. The libraries end a broken stream in different ways: this rule covers all of them.
 */
export async function readAnswer(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  seen: { text: string },
  alive: () => void,
  follower: Follower,
): Promise<Read> {
  const parts: Read['parts'] = []
  const asked = new Map<string, string>()
  const open = new Map<string, { type: 'text' | 'reasoning'; text: string; meta?: JsonObject }>()
  let finish: Extract<LanguageModelV3StreamPart, { type: 'finish' }> | undefined
  let fault: string | undefined
  let calls = 0
  for await (const part of stream as unknown as AsyncIterable<LanguageModelV3StreamPart>) {
    if (part.type !== 'stream-start') alive()
    if (parts.length > most.parts || calls > most.calls)
      throw new AgentError(
        'VT_LLM_REQUEST',
        `The answer is larger than any answer of a model: ${calls} calls in ${parts.length} parts, and no end.`,
      )
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const block = {
          type: part.type === 'text-start' ? ('text' as const) : ('reasoning' as const),
          text: '',
          ...noted(part.providerMetadata),
        }
        open.set(part.id, block)
        parts.push(block)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const block = open.get(part.id)
        if (!block) break
        block.text += part.delta
        seen.text += part.delta
        Object.assign(block, noted(part.providerMetadata))
        const told = follower.grew(part.id, block.type, part.delta)
        if (told) await told
        break
      }
      case 'tool-input-start':
        asked.set(part.id, part.toolName)
        break
      case 'tool-input-delta':
        follower.asks(part.id, asked.get(part.id) ?? '', part.delta)
        break
      case 'text-end':
      case 'reasoning-end':
        Object.assign(open.get(part.id) ?? {}, noted(part.providerMetadata))
        break
      case 'tool-call':
        calls++
        seen.text += part.input
        parts.push(rawCall(part, follower.itemOf(part.toolCallId)))
        break
      case 'error':
        fault ??= saidIn(part.error)
        // What the server says about itself is no broken stream.
        if (typeof (part.error as { statusCode?: number } | null)?.statusCode === 'number') throw part.error
        break
      case 'finish':
        if (finish) fault ??= 'it ended twice'
        finish = part
    }
  }
  const { unified, raw } = finish?.finishReason ?? {}
  const reason =
    unified !== undefined && (accepted.includes(unified) || (unified === 'other' && raw !== undefined))
      ? (unified as FinishReason)
      : undefined
  if (!finish || !reason || fault !== undefined)
    throw new Cut(`The answer broke off${fault ? `: ${fault}` : ' before it was complete'}.`)
  return {
    parts: parts.filter(
      (part) =>
        part.type === 'raw_call' || part.text.trim() !== '' || (part.type === 'reasoning' && part.meta !== undefined),
    ),
    finish: reason,
    usage: finish.usage,
  }
}

const rawCall = (
  { toolCallId, toolName, input, providerMetadata }: LanguageModelV3ToolCall,
  item_id: string | undefined,
): RawCall => ({
  type: 'raw_call',
  tool_call_id: toolCallId,
  name: toolName,
  text: input,
  ...noted(providerMetadata),
  ...(item_id !== undefined && { item_id }),
})

const noted = (metadata: unknown): { meta?: JsonObject } => (metadata ? { meta: metadata as JsonObject } : {})

function saidIn(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}
