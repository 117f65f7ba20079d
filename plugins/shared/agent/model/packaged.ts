import type { LanguageModelV3, ProviderV3 } from '@ai-sdk/provider'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AgentError, messageOf } from '../errors.js'
import type { Model } from './provider.js'

// Names that do not follow from the package's own.
const factories: Record<string, string> = {
  google: 'createGoogleGenerativeAI',
  'google-vertex': 'createVertex',
  openai: 'createOpenAI',
  'amazon-bedrock': 'createAmazonBedrock',
  xai: 'createXai',
  deepseek: 'createDeepSeek',
  togetherai: 'createTogetherAI',
  deepinfra: 'createDeepInfra',
  'openai-compatible': 'createOpenAICompatible',
}
const plain = ['anthropic', 'azure', 'mistral', 'groq', 'cohere', 'fireworks', 'perplexity', 'cerebras']

/**
 * A model of any AI SDK provider package, https://ai-sdk.dev/providers. The user has installed it, in the program's own folder or in
 * `~/.vtcode`; nothing is fetched. Throws VT_PROVIDER_PACKAGE, VT_PROVIDER_VERSION.
 */
export async function packagedModel({ entry, name }: Model, fetch: typeof globalThis.fetch): Promise<LanguageModelV3> {
  const wanted = entry.package!
  const factory = entry.factory ?? factoryOf(wanted)
  if (!factory) throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' of the provider '${entry.name}' needs factory: the name of the function that makes it.`)
  const module = (await import(locate(wanted)).catch((error: unknown) => {
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' cannot be loaded: ${messageOf(error)}`)
  })) as Record<string, unknown>
  const make = module[factory]
  if (typeof make !== 'function') throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' has no function '${factory}'.`)
  const address = entry.base_url === undefined ? {} : { baseURL: entry.base_url }
  const provider = (make as (options: object) => Partial<ProviderV3> | undefined)({ name: entry.name, apiKey: 'set-by-fetch', fetch, ...address, ...entry.package_options })
  const model = provider?.languageModel?.(name)
  if (model?.specificationVersion === 'v3') return model
  throw new AgentError('VT_PROVIDER_VERSION', `The package '${wanted}' makes models of version '${String(model?.specificationVersion)}'; 'v3' (AI SDK 6) is accepted.`)
}

function factoryOf(wanted: string): string | undefined {
  const name = wanted.replace(/^@ai-sdk\//, '')
  if (name === wanted) return undefined
  return factories[name] ?? (plain.includes(name) ? `create${name[0]!.toUpperCase()}${name.slice(1)}` : undefined)
}

/** Beside the program, or where the user keeps packages of their own. */
function locate(wanted: string): string {
  const places = [import.meta.url, pathToFileURL(join(process.env['VTCODE_HOME'] ?? join(homedir(), '.vtcode'), 'x.js')).href]
  for (const place of places) {
    try {
      const file = createRequire(place).resolve(wanted)
      if (existsSync(file)) return pathToFileURL(file).href
    } catch {
      // The next place may have it.
    }
  }
  throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' is not installed.`, { hint: `Install it where your settings are: npm install --prefix ~/.vtcode ${wanted}` })
}
