import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toText } from '../../../core/text/index.js'
import type { LanguageModelV3, ProviderV3 } from '@ai-sdk/provider'
import type { JsonObject } from '../../../core/shapes/index.js'
import { AgentError, messageOf } from '../base/index.js'
import type { Resolve } from '../auth/index.js'
import { stand_in } from './transport.js'
import type { Model } from '../providers/index.js'
import type { ClientContext } from './module.js'

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
/** What is part of the program: it is used where nothing newer is there. */
const bundled: Record<string, () => Promise<object>> = {
  '@ai-sdk/anthropic': () => import('@ai-sdk/anthropic'),
  '@ai-sdk/google': () => import('@ai-sdk/google'),
  '@ai-sdk/openai': () => import('@ai-sdk/openai'),
  '@ai-sdk/openai-compatible': () => import('@ai-sdk/openai-compatible'),
}
const plain = ['anthropic', 'azure', 'mistral', 'groq', 'cohere', 'fireworks', 'perplexity', 'cerebras']

/**
 * A model of any AI SDK provider package, https://ai-sdk.dev/providers. The user has installed it, beside their settings or in
 * `~/.vtcode`; nothing is fetched. Throws VT_PROVIDER_PACKAGE, VT_PROVIDER_VERSION.
 */
export async function packagedModel(
  { entry, name, source }: Model,
  { fetch, resolve, home }: ClientContext,
): Promise<LanguageModelV3> {
  const wanted = entry.package!
  const factory = entry.factory ?? factoryOf(wanted)
  if (!factory)
    throw new AgentError(
      'VT_PROVIDER_PACKAGE',
      `The package '${wanted}' of the provider '${entry.name}' needs factory: the name of the function that makes it.`,
    )
  const module = (await load(wanted, [home, dirname(source.from.file)])) as Record<string, unknown>
  const make = module[factory]
  if (typeof make !== 'function')
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' has no function '${factory}'.`)
  const options = {
    name: entry.name,
    apiKey: stand_in,
    ...(entry.base_url !== undefined && { baseURL: entry.base_url }),
    ...(await found(entry.package_options ?? {}, resolve)),
    fetch,
  }
  const model = modelFrom(make as (options: object) => Partial<ProviderV3> | undefined, options, name)
  if (model instanceof Error)
    throw new AgentError('VT_PROVIDER_PACKAGE', `'${factory}' of the package '${wanted}' fails: ${model.message}`)
  if (model?.specificationVersion === 'v3') return model
  throw new AgentError(
    'VT_PROVIDER_VERSION',
    `The package '${wanted}' makes models of version '${toText(model?.specificationVersion)}'; 'v3' (AI SDK 6) is accepted.`,
  )
}

function factoryOf(wanted: string): string | undefined {
  const name = wanted.replace(/^@ai-sdk\//, '')
  if (name === wanted) return undefined
  return factories[name] ?? (plain.includes(name) ? `create${name[0]!.toUpperCase()}${name.slice(1)}` : undefined)
}

function modelFrom(
  make: (options: object) => Partial<ProviderV3> | undefined,
  options: object,
  name: string,
): LanguageModelV3 | undefined | Error {
  try {
    return make(options)?.languageModel?.(name)
  } catch (error) {
    return error instanceof Error ? error : new Error(toText(error))
  }
}

const references = ['env', 'file', 'command', 'keychain', 'secret', 'option']

/** The options with what its values refer to, at any depth. */
async function found(value: JsonObject, resolve: Resolve, field = 'package_options'): Promise<JsonObject> {
  const one = async (item: unknown, at: string): Promise<unknown> => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    const refers =
      references.some((form) => Object.hasOwn(item, form)) &&
      Object.keys(item).every((key) => [...references, 'timeout_secs', 'refresh_secs'].includes(key))
    return refers ? resolve(item, at) : found(item as JsonObject, resolve, at)
  }
  return Object.fromEntries(
    await Promise.all(Object.entries(value).map(async ([key, item]) => [key, await one(item, `${field}.${key}`)])),
  )
}

/** The package from where the user keeps packages, from beside the program, or out of the program. */
async function load(wanted: string, folders: readonly string[]): Promise<object> {
  const file = locate(wanted, folders)
  const own = Object.hasOwn(bundled, wanted) ? bundled[wanted] : undefined
  if (!file && !own)
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' is not installed.`, {
      hint: `Install it where your settings are: npm install --prefix ~/.vtcode ${wanted}`,
    })
  return (file ? import(file) : own!()).catch((error: unknown) => {
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${wanted}' cannot be loaded: ${messageOf(error)}`)
  })
}

function locate(wanted: string, folders: readonly string[]): string | undefined {
  for (const place of [...folders.map((folder) => pathToFileURL(join(folder, 'x.js')).href), import.meta.url]) {
    try {
      const file = createRequire(place).resolve(wanted)
      if (existsSync(file)) return pathToFileURL(file).href
    } catch {
      // The next place may have it.
    }
  }
  return undefined
}
