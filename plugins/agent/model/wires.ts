import type { MetadataExtractor } from '@ai-sdk/openai-compatible'
import type { LanguageModelV3 } from '@ai-sdk/provider'
import { KEY_PLACEHOLDER } from './transport.js'
import type { ApiFormat, Model } from '../providers/index.js'
import type { ClientContext, Fetch } from './module.js'
import { createReasoningCollector } from '../wire/index.js'

/** Keeps what a server wants back with the next request; the library itself drops it. */
const metadataExtractor: MetadataExtractor = {
  extractMetadata: async () => undefined,
  createStreamExtractor: createReasoningCollector as MetadataExtractor['createStreamExtractor'],
}

/** The wire formats, each with a library that is loaded on first use. */
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
      apiKey: KEY_PLACEHOLDER,
      fetch,
      includeUsage,
      metadataExtractor,
    }).chatModel(name)
  },
  'openai-responses': async ({ entry, name }, fetch) => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI({ name: entry.name, baseURL: entry.base_url!, apiKey: KEY_PLACEHOLDER, fetch }).responses(name)
  },
  'anthropic-messages': async ({ entry, name }, fetch) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({
      name: entry.name,
      baseURL: entry.base_url!,
      apiKey: KEY_PLACEHOLDER,
      fetch,
    }).languageModel(name)
  },
  'google-generative-ai': async ({ entry, name }, fetch) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    return createGoogleGenerativeAI({
      name: entry.name,
      baseURL: entry.base_url!,
      apiKey: KEY_PLACEHOLDER,
      fetch,
    }).languageModel(name)
  },
}

/** Creates the client of a model. Throws VT_PROVIDER_PACKAGE, VT_PROVIDER_VERSION, VT_PROVIDER_MODULE. */
export async function createLanguageModel(model: Model, context: ClientContext): Promise<LanguageModelV3> {
  if (model.format === 'ai-sdk') return (await import('./packaged.js')).createPackagedModel(model, context)
  if (model.format === 'module') return (await import('./module.js')).createModuleModel(model, context)
  return wires[model.format](model, context.fetch)
}
