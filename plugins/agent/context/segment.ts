import { sha256 } from '../../../core/system/index.js'
import type { SegmentReason } from '../base/index.js'
import { tokensOf, toolDefinitions, type ModelRequest } from '../model/index.js'
import type { Conversation } from '../session/index.js'
import { environmentText, instructionText, systemPrompt } from './system_prompt.js'

/** A stretch of steps with one prompt and one set of tools. */
export interface Segment {
  id: string
  system: string
  tools: ModelRequest['tools']
  /** In tokens; `written` is the part of the prompt that people wrote for agents. */
  weight: { system: number; written: number; tools: number }
  /** What it was made of, as far as that may change while a thread lives. */
  of: { model: string; mode: string; generation: number; catalog: string; written: string; standing: string }
}

/** The prompt and the tools before the conversation: frozen until one of their parts or the model changes. */
export class Segments {
  /** The segment of the next step. */
  private ready: Segment | undefined
  /** The segment in force, which the journal has. */
  private present: Segment | undefined

  constructor(
    private readonly thread: Conversation,
    private readonly withTools: boolean,
  ) {}

  get weight(): ModelRequest['weight'] {
    return this.present?.weight ?? { system: 0, tools: 0 }
  }

  /** The segment in force; a new one begins where the model changed. */
  async current(): Promise<Segment> {
    const next = await this.next()
    return next === this.present ? next : this.record(next, this.present ? 'model_switch' : 'start')
  }

  /** The segment of the next step; it is in force when that begins. */
  async next(): Promise<Segment> {
    if (this.ready?.of.model !== this.thread.connection.model.id) this.ready = await this.make()
    return this.ready
  }

  /** Begins a new segment, as a turn begins, where mode, tools or instructions changed; the description of the environment stays. */
  async renew(): Promise<void> {
    if (!this.present) {
      // It was made as the turn began, and what the task is held to may have come since.
      if (this.ready && (await this.thread.standing()) !== this.ready.of.standing) this.ready = undefined
      return
    }
    const reason = await this.outdated(this.present.of)
    if (reason) await this.begin(reason)
  }

  private async outdated(of: Segment['of']): Promise<SegmentReason | undefined> {
    const { kernel } = this.thread
    if (this.thread.mode !== of.mode) return 'mode'
    if (kernel.inspection.generation !== of.generation && sha256(JSON.stringify(this.tools())) !== of.catalog)
      return 'catalog'
    of.generation = kernel.inspection.generation
    const { written, standing } = await this.written()
    return written === of.written && standing === of.standing ? undefined : 'instructions'
  }

  /** What people wrote for agents, and what the task is held to. */
  private async written(): Promise<Pick<Segment['of'], 'written' | 'standing'>> {
    const { kernel, workspace, settings } = this.thread
    return { written: await instructionText(kernel, workspace, settings), standing: await this.thread.standing() }
  }

  async begin(reason: SegmentReason): Promise<Segment> {
    return this.record((this.ready = await this.make()), reason)
  }

  private tools = (): ModelRequest['tools'] =>
    this.withTools ? toolDefinitions(this.thread, this.thread.connection.model) : []

  private async make(): Promise<Segment> {
    const { kernel, workspace, providers, connection, mode, newId } = this.thread
    const { generation } = kernel.inspection
    // Git takes its time; meanwhile the tools are listed.
    const environment = environmentText(workspace, providers.clock)
    environment.catch(() => {})
    const { written, standing } = await this.written()
    const behind = [written, standing].filter((text) => text !== '').join('\n\n')
    const tools = this.tools()
    const system = systemPrompt(mode, await environment, behind)
    const catalog = JSON.stringify(tools)
    return {
      id: newId('seg'),
      system,
      tools,
      weight: { system: tokensOf(system), written: tokensOf(behind), tools: tokensOf(catalog) },
      of: { model: connection.model.id, mode, generation, catalog: sha256(catalog), written, standing },
    }
  }

  private async record(segment: Segment, reason: SegmentReason): Promise<Segment> {
    const { store, events } = this.thread
    const { id: segment_id, system, tools, of } = segment
    const { model } = of
    const texts = { prompt: system, tools: JSON.stringify(tools) }
    const hashes = { prompt: sha256(system), tools: of.catalog }
    for (const name of ['prompt', 'tools'] as const) {
      if ((await store.read(`prompts/${hashes[name]}`)) === undefined)
        await store.write(`prompts/${hashes[name]}`, texts[name])
    }
    await this.thread.commit({ kind: 'segment', segment_id, model, ...hashes })
    this.present = segment
    await events.emit({
      type: 'segment.started',
      segment_id,
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
