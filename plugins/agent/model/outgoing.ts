import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Prompt,
  LanguageModelV3ProviderTool,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import { omitUndefined, type JsonObject, type ToolInfo } from '../../../core/shapes/index.js'
import type { Msg } from '../base/index.js'
import { createPrompt, type ImagesOfRequest } from './prompt.js'
import type { Model } from '../providers/index.js'
import type { Read } from './stream.js'

export interface ModelRequest {
  system: string
  messages: readonly Msg[]
  tools: LanguageModelV3FunctionTool[]
  /** The answer is text; `kept` returns its calls too. Tools are sent: servers cache requests by their start. */
  without_calls?: true | 'kept'
  /** The images of the messages by digest: as base64, or why an image is missing. Absent: no image is sent. */
  images?: ImagesOfRequest
  /** Tokens of `system` and of `tools`. */
  weight: { system: number; tools: number }
  /** Absent where neither the model's limit nor its window is known: a server has a default of its own. */
  max_output_tokens?: number
  /** Names the conversation for the server's cache. */
  session_id: string
  reasoning_effort?: string
}

/** Tools whose input is one text of this name; formats with free text send it unquoted. */
const freeform: Record<string, string> = { apply_patch: 'input' }

const hasFreeText = ({ format, compat }: Model): boolean =>
  format === 'openai-responses' && compat.custom_tools !== false
/** Returns whether the format sends this tool's input as free text. */
const isFree = (model: Model, name: string): boolean => hasFreeText(model) && Object.hasOwn(freeform, name)

/**
 * Creates the tool definitions for a model, sorted by name: the lean tools, and free-text tools if the format has
 * them.
 */
export function createToolDefinitions(
  { tools }: { readonly tools: (how?: { lean?: boolean }) => ToolInfo[] },
  model: Model,
): LanguageModelV3FunctionTool[] {
  const lean = tools({ lean: true })
  const free = hasFreeText(model)
    ? tools().filter(({ name }) => isFree(model, name) && !lean.some((one) => one.name === name))
    : []
  return [...lean, ...free]
    .filter(({ name }) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, description, input }) => ({
      type: 'function',
      name,
      description,
      inputSchema: input as LanguageModelV3FunctionTool['inputSchema'],
    }))
}

/** Formats whose results can hold images; other formats need a separate message. */
const resultsHoldImages: ReadonlySet<Model['format']> = new Set([
  'openai-responses',
  'anthropic-messages',
  'google-generative-ai',
])

/** Converts a request for the client library, with the options of its format. */
export function toCallOptions(model: Model, request: ModelRequest): Omit<LanguageModelV3CallOptions, 'abortSignal'> {
  const tools = request.tools.map((tool) => (isFree(model, tool.name) ? toFreeTool(tool) : tool))
  const prompt = createPrompt(request.system, request.messages, {
    provider: model.entry.name,
    formatInput: (name, input) => {
      const text = isFree(model, name) && (input as Record<string, unknown>)[freeform[name]!]
      return typeof text === 'string' ? text : input
    },
    images: request.images,
    images_in_results: resultsHoldImages.has(model.format),
  })
  return {
    ...omitUndefined({ maxOutputTokens: request.max_output_tokens }),
    providerOptions: createProviderOptions(model, request),
    ...(canCache(model) ? markCachePoints(prompt, tools) : { prompt, ...(tools.length > 0 && { tools }) }),
    // For Anthropic the library expresses this by omitting the tools.
    ...(request.without_calls &&
      tools.length > 0 &&
      model.format !== 'anthropic-messages' && { toolChoice: { type: 'none' } }),
  }
}

/** Restores free-text calls to calls with JSON arguments. */
export function restoreCalls(model: Model, read: Read): Read {
  const parts = read.parts.map((part) => {
    if (part.type !== 'raw_call' || !isFree(model, part.name)) return part
    const text = parseText(part.text)
    return text === undefined ? part : { ...part, text: JSON.stringify({ [freeform[part.name]!]: text }) }
  })
  return { ...read, parts }
}

/** Parses a JSON string; returns `undefined` for malformed arguments. */
function parseText(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

const toFreeTool = ({ name, description }: LanguageModelV3FunctionTool): LanguageModelV3ProviderTool => ({
  type: 'provider',
  id: 'openai.custom',
  name,
  args: { name, ...omitUndefined({ description }), format: { type: 'text' } },
})

function createProviderOptions(
  model: Model,
  { session_id, reasoning_effort, tools }: ModelRequest,
): SharedV3ProviderOptions {
  const { format, facts, entry } = model
  const effort = facts.supports_reasoning_effort === false ? undefined : reasoning_effort
  const cached = facts.supports_context_caching !== false
  const parallel = facts.supports_parallel_tool_calls === false && tools.length > 0
  if (format === 'openai-responses')
    return {
      openai: {
        ...createResponsesOptions(model, effort),
        ...(cached && { promptCacheKey: session_id }),
        ...(parallel && { parallelToolCalls: false }),
      },
    }
  if (format === 'openai-chat')
    return {
      [entry.name]: { ...omitUndefined({ reasoningEffort: effort }), ...(cached && { prompt_cache_key: session_id }) },
    }
  if (format === 'anthropic-messages')
    return {
      anthropic: {
        ...(effort !== undefined && { effort: mapEffort(model, effort, { minimal: 'low' }) }),
        ...(parallel && { disableParallelToolUse: true }),
      },
    }
  if (format === 'google-generative-ai' && effort !== undefined)
    return { google: { thinkingConfig: { thinkingLevel: mapEffort(model, effort) } } }
  return {}
}

/** Maps an effort to the server's word; `known`: the words of its format. */
const mapEffort = ({ compat }: Model, effort: string, known: Readonly<Record<string, string>> = {}): string =>
  compat.reasoning_effort_map?.[effort] ?? known[effort] ?? effort

/** Declares a reasoning model that the library does not know by name, and returns its encrypted reasoning to it. */
function createResponsesOptions(model: Model, effort: string | undefined): JsonObject {
  const { compat, facts, source } = model
  const { store = false, strict_tools: strictJsonSchema = false } = compat
  const reasons = facts.supports_reasoning ?? (effort === undefined ? undefined : true)
  const role = source.builtin || compat.developer_role ? {} : { systemMessageMode: 'system' }
  return {
    store,
    strictJsonSchema,
    ...(reasons && { forceReasoning: true, ...role }),
    ...(effort !== undefined && { reasoningEffort: mapEffort(model, effort) }),
  }
}

const canCache = ({ format, facts }: Model): boolean =>
  format === 'anthropic-messages' && facts.supports_context_caching !== false

const mark = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

/** Marks cache points: the instructions, the tools, and the last two messages of others. */
function markCachePoints(
  prompt: LanguageModelV3Prompt,
  tools: (LanguageModelV3FunctionTool | LanguageModelV3ProviderTool)[],
): Pick<LanguageModelV3CallOptions, 'prompt' | 'tools'> {
  const cachedAt = prompt.flatMap(({ role }, index) => (role === 'user' || role === 'tool' ? [index] : [])).slice(-2)
  return {
    prompt: prompt.map((message, index) =>
      message.role === 'system' || cachedAt.includes(index) ? { ...message, ...mark } : message,
    ),
    ...(tools.length > 0 && {
      tools: tools.map((tool, index) =>
        index === tools.length - 1 && tool.type === 'function' ? { ...tool, ...mark } : tool,
      ),
    }),
  }
}
