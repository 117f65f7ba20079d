import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toText } from '../../../core/text/index.js'
import type { LanguageModelV3, ProviderV3 } from '@ai-sdk/provider'
import type { JsonObject } from '../../../core/shapes/index.js'
import { AgentError, toErrorMessage } from '../base/index.js'
import type { Resolve } from '../auth/index.js'
import { KEY_PLACEHOLDER } from './transport.js'
import type { Model } from '../providers/index.js'
import type { ClientContext } from './module.js'

// Factories whose names do not follow from the package name.
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
/** Bundled packages, unless the user installed others. */
const bundled: Record<string, () => Promise<object>> = {
  '@ai-sdk/anthropic': () => import('@ai-sdk/anthropic'),
  '@ai-sdk/google': () => import('@ai-sdk/google'),
  '@ai-sdk/openai': () => import('@ai-sdk/openai'),
  '@ai-sdk/openai-compatible': () => import('@ai-sdk/openai-compatible'),
}
const packagesWithPlainNames = [
  'anthropic',
  'azure',
  'mistral',
  'groq',
  'cohere',
  'fireworks',
  'perplexity',
  'cerebras',
]

/**
 * Creates a model of any AI SDK provider package, https://ai-sdk.dev/providers. The user installs it next to the
 * settings or in `~/.vtcode`; nothing is downloaded. Throws VT_PROVIDER_PACKAGE, VT_PROVIDER_VERSION.
 */
export async function createPackagedModel(
  { entry, name, source }: Model,
  { fetch, resolve, home }: ClientContext,
): Promise<LanguageModelV3> {
  const library = entry.package!
  const factory = entry.factory ?? getFactoryName(library)
  if (!factory)
    throw new AgentError(
      'VT_PROVIDER_PACKAGE',
      `The package '${library}' of the provider '${entry.name}' needs \`factory\`: ` +
        "the package's function that creates the provider.",
    )
  const module = (await loadPackage(library, [home, dirname(source.from.file)])) as Record<string, unknown>
  const make = module[factory]
  if (typeof make !== 'function')
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${library}' has no function '${factory}'.`)
  const options = {
    name: entry.name,
    apiKey: KEY_PLACEHOLDER,
    ...(entry.base_url !== undefined && { baseURL: entry.base_url }),
    ...(await resolveReferences(entry.package_options ?? {}, resolve)),
    fetch,
  }
  const model = createModel(make as (options: object) => Partial<ProviderV3> | undefined, options, name)
  if (model instanceof Error)
    throw new AgentError('VT_PROVIDER_PACKAGE', `'${factory}' of the package '${library}' fails: ${model.message}`)
  if (model?.specificationVersion === 'v3') return model
  throw new AgentError(
    'VT_PROVIDER_VERSION',
    `The package '${library}' makes models of the specification '${toText(model?.specificationVersion)}', but 'v3' ` +
      'is needed.',
  )
}

function getFactoryName(library: string): string | undefined {
  const name = library.replace(/^@ai-sdk\//, '')
  if (name === library) return undefined
  return (
    factories[name] ??
    (packagesWithPlainNames.includes(name) ? `create${name[0]!.toUpperCase()}${name.slice(1)}` : undefined)
  )
}

function createModel(
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

/** Resolves the references in options, at any depth. */
async function resolveReferences(value: JsonObject, resolve: Resolve, field = 'package_options'): Promise<JsonObject> {
  const resolveItem = async (item: unknown, at: string): Promise<unknown> => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    const isReference =
      references.some((form) => Object.hasOwn(item, form)) &&
      Object.keys(item).every((key) => [...references, 'timeout_secs', 'refresh_secs'].includes(key))
    return isReference ? resolve(item, at) : resolveReferences(item as JsonObject, resolve, at)
  }
  return Object.fromEntries(
    await Promise.all(
      Object.entries(value).map(async ([key, item]) => [key, await resolveItem(item, `${field}.${key}`)]),
    ),
  )
}

/** Loads a package from the user's folders, the folder of the program or the bundle. */
async function loadPackage(library: string, folders: readonly string[]): Promise<object> {
  const file = locatePackage(library, folders)
  const own = Object.hasOwn(bundled, library) ? bundled[library] : undefined
  if (!file && !own)
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${library}' is not installed.`, {
      hint: `Install it where your settings are: npm install --prefix ~/.vtcode ${library}`,
    })
  return (file ? import(file) : own!()).catch((error: unknown) => {
    throw new AgentError('VT_PROVIDER_PACKAGE', `The package '${library}' cannot be loaded: ${toErrorMessage(error)}`)
  })
}

function locatePackage(library: string, folders: readonly string[]): string | undefined {
  for (const base of [...folders.map((folder) => pathToFileURL(join(folder, 'x.js')).href), import.meta.url]) {
    try {
      const file = createRequire(base).resolve(library)
      if (existsSync(file)) return pathToFileURL(file).href
    } catch {
      // The package may be in the next folder.
    }
  }
  return undefined
}
