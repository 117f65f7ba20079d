import type { Kernel } from '../../../core/contract/index.js'
import { AgentError, type Usage } from '../base/index.js'
import { chooseComponents } from '../components/index.js'
import { Events } from '../events/index.js'
import { askModel, connect, noUsage, Speech } from '../model/index.js'

/** The result of one small request. */
export interface ModelCheck {
  model: string
  answered: true
  latency_ms: number
  /** The model called the offered tool. */
  calls_tools: boolean
  usage: Usage
}

/** Sends a model one small request with one tool. Throws AgentError VT_LLM_*. */
export async function checkModel(
  kernel: Kernel,
  id: string,
  env: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<ModelCheck> {
  const providers = await chooseComponents({ kernel, env })
  const connection = await connect(kernel, id, providers)
  const pingTool = {
    type: 'function' as const,
    name: 'ping',
    description: 'Answers.',
    inputSchema: { type: 'object' as const, properties: {} },
  }
  const began = providers.clock.now()
  let usage = noUsage
  const answer = await askModel(
    {
      ...connection,
      model: { ...connection.model, entry: { ...connection.model.entry, retries: { request: 0, stream: 0 } } },
    },
    {
      system: 'Call the tool ping.',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'ping' }] }],
      tools: connection.model.facts.supports_tools === false ? [] : [pingTool],
      // The approximate size of prompt and tool.
      weight: { system: 16, tools: 16 },
      // Some servers reject a lower limit.
      max_output_tokens: 16,
      session_id: 'check',
    },
    {
      providers,
      speech: new Speech(new Events('check', providers.clock), () => 'check'),
      onRetry: async () => {},
      onLost: (cost) => (usage = cost.usage),
    },
    signal,
  ).catch((error: unknown) => {
    // A reasoning model may reach the limit before its first text; it still answers.
    if (!(error instanceof AgentError && error.code === 'VT_LLM_LENGTH')) throw error
    return { parts: [], duration_ms: providers.clock.now() - began, usage }
  })
  return {
    model: connection.model.id,
    answered: true,
    latency_ms: answer.duration_ms,
    calls_tools: answer.parts.some(({ type }) => type === 'raw_call'),
    usage: answer.usage,
  }
}
