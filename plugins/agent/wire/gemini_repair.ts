import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { readEndReason } from './end_reasons.js'
import { createServerFault, findServerError } from './fault.js'
import type { Repair } from './repair_types.js'
import { joinUsage, toArgumentObject, toCount, toName, toObject, toObjects, toOptionalText } from './shapes.js'

/** Repairs answers of the Gemini format, streamed or whole. */
export class GeminiRepair implements Repair {
  readonly ended = false
  private usage: JsonObject | undefined

  repair(event: JsonObject): JsonObject[] {
    const error = findServerError(event)
    if (error !== undefined) throw createServerFault(error, 500)
    // Code Assist wraps each chunk.
    if (isObject(event['response']) && event['candidates'] === undefined) return this.repair(event['response'])
    this.usage = joinUsage(this.usage, event['usageMetadata'])
    const { responseId, promptFeedback } = event
    const candidate = toObjects(event['candidates']).find(({ index }) => (toCount(index) ?? 0) === 0)
    const blocked = toName(toObject(promptFeedback)['blockReason'])
    if (!candidate && blocked === undefined && !this.usage) return []
    return [
      {
        ...(toName(responseId) !== undefined && { responseId: toName(responseId) }),
        ...(candidate && { candidates: [repairCandidate(candidate)] }),
        ...(this.usage && { usageMetadata: this.usage }),
        ...(blocked !== undefined && { promptFeedback: { blockReason: blocked } }),
      },
    ]
  }

  finish(): JsonObject[] {
    return []
  }
}

function repairCandidate({ content, finishReason, finishMessage }: JsonObject): JsonObject {
  const reason = toName(finishReason)
  const words = toName(finishMessage)
  if (reason === undefined || reason === 'FINISH_REASON_UNSPECIFIED') return { content: repairContent(content) }
  const end = readEndReason('google-generative-ai', reason, words)
  const known = end === 'content-filter' ? 'SAFETY' : end === 'length' ? 'MAX_TOKENS' : 'STOP'
  return { content: repairContent(content), finishReason: known }
}

function repairContent(content: unknown): JsonObject {
  const parts = typeof content === 'string' ? [{ text: content }] : toObjects(toObject(content)['parts'])
  return { role: 'model', parts: parts.flatMap(repairPart) }
}

/** Returns a part with the types of its fields corrected; a part of an unknown kind has no content for the agent. */
function repairPart(part: JsonObject): JsonObject[] {
  const { functionCall: call, text, thought, thoughtSignature } = part
  const signature = typeof thoughtSignature === 'string' ? { thoughtSignature } : {}
  if (isObject(call)) {
    const name = toName(call['name'])
    const id = toName(call['id'])
    const args = toArgumentObject(call['args'])
    return name === undefined ? [] : [{ functionCall: { ...(id !== undefined && { id }), name, args }, ...signature }]
  }
  const known = toOptionalText(text)
  if (known === undefined && thoughtSignature === undefined) return []
  return [{ text: known ?? '', ...(thought === true && { thought }), ...signature }]
}
