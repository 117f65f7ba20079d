import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { toObject, toObjects } from './shapes.js'

/** The name under which the client library puts fields of a message on the wire. */
export const CHAT_FIELDS = 'openaiCompatible'

/**
 * Collects the `reasoning_details` of a streamed answer, which OpenRouter wants back unchanged with the next request:
 * encrypted reasoning and signatures of calls. Pieces of one detail are joined.
 */
export function createReasoningCollector(): {
  processChunk(chunk: unknown): void
  buildMetadata(): Record<string, JsonObject> | undefined
} {
  const details: JsonObject[] = []
  return {
    processChunk(chunk) {
      const [choice] = toObjects(toObject(chunk)['choices'])
      for (const piece of toObjects(toObject(choice?.['delta'])['reasoning_details'])) {
        const last = details.at(-1)
        if (last && continues(last, piece)) joinDetail(last, piece)
        else details.push({ ...piece })
      }
    },
    buildMetadata: () => (details.length > 0 ? { [CHAT_FIELDS]: { reasoning_details: details } } : undefined),
  }
}

/** Returns whether a piece belongs to a detail: an encrypted one always comes whole. */
const continues = (last: JsonObject, piece: JsonObject): boolean =>
  last['type'] === piece['type'] && last['index'] === piece['index'] && piece['data'] === undefined

function joinDetail(detail: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    const known = detail[name]
    const isText = (name === 'text' || name === 'summary') && typeof known === 'string' && typeof value === 'string'
    if (isText) detail[name] = known + value
    else if (value !== null) detail[name] = value
  }
}

/** Returns the fields that a message of the conversation has to carry on the wire. */
export function readChatFields(meta: unknown): JsonObject | undefined {
  const fields = toObject(meta)[CHAT_FIELDS]
  return isObject(fields) && Array.isArray(fields['reasoning_details']) ? fields : undefined
}
