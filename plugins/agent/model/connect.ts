import { VtError } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { resolveValue } from '../../lib/values/index.js'
import type { Credential, Resolve, SignIn } from '../auth/index.js'
import { AgentError, type AgentProviders } from '../base/index.js'
import { credentialOf } from './credentials.js'
import { findModel, networkOf, providerSources, type ProviderSource } from '../providers/index.js'
import { languageModel } from './wires.js'
import type { ModelConnection } from './request.js'
import { transport } from './transport.js'

/** Connects to a model by its id: loads libraries, sends nothing. Throws VT_LLM_NO_MODEL, VT_LLM_AUTH, VT_CONFIG_INVALID, VT_PROVIDER_*. */
export async function connect(
  kernel: Kernel,
  id: string | undefined,
  providers: AgentProviders,
): Promise<ModelConnection> {
  const model = findModel(kernel, providers.env, id)
  const { reach, resolve, ...access } = await accessTo(kernel, model.source, providers)
  const client = await languageModel(model, {
    fetch: transport(model, access.credential, access, reach),
    resolve,
    home: kernel.inspection.home,
  })
  return { model, credential: access.credential, client }
}

/** Everything that a request to a provider needs besides the request. */
export interface ProviderAccess {
  credential: Credential
  headers: Record<string, string>
  query: Record<string, string>
  /** Connections as the entry wants them; knows no credential. */
  reach: typeof fetch
  resolve: Resolve
}
export async function accessTo(
  kernel: Kernel,
  source: ProviderSource,
  providers: AgentProviders,
): Promise<ProviderAccess> {
  const { entry } = source
  const resolve = resolver(kernel, source, providers)
  const reach = await networkOf(source, providers.fetch)
  const [credential, headers, query] = await Promise.all([
    credentialOf(
      source,
      { ...providers, fetch: reach },
      { resolve, workspace: kernel.workspace, home: kernel.inspection.home },
    ),
    texts(entry.headers, 'headers', resolve),
    texts(entry.query, 'query', resolve),
  ])
  return { credential, headers, query, reach, resolve }
}

/** What a sign-in to a provider needs. Throws VT_CONFIG_INVALID for one that wants none. */
export async function signInOf(kernel: Kernel, name: string, providers: AgentProviders): Promise<SignIn> {
  const source = providerSources(kernel, providers.env).all.find(({ entry }) => entry.name === name)
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
    providers: { ...providers, fetch: await networkOf(source, providers.fetch) },
  }
}

/** Resolves the values of an entry with the rights of the contribution that declares it. */
function resolver(kernel: Kernel, { entry, from, options }: ProviderSource, { env }: AgentProviders): Resolve {
  const adapterContext = { settings: kernel.settings, env, workspace: kernel.workspace, optionsOf: () => options }
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

/** A text says itself, though it be empty; what a reference leads to must be something. */
async function texts(
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
