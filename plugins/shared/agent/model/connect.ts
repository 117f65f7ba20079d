import type { Kernel } from '../../../../core/index.js'
import type { AgentProviders } from '../dictionary.js'
import type { Line } from './ask.js'
import { credentialOf } from './credentials.js'
import { findModel } from './provider.js'
import { transport } from './transport.js'
import { languageModel } from './wires.js'

/** The line to a model by its id; libraries are loaded, nothing is sent. Throws VT_LLM_NO_MODEL, VT_LLM_AUTH, VT_CONFIG_INVALID. */
export async function connect(kernel: Kernel, id: string | undefined, providers: AgentProviders): Promise<Line> {
  const model = findModel(kernel, id)
  const credential = await credentialOf(model.entry, model.format, providers)
  const extra = { headers: texts(model.entry.headers), query: texts(model.entry.query) }
  return { model, credential, client: await languageModel(model, transport(model, credential, extra, providers.fetch)) }
}

const texts = (values: Record<string, unknown> = {}): Record<string, string> => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
