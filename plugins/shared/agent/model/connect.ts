import { VtError, type Contribution, type Kernel } from '../../../../core/index.js'
import { resolveValue } from '../../values.js'
import type { AgentProviders } from '../dictionary.js'
import { AgentError } from '../errors.js'
import type { Line } from './ask.js'
import { credentialOf, type Resolve } from './credentials.js'
import { findModel, type Entry } from './provider.js'
import { transport } from './transport.js'
import { languageModel } from './wires.js'

/** The line to a model by its id; libraries are loaded, nothing is sent. Throws VT_LLM_NO_MODEL, VT_LLM_AUTH, VT_CONFIG_INVALID. */
export async function connect(kernel: Kernel, id: string | undefined, providers: AgentProviders): Promise<Line> {
  const model = findModel(kernel, id)
  const { entry } = model
  const resolve = resolver(kernel, entry, providers)
  const [credential, headers, query] = await Promise.all([
    credentialOf(entry, model.format, providers, resolve),
    texts(entry.headers, 'headers', resolve),
    texts(entry.query, 'query', resolve),
  ])
  return { model, credential, client: await languageModel(model, transport(model, credential, { headers, query }, providers.fetch)) }
}

/** Values of an entry are the user's own: providers stand in nobody else's settings. */
function resolver(kernel: Kernel, { name }: Entry, { env }: AgentProviders): Resolve {
  const said = kernel.origins().find(({ path }) => path.startsWith('custom_providers'))
  const contribution: Contribution = {
    id: `custom_providers:${name}`,
    name,
    plugin: 'user',
    kind: 'surface',
    layer: 'user',
    file: said?.file ?? kernel.workspace,
    root: kernel.workspace,
    manifest: {},
  }
  const premises = { settings: kernel.settings, env, workspace: kernel.workspace, optionsOf: () => ({}) }
  return async (value, field) => {
    try {
      const text = await resolveValue(value, { contribution, premises, field, signal: new AbortController().signal })
      if (text) return text
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      throw new AgentError('VT_LLM_AUTH', error.message, { hint: error.problem.hint })
    }
    throw new AgentError('VT_LLM_AUTH', `${field} of the provider '${name}' is empty.`)
  }
}

async function texts(values: Record<string, unknown> = {}, field: string, resolve: Resolve): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await resolve(value, `${field}.${name}`)])))
}
