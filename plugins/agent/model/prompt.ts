import type {
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { toText, visibleLine, visibleText } from '../../../core/text/index.js'
import type { CallPart, ImageRef, MessagePart, Msg } from '../base/index.js'

/** By digest, the base64 of an image, or why it is not sent. */
export type ImagesOfRequest = ReadonlyMap<string, { data: string } | { why: string }>
/** How a conversation goes over the wire to one model. */
interface Wording {
  /** Its name: what another one thought and noted is left out. */
  provider: string
  /** How the input of a call goes over the wire. */
  inputOf: (name: string, input: object) => unknown
  /** Absent: the model sees none, and reads a line in the place of each. */
  images?: ImagesOfRequest | undefined
  /** Results of calls hold their images; else a message behind them does. */
  images_in_results: boolean
}

/**
 * The one way to a model: whatever a conversation holds of others, names, pages, output and pasted text, is visible here.
 * The conversation as the client library takes it.
 */
export function promptOf(system: string, messages: readonly Msg[], wording: Wording): LanguageModelV3Prompt {
  const ids = wireIds(messages)
  const prompt: LanguageModelV3Message[] = [{ role: 'system', content: visibleText(system) }]
  for (const { role, parts } of messages) {
    if (role === 'user') {
      const content = parts.flatMap((part): UserPart[] => {
        if (part.type === 'image') return [shownImage(part.image, wording)]
        return part.type === 'text' && !isBlank(part.text) ? [{ type: 'text', text: visibleText(part.text) }] : []
      })
      prompt.push({ role, content: content.length > 0 ? content : [{ type: 'text', text: nothing }] })
    } else if (role === 'tool') prompt.push(...resultsOf(parts, ids, wording))
    else {
      const content = spokenParts(parts, ids, wording)
      prompt.push({ role, content: content.length > 0 ? content : [{ type: 'text', text: nothing }] })
    }
  }
  return prompt
}

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number]
type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]

function spokenParts(
  parts: readonly MessagePart[],
  ids: ReadonlyMap<string, string>,
  { provider, inputOf }: Wording,
): AssistantPart[] {
  const noted = ({ meta, from }: { meta?: JsonObject; from?: string }) =>
    meta && from === provider ? { providerOptions: meta as SharedV3ProviderOptions } : {}
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type === 'text') return isBlank(part.text) ? [] : [{ type: 'text', text: part.text, ...noted(part) }]
    if (part.type === 'reasoning')
      return part.from === provider ? [{ type: 'reasoning', text: part.text, ...noted(part) }] : []
    return part.type === 'tool_call'
      ? [
          {
            type: 'tool-call',
            toolCallId: ids.get(part.call_id)!,
            toolName: wireName(part.name),
            input: inputOf(part.name, sendable(part)),
            ...noted(part),
          },
        ]
      : []
  })
}

/** The results of a step; what they cannot hold of images stands in a message behind them. */
function resultsOf(
  parts: readonly MessagePart[],
  ids: ReadonlyMap<string, string>,
  wording: Wording,
): LanguageModelV3Message[] {
  const behind: UserPart[] = []
  const results = parts.flatMap((part): LanguageModelV3ToolResultPart[] => {
    if (part.type !== 'tool_result') return []
    const images = (part.images ?? []).map((image) => shownImage(image, wording))
    const files = images.filter((image) => image.type === 'file')
    const lines = images.flatMap((image) => (image.type === 'text' ? [image.text] : []))
    const text = [
      ...(isBlank(part.text) && lines.length > 0 ? [] : [isBlank(part.text) ? nothing : visibleText(part.text)]),
      ...lines,
    ].join('\n')
    const said = {
      type: 'tool-result' as const,
      toolCallId: ids.get(part.call_id) ?? part.call_id,
      toolName: wireName(part.name),
    }
    if (files.length > 0 && wording.images_in_results) {
      const shown = files.map(({ data, mediaType }) => ({
        type: 'image-data' as const,
        data: data as string,
        mediaType,
      }))
      return [{ ...said, output: { type: 'content', value: [{ type: 'text', text }, ...shown] } }]
    }
    if (files.length > 0) behind.push({ type: 'text', text: `Images of the result of ${said.toolCallId}:` }, ...files)
    return [{ ...said, output: { type: part.is_error ? 'error-text' : 'text', value: text } }]
  })
  return [
    { role: 'tool', content: results },
    ...(behind.length > 0 ? [{ role: 'user' as const, content: behind }] : []),
  ]
}

/** An image, or the line that stands for it. */
function shownImage(
  { name, mime_type, bytes, width, height, sha256 }: ImageRef,
  { images }: Wording,
): Extract<UserPart, { type: 'text' | 'file' }> {
  const found = images?.get(sha256)
  if (found && 'data' in found) return { type: 'file', data: found.data, mediaType: mime_type }
  const why = !images ? 'this model sees no images' : (found?.why ?? 'it is gone')
  return {
    type: 'text',
    text: `[image ${visibleLine(name)}, ${mime_type}, ${bytes} bytes, ${width} × ${height} points: ${why}]`,
  }
}

/** Stands where a message would hold nothing to read: some servers refuse the whole conversation for that. */
const nothing = '(nothing)'
const isBlank = (text: string): boolean => text.trim() === ''

/** A name that a model made up, in the form that every wire accepts; the names of tools have that form already. */
const wireName = (name: string): string =>
  anyWire.test(name)
    ? name
    : name
        .replace(/[^a-zA-Z0-9_-]/g, '_')
        .replace(/^(?![a-zA-Z_])/, '_')
        .slice(0, 64)
const anyWire = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Arguments that were no object go back as what they were, in an object: no wire carries anything else. */
const sendable = ({ input }: CallPart): object =>
  isObject(input) ? input : { invalid_arguments: toText(input).slice(0, 2000) }

/** The provider's own ids where they are unique; a missing or repeated id is replaced by ours. */
function wireIds(messages: readonly Msg[]): Map<string, string> {
  const taken = new Set<string>()
  const ids = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type !== 'tool_call') continue
      const id =
        /^[\w-]{1,64}$/.test(part.tool_call_id) && !taken.has(part.tool_call_id) ? part.tool_call_id : part.call_id
      taken.add(id)
      ids.set(part.call_id, id)
    }
  }
  return ids
}
