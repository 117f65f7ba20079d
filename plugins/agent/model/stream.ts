import type { LanguageModelV3StreamPart, LanguageModelV3ToolCall, LanguageModelV3Usage } from '@ai-sdk/provider'
import type { JsonObject } from '../../../core/shapes/index.js'
import { AgentError, type FinishReason, type MessagePart } from '../base/index.js'
import { CHAT_FIELDS, Cut, describeUnknownEnd, readChatFields, splitThoughts } from '../wire/index.js'

/** A requested call; its arguments are unparsed text. */
export interface RawCall {
  type: 'raw_call'
  tool_call_id: string
  name: string
  text: string
  meta?: JsonObject
  /** The item id that readers have seen already. */
  item_id?: string
}
export interface Read {
  parts: (Exclude<MessagePart, { type: 'tool_call' | 'tool_result' | 'image' }> | RawCall)[]
  finish: FinishReason
  usage: LanguageModelV3Usage
}
/** The reader of a growing answer. Contract: a promise is awaited, so that a slow reader of events slows the model. */
export interface Follower {
  appendText(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> | undefined
  appendArguments(id: string, tool_name: string, text: string): void
  findItemId(id: string): string | undefined
}

// Limits far above real answers; each call and block is recorded, reported and answered separately.
const most = { calls: 512, parts: 8_192 }

const accepted: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter']

/**
 * Reads one answer to its end. It is complete only with exactly one finish of a known reason and no error; otherwise
 * throws Cut, with the received text in `seen`. This rule covers the different ways in which libraries end a broken
 * stream.
 */
export async function readAnswer(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  seen: { text: string },
  alive: () => void,
  follower: Follower,
): Promise<Read> {
  const parts: Read['parts'] = []
  const toolNames = new Map<string, string>()
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
          ...toMeta(part.providerMetadata),
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
        Object.assign(block, toMeta(part.providerMetadata))
        const reported = follower.appendText(part.id, block.type, part.delta)
        if (reported) await reported
        break
      }
      case 'tool-input-start':
        toolNames.set(part.id, part.toolName)
        break
      case 'tool-input-delta':
        follower.appendArguments(part.id, toolNames.get(part.id) ?? '', part.delta)
        break
      case 'text-end':
      case 'reasoning-end':
        Object.assign(open.get(part.id) ?? {}, toMeta(part.providerMetadata))
        break
      case 'tool-call':
        calls++
        seen.text += part.input
        parts.push(toRawCall(part, follower.findItemId(part.toolCallId)))
        break
      case 'error':
        fault ??= readErrorMessage(part.error)
        // An error with a status is an answer of the server, not a broken stream.
        if (typeof (part.error as { statusCode?: number } | null)?.statusCode === 'number') throw part.error
        break
      case 'finish':
        if (finish) fault ??= 'it ended twice'
        finish = part
    }
  }
  const reason = readFinish(finish, fault)
  const fields = readChatFields(finish!.providerMetadata)
  if (fields) attachFields(parts, fields)
  return {
    parts: parts
      .flatMap(separateThoughts)
      .filter(
        (part) =>
          part.type === 'raw_call' || part.text.trim() !== '' || (part.type === 'reasoning' && part.meta !== undefined),
      ),
    finish: reason,
    usage: finish!.usage,
  }
}

/** Returns the reason for the end. Throws Cut without a known one, or after a fault. */
function readFinish(
  finish: Extract<LanguageModelV3StreamPart, { type: 'finish' }> | undefined,
  fault: string | undefined,
): FinishReason {
  const { unified, raw } = finish?.finishReason ?? {}
  const reason = accepted.find((known) => known === unified)
  if (reason && fault === undefined) return reason
  const why = fault ?? (raw === undefined ? undefined : describeUnknownEnd(raw))
  throw new Cut(`The answer broke off${why === undefined ? ' before it was complete' : `: ${why}`}.`)
}

/** Keeps fields that the server wants back with the reasoning of the answer. */
function attachFields(parts: Read['parts'], fields: JsonObject): void {
  const known = parts.find(({ type }) => type === 'reasoning')
  if (!known) parts.unshift({ type: 'reasoning', text: '', meta: { [CHAT_FIELDS]: fields } })
  else if (known.type === 'reasoning') known.meta = { ...known.meta, [CHAT_FIELDS]: fields }
}

/** Makes the thoughts that a text begins with a part of their own. */
function separateThoughts(part: Read['parts'][number]): Read['parts'] {
  if (part.type !== 'text') return [part]
  const found = splitThoughts(part.text)
  return found
    ? [
        { type: 'reasoning', text: found.thoughts },
        { ...part, text: found.text },
      ]
    : [part]
}

/**
 * Returns the name of a tool without the marks that models and servers add: `functions.`, `default_api:`, a count as in
 * `grep:0`, and marks of channels. Names of tools have no dots, colons or brackets.
 */
const cleanToolName = (name: string): string =>
  /^[\w-]+$/.test(name)
    ? name
    : name
        .trim()
        .replace(/<\|.*$/s, '')
        .replace(/^(functions?|tools?|default_api|assistant)[.:/]/i, '')
        .replace(/[.:]\d+$/, '')

const toRawCall = (
  { toolCallId, toolName, input, providerMetadata }: LanguageModelV3ToolCall,
  item_id: string | undefined,
): RawCall => ({
  type: 'raw_call',
  tool_call_id: toolCallId,
  name: cleanToolName(toolName),
  text: input,
  ...toMeta(providerMetadata),
  ...(item_id !== undefined && { item_id }),
})

const toMeta = (metadata: unknown): { meta?: JsonObject } => (metadata ? { meta: metadata as JsonObject } : {})

function readErrorMessage(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}
