import type { Kernel } from '../../../core/kernel/index.js'
import type { Usage } from '../base/index.js'
import { dictionary } from '../components/index.js'
import { Events } from '../events/index.js'
import { ask, connect, Speech } from '../model/index.js'

/** What came of one small request. */
export interface Checked {
  model: string
  answered: true
  latency_ms: number
  /** Whether the model called the tool it was offered. */
  calls_tools: boolean
  usage: Usage
}

/** Asks a model for next to nothing, with a tool at hand. Throws AgentError VT_LLM_*. */
export async function check(kernel: Kernel, id: string, env: Record<string, string | undefined>, signal: AbortSignal): Promise<Checked> {
  const providers = await dictionary({ kernel, env })
  const line = await connect(kernel, id, providers)
  const offered = { type: 'function' as const, name: 'ping', description: 'Answers.', inputSchema: { type: 'object' as const, properties: {} } }
  const answer = await ask(
    { ...line, model: { ...line.model, entry: { ...line.model.entry, retries: { request: 0, stream: 0 } } } },
    {
      system: 'Call the tool ping.',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'ping' }] }],
      tools: line.model.facts.supports_tools === false ? [] : [offered],
      // About what these two take.
      weight: 32,
      // Less than this some servers refuse.
      max_output_tokens: 16,
      session_id: 'check',
    },
    { providers, speech: new Speech(new Events('check', providers.clock), () => 'check'), retrying: async () => {} },
    signal,
  )
  return { model: line.model.id, answered: true, latency_ms: answer.duration_ms, calls_tools: answer.parts.some(({ type }) => type === 'raw_call'), usage: answer.usage }
}
