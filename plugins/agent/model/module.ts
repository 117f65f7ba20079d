import { omitUndefined } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import { AgentError, toErrorMessage } from '../base/index.js'
import type { Resolve } from '../auth/index.js'
import type { Model, ProviderSource } from '../providers/index.js'

/** A part of an answer of a module; one `finish` or `error` ends the answer. */
type Part =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool_call'; id?: string; name: string; arguments: string | object }
  | { type: 'usage'; input_tokens?: number; output_tokens?: number; cached_input_tokens?: number }
  | { type: 'finish'; reason?: 'stop' | 'tool-calls' | 'length' | 'content-filter' }
  | { type: 'error'; message: string; status?: number; retry_after_ms?: number }
/**
 * The result of a module's default export for the options of its plugin. Contract: `generate` does not throw after
 * its first part.
 */
interface ProviderModule {
  models?: () => string[] | Promise<string[]>
  generate?: (
    request: LanguageModelV3CallOptions & { model: string },
    context: { signal: AbortSignal; fetch: Fetch },
  ) => AsyncIterable<Part>
  /** Instead of generate: a provider of the AI SDK. */
  languageModel?: (id: string) => LanguageModelV3
}

const fault = ({ entry, from }: ProviderSource, why: string) =>
  new AgentError('VT_PROVIDER_MODULE', `The module of the provider '${entry.name}' (${from.file}) ${why}`)

/** Creates the provider of a module. Throws VT_PROVIDER_MODULE, VT_PLUGIN_IMPORT. */
async function makeProvider(
  source: ProviderSource,
  { resolve, home }: Pick<ClientContext, 'resolve' | 'home'>,
): Promise<ProviderModule> {
  const main = await source.load!().catch((error: unknown) =>
    Promise.reject(fault(source, `cannot be loaded: ${toErrorMessage(error)}`)),
  )
  const context = { name: source.entry.name, home, secret: (key: string) => resolve({ secret: key }, `secret ${key}`) }
  const provider = await Promise.resolve()
    .then(() => main(source.options, context) as ProviderModule | undefined)
    .catch((error: unknown) => Promise.reject(fault(source, `fails: ${toErrorMessage(error)}`)))
  if (typeof provider?.generate !== 'function' && typeof provider?.languageModel !== 'function')
    throw fault(source, 'returns no generate and no languageModel.')
  return provider
}

export async function listModuleModels(
  source: ProviderSource,
  context: Pick<ClientContext, 'resolve' | 'home'>,
): Promise<string[]> {
  const names = await (await makeProvider(source, context)).models?.()
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
}

/** Creates the model of a module in the form of the AI SDK. Throws VT_PROVIDER_MODULE, VT_PROVIDER_VERSION. */
export async function createModuleModel({ source, name }: Model, context: ClientContext): Promise<LanguageModelV3> {
  const provider = await makeProvider(source, context)
  if (!provider.generate) {
    const model = provider.languageModel!(name)
    if (model?.specificationVersion === 'v3') return model
    throw new AgentError(
      'VT_PROVIDER_VERSION',
      `The module of the provider '${source.entry.name}' makes models of the specification ` +
        `'${toText(model?.specificationVersion)}', but 'v3' is needed.`,
    )
  }
  const stream = (options: LanguageModelV3CallOptions) => {
    const signal = options.abortSignal ?? new AbortController().signal
    const parts = provider.generate!({ ...options, model: name }, { signal, fetch: context.fetch })
    return ReadableStream.from(adaptParts(parts))
  }
  return {
    specificationVersion: 'v3',
    provider: source.entry.name,
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(fault(source, 'answers in streams only.')),
    doStream: async (options) => ({ stream: stream(options) }),
  }
}

async function* adaptParts(parts: AsyncIterable<Part>): AsyncGenerator<LanguageModelV3StreamPart> {
  let usage: LanguageModelV3Usage = {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  }
  let open: { type: 'text' | 'reasoning'; id: string } | undefined
  let count = 0
  const close = (): LanguageModelV3StreamPart[] => (open ? [{ type: `${open.type}-end`, id: open.id }] : [])
  for await (const part of parts) {
    if (part.type === 'text' || part.type === 'reasoning') {
      if (open?.type !== part.type) {
        yield* close()
        open = { type: part.type, id: toText(count++) }
        yield { type: `${part.type}-start`, id: open.id }
      }
      yield { type: `${part.type}-delta`, id: open.id, delta: toText(part.text) }
      continue
    }
    yield* close()
    open = undefined
    if (part.type === 'tool_call') {
      yield {
        type: 'tool-call',
        toolCallId: part.id ?? '',
        toolName: toText(part.name),
        input: typeof part.arguments === 'string' ? part.arguments : JSON.stringify(part.arguments ?? {}),
      }
    } else if (part.type === 'usage') {
      usage = {
        inputTokens: { ...usage.inputTokens, total: part.input_tokens, cacheRead: part.cached_input_tokens },
        outputTokens: { ...usage.outputTokens, total: part.output_tokens },
      }
    } else if (part.type === 'error') {
      const { message, status, retry_after_ms: wait } = part
      const headers = wait !== undefined && { responseHeaders: { 'retry-after-ms': toText(wait) } }
      const error = Object.assign(new Error(toText(message)), omitUndefined({ statusCode: status }), headers)
      yield { type: 'error', error }
      return
    } else if (part.type === 'finish') {
      const unified = part.reason ?? 'stop'
      yield { type: 'finish', finishReason: { unified, raw: unified } satisfies LanguageModelV3FinishReason, usage }
      return
    }
  }
}

export type Fetch = typeof globalThis.fetch
/** The parts of a client in addition to the model. */
export interface ClientContext {
  /** Fetches with credentials and limits. */
  fetch: Fetch
  resolve: Resolve
  /** The `.vtcode` folder of the user. */
  home: string
}
