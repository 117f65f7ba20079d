import { VtError } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { resolveValue } from '../../lib/values/index.js'
import type { Credential, Resolve, SignIn } from '../auth/index.js'
import { AgentError, type AgentProviders } from '../base/index.js'
import { resolveCredential } from './credentials.js'
import { findModel, createFetch, listProviderSources, type ProviderSource } from '../providers/index.js'
import { createLanguageModel } from './wires.js'
import type { ModelConnection } from './request.js'
import { createTransport } from './transport.js'

/**
 * Connects to a model by its id: loads libraries, sends nothing. Throws VT_LLM_NO_MODEL, VT_LLM_AUTH,
 * VT_CONFIG_INVALID, VT_PROVIDER_*.
 */
export async function connect(
  kernel: Kernel,
  id: string | undefined,
  providers: AgentProviders,
): Promise<ModelConnection> {
  const model = findModel(kernel, providers.env, id)
  const { reach, resolve, ...access } = await openAccess(kernel, model.source, providers)
  const client = await createLanguageModel(model, {
    fetch: createTransport(model, access.credential, access, reach),
    resolve,
    home: kernel.inspection.home,
  })
  return { model, credential: access.credential, client }
}

/** The parts of a request to a provider that all requests share. */
export interface ProviderAccess {
  credential: Credential
  headers: Record<string, string>
  query: Record<string, string>
  /** Fetches with the network settings of the entry; without a credential. */
  reach: typeof fetch
  resolve: Resolve
}
export async function openAccess(
  kernel: Kernel,
  source: ProviderSource,
  providers: AgentProviders,
): Promise<ProviderAccess> {
  const { entry } = source
  const resolve = createResolver(kernel, source, providers)
  const reach = await createFetch(source, providers.fetch)
  const [credential, headers, query] = await Promise.all([
    resolveCredential(
      source,
      { ...providers, fetch: reach },
      { resolve, workspace: kernel.workspace, home: kernel.inspection.home },
    ),
    resolveTexts(entry.headers, 'headers', resolve),
    resolveTexts(entry.query, 'query', resolve),
  ])
  return { credential, headers, query, reach, resolve }
}

/** Creates the sign-in to a provider. Throws VT_CONFIG_INVALID for a provider without oauth. */
export async function createSignIn(kernel: Kernel, name: string, providers: AgentProviders): Promise<SignIn> {
  const source = listProviderSources(kernel, providers.env).all.find(({ entry }) => entry.name === name)
  const { auth, base_url = '' } = source?.entry ?? {}
  if (!source || auth?.type !== 'oauth')
    throw new AgentError(
      'VT_CONFIG_INVALID',
      source ? `The provider '${name}' has no auth of the type oauth.` : `Unknown provider '${name}'.`,
    )
  return {
    provider: name,
    base_url,
    auth,
    home: kernel.inspection.home,
    providers: { ...providers, fetch: await createFetch(source, providers.fetch) },
  }
}

/** Resolves the values of an entry with the rights of the contribution that declares it. */
function createResolver(kernel: Kernel, { entry, from, options }: ProviderSource, { env }: AgentProviders): Resolve {
  const adapterContext = { settings: kernel.settings, env, workspace: kernel.workspace, resolveOptions: () => options }
  return async (value, field) => {
    try {
      const text = await resolveValue(value, {
        contribution: from,
        adapterContext,
        field,
        signal: new AbortController().signal,
      })
      if (text) return text
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      throw new AgentError('VT_LLM_AUTH', error.message, { hint: error.problem.hint })
    }
    throw new AgentError('VT_LLM_AUTH', `${field} of the provider '${entry.name}' is empty.`)
  }
}

/** Resolves references; plain texts stay unchanged and may be empty. */
async function resolveTexts(
  values: Record<string, unknown> = {},
  field: string,
  resolve: Resolve,
): Promise<Record<string, string>> {
  return Object.fromEntries(
    await Promise.all(
      Object.entries(values).map(async ([name, value]) => [
        name,
        typeof value === 'string' ? value : await resolve(value, `${field}.${name}`),
      ]),
    ),
  )
}
