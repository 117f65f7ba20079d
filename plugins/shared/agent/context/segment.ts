import type { Request } from '../model/ask.js'
import { toolDefinitions } from '../model/prompt.js'
import type { Thread } from '../thread.js'
import type { SegmentReason } from '../types.js'
import { weightOf } from './compaction.js'
import { sha256, systemPrompt, writtenFor } from './prompt.js'

/** A stretch of steps with one prompt and one set of tools. */
export interface Segment {
  id: string
  system: string
  tools: Request['tools']
  /** Of prompt and tools, in tokens. */
  weight: number
  /** What it was made of, as far as that may change while a thread lives. */
  of: { mode: string; generation: number; catalog: string; written: string }
}

/** What the model is told before the conversation: frozen, until one of its parts or the model has changed. */
export class Segments {
  private present: Segment | undefined

  constructor(
    private readonly thread: Thread,
    private readonly withTools: boolean,
  ) {}

  get weight(): number {
    return this.present?.weight ?? 0
  }

  /** The one that is in force; another begins where the model changed. */
  async current(): Promise<Segment> {
    const { state, line } = this.thread
    if (this.present && state.segment?.model === line.model.id) return this.present
    return this.begin(this.present ? 'model_switch' : 'start')
  }

  /** Looks, as a turn begins, whether people have changed what the model is told; what the place looks like stays as it was told. */
  async renew(): Promise<void> {
    const reason = this.present && (await this.outdated(this.present.of))
    if (reason) await this.begin(reason)
  }

  private async outdated(of: Segment['of']): Promise<SegmentReason | undefined> {
    const { kernel, workspace, settings, providers } = this.thread
    if (kernel.settings.policy.mode !== of.mode) return 'mode'
    if (kernel.generation !== of.generation && sha256(JSON.stringify(this.tools())) !== of.catalog) return 'catalog'
    of.generation = kernel.generation
    return (await writtenFor(workspace, settings, providers.env)) === of.written ? undefined : 'instructions'
  }

  private tools = (): Request['tools'] => (this.withTools ? toolDefinitions(this.thread.kernel.tools()) : [])

  async begin(reason: SegmentReason): Promise<Segment> {
    const { kernel, workspace, settings, providers, store, line, events, newId } = this.thread
    const { generation } = kernel
    const { mode } = kernel.settings.policy
    const written = await writtenFor(workspace, settings, providers.env)
    const system = await systemPrompt(kernel, workspace, written, providers)
    const tools = this.tools()
    const texts = { prompt: system, tools: JSON.stringify(tools) }
    const segment = { id: newId('seg'), system, tools, weight: weightOf({ system, tools }), of: { mode, generation, catalog: sha256(texts.tools), written } }
    const hashes = { prompt: sha256(texts.prompt), tools: segment.of.catalog }
    for (const name of ['prompt', 'tools'] as const) {
      if ((await store.read(`prompts/${hashes[name]}`)) === undefined) await store.write(`prompts/${hashes[name]}`, texts[name])
    }
    const model = line.model.id
    await this.thread.commit({ kind: 'segment', segment_id: segment.id, model, ...hashes })
    this.present = segment
    await events.emit({
      type: 'segment.started',
      segment_id: segment.id,
      model,
      reason,
      prompt_hash: hashes.prompt,
      prompt_path: `prompts/${hashes.prompt}`,
      catalog_hash: hashes.tools,
      catalog_path: `prompts/${hashes.tools}`,
    })
    return segment
  }
}
