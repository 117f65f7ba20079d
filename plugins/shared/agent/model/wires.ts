import type { LanguageModelV3 } from '@ai-sdk/provider'
import type { ApiFormat, Model } from './provider.js'

type Fetch = typeof globalThis.fetch
type Wire = (model: Model, fetch: Fetch) => Promise<LanguageModelV3>

// The libraries want a key to start with; our fetch puts the real credential in its place, or none.
const apiKey = 'set-by-fetch'

/** The wire formats, each spoken by a library that is loaded when it is first needed. */
const wires: Record<Exclude<ApiFormat, 'ai-sdk'>, Wire> = {
  'openai-chat': async ({ entry, name }, fetch) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return createOpenAICompatible({ name: entry.name, baseURL: entry.base_url!, fetch, includeUsage: entry.compat?.['usage_in_stream'] !== false }).chatModel(name)
  },
  'openai-responses': async ({ entry, name }, fetch) => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI({ name: entry.name, baseURL: entry.base_url!, apiKey, fetch }).responses(name)
  },
  'anthropic-messages': async ({ entry, name }, fetch) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ name: entry.name, baseURL: entry.base_url!, apiKey, fetch }).languageModel(name)
  },
  'google-generative-ai': async ({ entry, name }, fetch) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    return createGoogleGenerativeAI({ name: entry.name, baseURL: entry.base_url!, apiKey, fetch }).languageModel(name)
  },
}

/** The client for a model. `fetch` carries credentials, limits and everything else that is ours. */
export async function languageModel(model: Model, fetch: Fetch): Promise<LanguageModelV3> {
  if (model.format !== 'ai-sdk') return wires[model.format](model, fetch)
  const { packagedModel } = await import('./packaged.js')
  return packagedModel(model, fetch)
}
