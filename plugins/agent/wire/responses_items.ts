import type { JsonObject } from '../../../core/shapes/index.js'
import { toArgumentText, toName, toObjects, toOptionalText } from './shapes.js'

/** The items that the agent reads; a request without tools of the server gets no others. */
export type ItemKind = 'message' | 'reasoning' | 'function_call' | 'custom_tool_call'

const KINDS = new Set<unknown>(['message', 'reasoning', 'function_call', 'custom_tool_call'])

/** Returns an item as it begins; `undefined` for an unknown type. */
export function repairItem(item: JsonObject, newId: string): (JsonObject & { id: string; type: ItemKind }) | undefined {
  if (!KINDS.has(item['type'])) return undefined
  const type = item['type'] as ItemKind
  const id = toName(item['id']) ?? newId
  if (type === 'message') return { type, id, ...readPhase(item) }
  if (type === 'reasoning') return { type, id, ...readEncrypted(item) }
  const field = type === 'function_call' ? 'arguments' : 'input'
  return { type, id, call_id: toName(item['call_id']) ?? id, name: toName(item['name']) ?? '', [field]: '' }
}

/** Returns an item as it ends. */
export function completeItem(
  item: JsonObject,
  { id, kind, text }: { id: string; kind: ItemKind; text: string },
): JsonObject {
  if (kind === 'message') return { type: kind, id, ...readPhase(item) }
  if (kind === 'reasoning') return { type: kind, id, ...readEncrypted(item) }
  const call_id = toName(item['call_id']) ?? id
  const field = kind === 'function_call' ? 'arguments' : 'input'
  return { type: kind, id, call_id, name: toName(item['name']) ?? '', [field]: text, status: 'completed' }
}

/** Returns the text, arguments or summary of a finished item. */
export function readItemText(kind: ItemKind, item: JsonObject): { text: string; isRefusal: boolean } {
  if (kind === 'function_call') return { text: toArgumentText(item['arguments']), isRefusal: false }
  if (kind === 'custom_tool_call') return { text: toArgumentText(item['input']), isRefusal: false }
  const content = kind === 'message' ? item['content'] : item['summary']
  const parts = typeof content === 'string' ? [{ text: content }] : toObjects(content)
  const isRefusal = parts.some(({ type }: JsonObject) => type === 'refusal')
  const texts = parts.map((part: JsonObject) => toOptionalText(part['text'] ?? part['refusal']) ?? '')
  return { text: texts.join(kind === 'message' ? '' : '\n\n'), isRefusal }
}

const readPhase = ({ phase }: JsonObject): JsonObject =>
  phase === 'commentary' || phase === 'final_answer' ? { phase } : {}

const readEncrypted = ({ encrypted_content: content }: JsonObject): JsonObject =>
  typeof content === 'string' ? { encrypted_content: content } : {}
