import type { Request } from '../model/ask.js'
import { toolDefinitions } from '../model/prompt.js'
import type { Thread } from '../thread.js'
import type { SegmentReason } from '../types.js'
import { weightOf } from './compaction.js'
import { sha256, systemPrompt } from './prompt.js'

/** A stretch of steps with one prompt and one set of tools. */
export interface Segment {
  id: string
  system: string
  tools: Request['tools']
  /** Of prompt and tools, in tokens. */
  weight: number
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

  async begin(reason: SegmentReason): Promise<Segment> {
    const { kernel, workspace, settings, providers, store, line, events, newId } = this.thread
    const system = await systemPrompt(kernel, workspace, settings, providers)
    const tools = this.withTools ? toolDefinitions(kernel.tools()) : []
    const texts = { prompt: system, tools: JSON.stringify(tools) }
    const segment = { id: newId('seg'), system, tools, weight: weightOf({ system, tools }) }
    const hashes = { prompt: sha256(texts.prompt), tools: sha256(texts.tools) }
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
