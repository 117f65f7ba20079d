import type { JsonObject } from '../../../core/shapes/index.js'
import { readEndReason } from './end_reasons.js'
import { createServerFault, findServerError } from './fault.js'
import type { Repair } from './repair_types.js'
import {
  joinUsage,
  toArgumentObject,
  toArgumentText,
  toCount,
  toName,
  toObject,
  toObjects,
  toOptionalText,
} from './shapes.js'

/** The words of the client library for the meanings of an end. */
const STOP = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', 'content-filter': 'refusal' }
/** The type of a block by the type of its deltas. */
const BLOCK_TYPES: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
}
const PASSED = new Set(['ping', 'message_stop'])

/** Repairs answers of the Messages format, streamed or whole. */
export class AnthropicRepair implements Repair {
  ended = false
  private hasStart = false
  private reason: string | undefined
  private usage: JsonObject | undefined
  /** The open blocks by index, and the number of all blocks. */
  private readonly open = new Set<number>()
  private readonly dropped = new Set<number>()
  /** Blocks that began with their whole input; some proxies repeat it as deltas. */
  private readonly whole = new Set<number>()
  private count = 0

  repair(event: JsonObject): JsonObject[] {
    const error = findServerError(event)
    if (error !== undefined) throw createServerFault(error === event ? { ...event, type: '' } : error, 500)
    const type = event['type']
    if (type === 'message') return this.expand(event)
    if (type === 'message_start') return this.start(toObject(event['message']))
    if (typeof type !== 'string' || !/^(content_block|message)_/.test(type))
      return PASSED.has(String(type)) ? [event] : []
    const start = this.hasStart ? [] : this.start({})
    return [...start, ...this.repairPart(type, event)]
  }

  finish(): JsonObject[] {
    if (this.ended || this.reason === undefined) return []
    this.ended = true
    return [{ type: 'message_stop' }]
  }

  private repairPart(type: string, event: JsonObject): JsonObject[] {
    switch (type) {
      case 'content_block_start':
        return this.startBlock(toCount(event['index']) ?? this.count, toObject(event['content_block']))
      case 'content_block_delta':
        return this.growBlock(toCount(event['index']) ?? Math.max(0, this.count - 1), toObject(event['delta']))
      case 'content_block_stop':
        return this.stopBlock(toCount(event['index']) ?? Math.max(0, this.count - 1))
      case 'message_delta':
        return this.change(toObject(event['delta']), event)
      case 'message_stop':
        return this.finish()
      default:
        return []
    }
  }

  private start(message: JsonObject): JsonObject[] {
    if (this.hasStart) return []
    this.hasStart = true
    this.usage = joinUsage(undefined, message['usage'])
    const { id, model } = message
    const usage = { ...this.usage, input_tokens: toCount(this.usage?.['input_tokens']) ?? 0 }
    const start = {
      type: 'message_start',
      message: {
        ...(toName(id) !== undefined && { id: toName(id) }),
        ...(typeof model === 'string' && { model }),
        role: 'assistant',
        content: [],
        usage,
      },
    }
    return [start, ...this.expandBlocks(message['content'])]
  }

  /** Converts a whole message to events. */
  private expand(message: JsonObject): JsonObject[] {
    return [...this.start(message), ...this.change(message, message), ...this.finish()]
  }

  private expandBlocks(content: unknown): JsonObject[] {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : toObjects(content)
    return blocks.flatMap((block) => {
      const index = this.count
      return [...this.startBlock(index, block), ...this.stopBlock(index)]
    })
  }

  /** Starts an empty block and sends what it already contains as its first delta. */
  private startBlock(index: number, block: JsonObject): JsonObject[] {
    this.count = Math.max(this.count, index + 1)
    const parts = splitBlock(block, index)
    if (!parts || this.open.has(index)) {
      this.dropped.add(index)
      return []
    }
    this.open.add(index)
    if (parts.deltas.some(({ type }) => type === 'input_json_delta')) this.whole.add(index)
    const start = { type: 'content_block_start', index, content_block: parts.empty }
    return [start, ...parts.deltas.map((delta) => ({ type: 'content_block_delta', index, delta }))]
  }

  private growBlock(index: number, delta: JsonObject): JsonObject[] {
    if (this.dropped.has(index)) return []
    const type = toName(delta['type']) ?? ''
    const fixed = repairDelta(type, delta)
    if (!fixed || (type === 'input_json_delta' && this.whole.has(index))) return []
    const begun = this.open.has(index) || !BLOCK_TYPES[type] ? [] : this.startBlock(index, { type: BLOCK_TYPES[type]! })
    return this.open.has(index) ? [...begun, { type: 'content_block_delta', index, delta: fixed }] : []
  }

  private stopBlock(index: number): JsonObject[] {
    return this.open.delete(index) ? [{ type: 'content_block_stop', index }] : []
  }

  private change(delta: JsonObject, { usage }: JsonObject): JsonObject[] {
    const reason = toName(delta['stop_reason'])
    if (reason !== undefined) this.reason = reason
    this.usage = joinUsage(this.usage, usage)
    const stop_reason = reason === undefined ? null : STOP[readEndReason('anthropic-messages', reason)]
    const open = reason === undefined ? [] : [...this.open].flatMap((index) => this.stopBlock(index))
    const counted = { ...this.usage, output_tokens: toCount(this.usage?.['output_tokens']) ?? 0 }
    return [...open, { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: counted }]
  }
}

/** Separates a block from its content; `undefined` for a type that a request without server tools cannot get. */
function splitBlock(block: JsonObject, index: number): { empty: JsonObject; deltas: JsonObject[] } | undefined {
  const text = (name: string) => toOptionalText(block[name]) ?? ''
  switch (block['type']) {
    case 'text':
      return { empty: { type: 'text', text: '' }, deltas: createDeltas([['text_delta', 'text', text('text')]]) }
    case 'thinking':
      return {
        empty: { type: 'thinking', thinking: '' },
        deltas: createDeltas([
          ['thinking_delta', 'thinking', text('thinking')],
          ['signature_delta', 'signature', text('signature')],
        ]),
      }
    case 'redacted_thinking':
      return { empty: { type: 'redacted_thinking', data: text('data') }, deltas: [] }
    case 'tool_use': {
      const input = toArgumentObject(block['input'])
      const id = toName(block['id']) ?? `toolu_${index}`
      const written = Object.keys(input).length > 0 ? JSON.stringify(input) : ''
      return {
        empty: { type: 'tool_use', id, name: toName(block['name']) ?? '', input: {} },
        deltas: createDeltas([['input_json_delta', 'partial_json', written]]),
      }
    }
    default:
      return undefined
  }
}

const createDeltas = (texts: [type: string, field: string, text: string][]): JsonObject[] =>
  texts.filter(([, , text]) => text !== '').map(([type, field, text]) => ({ type, [field]: text }))

/** Returns a delta with the fields of its type; `undefined` for an unknown type. */
function repairDelta(type: string, delta: JsonObject): JsonObject | undefined {
  if (type === 'text_delta') return { type, text: toOptionalText(delta['text']) ?? '' }
  if (type === 'thinking_delta') return { type, thinking: toOptionalText(delta['thinking']) ?? '' }
  if (type === 'signature_delta') return { type, signature: toOptionalText(delta['signature']) ?? '' }
  return type === 'input_json_delta' ? { type, partial_json: toArgumentText(delta['partial_json']) } : undefined
}
