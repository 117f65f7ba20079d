import type {
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { toText, visibleLine, visibleText } from '../../../core/text/index.js'
import type { CallPart, ImageRef, MessagePart, Msg } from '../base/index.js'
import { CHAT_FIELDS, readChatFields } from '../wire/index.js'

/** Digest → base64 of an image, or the reason why it is not sent. */
export type ImagesOfRequest = ReadonlyMap<string, { data: string } | { why: string }>
/** The form of a conversation for one model. */
interface Wording {
  /** The name of the provider; reasoning and metadata of other providers are omitted. */
  provider: string
  /** Converts the input of a call for the format. */
  formatInput: (name: string, input: object) => unknown
  /** Absent: the model gets a line in place of each image. */
  images?: ImagesOfRequest | undefined
  /** Results hold their images; else a message after them does. */
  images_in_results: boolean
}

/**
 * Creates the prompt in the form of the client library. All names, pages, output and pasted texts pass here, so that
 * invisible characters become visible.
 */
export function createPrompt(system: string, messages: readonly Msg[], wording: Wording): LanguageModelV3Prompt {
  const ids = createWireIds(messages)
  const prompt: LanguageModelV3Message[] = [{ role: 'system', content: visibleText(system) }]
  for (const { role, parts } of messages) {
    if (role === 'user') {
      const content = parts.flatMap((part): UserPart[] => {
        if (part.type === 'image') return [toImagePart(part.image, wording)]
        return part.type === 'text' && !isBlank(part.text) ? [{ type: 'text', text: visibleText(part.text) }] : []
      })
      prompt.push({ role, content: content.length > 0 ? content : [{ type: 'text', text: nothing }] })
    } else if (role === 'tool') prompt.push(...toToolMessages(parts, ids, wording))
    else {
      const content = toAssistantParts(parts, ids, wording)
      const fields = findChatFields(parts, wording.provider)
      prompt.push({
        role,
        content: content.length > 0 ? content : [{ type: 'text', text: nothing }],
        ...(fields && { providerOptions: { [CHAT_FIELDS]: fields } as SharedV3ProviderOptions }),
      })
    }
  }
  return prompt
}

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number]
type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]

/** Finds the fields of an assistant message that the provider wants back. */
function findChatFields(parts: readonly MessagePart[], provider: string): JsonObject | undefined {
  const part = parts.find((one) => one.type === 'reasoning' && one.from === provider && readChatFields(one.meta))
  return part?.type === 'reasoning' ? readChatFields(part.meta) : undefined
}

function toAssistantParts(
  parts: readonly MessagePart[],
  ids: ReadonlyMap<string, string>,
  { provider, formatInput }: Wording,
): AssistantPart[] {
  const toProviderOptions = ({ meta, from }: { meta?: JsonObject; from?: string }) =>
    meta && from === provider ? { providerOptions: meta as SharedV3ProviderOptions } : {}
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type === 'text')
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text, ...toProviderOptions(part) }]
    // Fields of the message contain this reasoning already.
    if (part.type === 'reasoning' && readChatFields(part.meta)) return []
    if (part.type === 'reasoning')
      return part.from === provider ? [{ type: 'reasoning', text: part.text, ...toProviderOptions(part) }] : []
    return part.type === 'tool_call'
      ? [
          {
            type: 'tool-call',
            toolCallId: ids.get(part.call_id)!,
            toolName: toWireName(part.name),
            input: formatInput(part.name, toSendable(part)),
            ...toProviderOptions(part),
          },
        ]
      : []
  })
}

/** Converts the results of a step; images that they cannot hold go into a message after them. */
function toToolMessages(
  parts: readonly MessagePart[],
  ids: ReadonlyMap<string, string>,
  wording: Wording,
): LanguageModelV3Message[] {
  const imageParts: UserPart[] = []
  const results = parts.flatMap((part): LanguageModelV3ToolResultPart[] => {
    if (part.type !== 'tool_result') return []
    const images = (part.images ?? []).map((image) => toImagePart(image, wording))
    const files = images.filter((image) => image.type === 'file')
    const lines = images.flatMap((image) => (image.type === 'text' ? [image.text] : []))
    const text = [
      ...(isBlank(part.text) && lines.length > 0 ? [] : [isBlank(part.text) ? nothing : visibleText(part.text)]),
      ...lines,
    ].join('\n')
    const identity = {
      type: 'tool-result' as const,
      toolCallId: ids.get(part.call_id) ?? part.call_id,
      toolName: toWireName(part.name),
    }
    if (files.length > 0 && wording.images_in_results) {
      const shown = files.map(({ data, mediaType }) => ({
        type: 'image-data' as const,
        data: data as string,
        mediaType,
      }))
      return [{ ...identity, output: { type: 'content', value: [{ type: 'text', text }, ...shown] } }]
    }
    if (files.length > 0)
      imageParts.push({ type: 'text', text: `Images of the result of ${identity.toolCallId}:` }, ...files)
    return [{ ...identity, output: { type: part.is_error ? 'error-text' : 'text', value: text } }]
  })
  return [
    { role: 'tool', content: results },
    ...(imageParts.length > 0 ? [{ role: 'user' as const, content: imageParts }] : []),
  ]
}

/** Creates the part for an image, or for the line that replaces it. */
function toImagePart(
  { name, mime_type, bytes, width, height, sha256 }: ImageRef,
  { images }: Wording,
): Extract<UserPart, { type: 'text' | 'file' }> {
  const found = images?.get(sha256)
  if (found && 'data' in found) return { type: 'file', data: found.data, mediaType: mime_type }
  const why = !images ? 'this model sees no images' : (found?.why ?? 'its file is missing')
  return {
    type: 'text',
    text: `[image ${visibleLine(name)}, ${mime_type}, ${bytes} bytes, ${width} × ${height} points: ${why}]`,
  }
}

/** Text of an empty message: some servers refuse the whole conversation otherwise. */
const nothing = '(nothing)'
const isBlank = (text: string): boolean => text.trim() === ''

/** Converts an invented tool name to a form that every format accepts; names of tools have that form already. */
const toWireName = (name: string): string =>
  anyWire.test(name)
    ? name
    : name
        .replace(/[^a-zA-Z0-9_-]/g, '_')
        .replace(/^(?![a-zA-Z_])/, '_')
        .slice(0, 64)
const anyWire = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Wraps arguments that are no object: no format sends anything else. */
const toSendable = ({ input }: CallPart): object =>
  isObject(input) ? input : { invalid_arguments: toText(input).slice(0, 2000) }

/** Creates ids for the format: the provider's own if unique, else ours. */
function createWireIds(messages: readonly Msg[]): Map<string, string> {
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
