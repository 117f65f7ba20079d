import type { LanguageModelV3 } from '@ai-sdk/provider'
import { stand_in } from './transport.js'
import type { ApiFormat, Model } from '../providers/index.js'
import type { ClientContext, Fetch } from './module.js'

/** The wire formats, each spoken by a library that is loaded when it is first needed. */
const wires: Record<
  Exclude<ApiFormat, 'ai-sdk' | 'module'>,
  (model: Model, fetch: Fetch) => Promise<LanguageModelV3>
> = {
  'openai-chat': async ({ entry, name, compat }, fetch) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const includeUsage = compat.usage_in_stream !== false
    return createOpenAICompatible({
      name: entry.name,
      baseURL: entry.base_url!,
      apiKey: stand_in,
      fetch,
      includeUsage,
    }).chatModel(name)
  },
  'openai-responses': async ({ entry, name }, fetch) => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI({ name: entry.name, baseURL: entry.base_url!, apiKey: stand_in, fetch }).responses(name)
  },
  'anthropic-messages': async ({ entry, name }, fetch) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ name: entry.name, baseURL: entry.base_url!, apiKey: stand_in, fetch }).languageModel(name)
  },
  'google-generative-ai': async ({ entry, name }, fetch) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    return createGoogleGenerativeAI({
      name: entry.name,
      baseURL: entry.base_url!,
      apiKey: stand_in,
      fetch,
    }).languageModel(name)
  },
}

/** The client for a model. Throws VT_PROVIDER_PACKAGE, VT_PROVIDER_VERSION, VT_PROVIDER_MODULE. */
export async function languageModel(model: Model, context: ClientContext): Promise<LanguageModelV3> {
  if (model.format === 'ai-sdk') return (await import('./packaged.js')).packagedModel(model, context)
  if (model.format === 'module') return (await import('./module.js')).moduleModel(model, context)
  return wires[model.format](model, context.fetch)
}
