import type { LanguageModelV3Message, LanguageModelV3Prompt, LanguageModelV3ToolResultPart, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { visibleText, type JsonObject } from '../../../core/base/index.js'
import type { CallPart, MessagePart, Msg } from '../base/index.js'

/**
 * The one way to a model: whatever a conversation holds of others, names, pages, output and pasted text, is visible here.
 * The conversation as the client library takes it, for the provider of this name: what another one thought and noted is left out.
 * `inputOf` says how the input of a call goes over the wire.
 */
export function promptOf(system: string, messages: readonly Msg[], provider: string, inputOf: (name: string, input: object) => unknown): LanguageModelV3Prompt {
  const ids = wireIds(messages)
  const noted = ({ meta, from }: { meta?: JsonObject; from?: string }) => (meta && from === provider ? { providerOptions: meta as SharedV3ProviderOptions } : {})
  const textParts = (parts: readonly MessagePart[]) =>
    parts.flatMap((part): AssistantPart[] => {
      if (part.type === 'text') return isBlank(part.text) ? [] : [{ type: 'text', text: part.text, ...noted(part) }]
      if (part.type === 'reasoning') return part.from === provider ? [{ type: 'reasoning', text: part.text, ...noted(part) }] : []
      return part.type === 'tool_call' ? [{ type: 'tool-call', toolCallId: ids.get(part.call_id)!, toolName: wireName(part.name), input: inputOf(part.name, sendable(part)), ...noted(part) }] : []
    })
  const results = (parts: readonly MessagePart[]) =>
    parts.flatMap((part): LanguageModelV3ToolResultPart[] => {
      if (part.type !== 'tool_result') return []
      const output = { type: part.is_error ? ('error-text' as const) : ('text' as const), value: isBlank(part.text) ? nothing : visibleText(part.text) }
      return [{ type: 'tool-result', toolCallId: ids.get(part.call_id) ?? part.call_id, toolName: wireName(part.name), output }]
    })
  const prompt: LanguageModelV3Message[] = [{ role: 'system', content: visibleText(system) }]
  for (const { role, parts } of messages) {
    if (role === 'user') {
      const texts = parts.flatMap((part) => (part.type === 'text' && !isBlank(part.text) ? [{ type: 'text' as const, text: visibleText(part.text) }] : []))
      prompt.push({ role, content: texts.length > 0 ? texts : [{ type: 'text', text: nothing }] })
    } else if (role === 'tool') prompt.push({ role, content: results(parts) })
    else {
      const content = textParts(parts)
      prompt.push({ role, content: content.length > 0 ? content : [{ type: 'text', text: nothing }] })
    }
  }
  return prompt
}

/** Stands where a message would hold nothing to read: some servers refuse the whole conversation for that. */
const nothing = '(nothing)'
const isBlank = (text: string): boolean => text.trim() === ''

/** A name that a model made up, in the form that every wire accepts; the names of tools have that form already. */
const wireName = (name: string): string => (anyWire.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_').slice(0, 64))
const anyWire = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]

/** Arguments that were no object go back as what they were, in an object: no wire carries anything else. */
const sendable = ({ input }: CallPart): object => (typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { invalid_arguments: String(input).slice(0, 2000) })

/** The provider's own ids where they are unique; a missing or repeated id is replaced by ours. */
function wireIds(messages: readonly Msg[]): Map<string, string> {
  const taken = new Set<string>()
  const ids = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type !== 'tool_call') continue
      const id = /^[\w-]{1,64}$/.test(part.tool_call_id) && !taken.has(part.tool_call_id) ? part.tool_call_id : part.call_id
      taken.add(id)
      ids.set(part.call_id, id)
    }
  }
  return ids
}
