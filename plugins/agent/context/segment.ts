import { omitUndefined, type Mode, type RightsScope } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redact, redactText, truncateLine } from '../../../core/text/index.js'
import type { FactOf, SegmentReason } from '../base/index.js'
import { estimateTokens, createToolDefinitions, type ModelRequest } from '../model/index.js'
import type { Conversation } from '../session/index.js'
import { describeEnvironment, readInstructionText, renderSystemPrompt } from './system_prompt.js'

/** Reports about unused instruction files in a session, at most. */
const MAX_REPORTED = 20

/** Lists the tools of a program for an agent, before a conversation leaves some out. */
export const createCatalog = (
  kernel: Kernel,
  mode: Mode,
  only: RightsScope | undefined,
): Pick<Conversation, 'tools'> => ({
  tools: (how) =>
    kernel.tools({
      ...how,
      audience: 'agent',
      mode,
      ...(only?.tools && { only: [...(how?.only ?? []), ...only.tools] }),
    }),
})

/** A series of steps with one prompt and one set of tools. */
export interface Segment {
  id: string
  system: string
  tools: ModelRequest['tools']
  /** In tokens; `instructions`: the part of the prompt from instruction files and the task. */
  weight: { system: number; instructions: number; tools: number }
  /** The sources of the segment that may change during a thread. */
  sources: Pick<FactOf<'segment'>, 'only' | 'left_out' | 'lengths'>
  basis: { model: string; mode: Mode; generation: number; catalog: string; instructions: string; task: string }
}

/** The prompt and the tools of a conversation, frozen until a source or the model changes. */
export class Segments {
  /** The segment of the next step. */
  private ready: Segment | undefined
  /** Sentences about instruction files that are not used, and those that were reported. */
  private readonly unused = new Set<string>()
  private readonly reported = new Set<string>()
  /** The active segment, which is in the journal. */
  private present: Segment | undefined

  constructor(
    private readonly thread: Conversation,
    private readonly withTools: boolean,
  ) {}

  get weight(): ModelRequest['weight'] {
    return this.present?.weight ?? { system: 0, tools: 0 }
  }

  /** Returns the active segment; begins a new one if the model changed. */
  async current(): Promise<Segment> {
    const next = await this.next()
    return next === this.present ? next : this.record(next, this.present ? 'model_switch' : 'start')
  }

  /** Returns the segment of the next step; it becomes active when that step begins. */
  async next(): Promise<Segment> {
    if (this.ready?.basis.model !== this.thread.connection.model.id) this.ready = await this.make()
    return this.ready
  }

  /** Begins a new segment at the start of a turn if mode, tools, instructions or task changed. */
  async renew(): Promise<void> {
    if (!this.present) {
      // The segment was created before the turn, and the texts of the task may be newer.
      if (this.ready && (await this.thread.describeTask()) !== this.ready.basis.task) this.ready = undefined
      return
    }
    const reason = await this.findChange(this.present.basis)
    if (reason) await this.begin(reason)
  }

  private async findChange(basis: Segment['basis']): Promise<SegmentReason | undefined> {
    const { kernel } = this.thread
    if (this.thread.mode !== basis.mode) return 'mode'
    if (kernel.inspection.generation !== basis.generation && sha256(JSON.stringify(this.tools())) !== basis.catalog)
      return 'catalog'
    basis.generation = kernel.inspection.generation
    const { instructions, task } = await this.readTexts()
    return instructions === basis.instructions && task === basis.task ? undefined : 'instructions'
  }

  /** Reads the instruction files and the texts of the task. */
  private async readTexts(): Promise<Pick<Segment['basis'], 'instructions' | 'task'>> {
    const { kernel, workspace, settings } = this.thread
    return {
      instructions: await readInstructionText(
        kernel,
        workspace,
        settings,
        (sentence) => void this.unused.add(sentence),
      ),
      task: await this.thread.describeTask(),
    }
  }

  async begin(reason: SegmentReason): Promise<Segment> {
    return this.record((this.ready = await this.make()), reason)
  }

  private tools = (): ModelRequest['tools'] =>
    this.withTools ? redact(createToolDefinitions(this.lister, this.thread.connection.model)) : []

  /** Lists the tools without scripts of calls, if the model has no use for them. */
  private get lister(): Pick<Conversation, 'tools'> {
    const { kernel, connection, tools } = this.thread
    const scripts = kernel.list().find(({ runs_calls }) => runs_calls)
    if (!scripts || connection.model.facts.supports_code_mode !== false) return this.thread
    return { tools: (how) => tools({ ...how, only: [`Except(${scripts.slot})`] }) }
  }

  private async make(): Promise<Segment> {
    const { kernel, workspace, providers, connection, mode, newId } = this.thread
    const { generation } = kernel.inspection
    // Git is slow; the tools are listed meanwhile.
    const environment = describeEnvironment(workspace, providers.clock)
    environment.catch(() => {})
    const { instructions, task } = await this.readTexts()
    const appendix = [instructions, task].filter((text) => text !== '').join('\n\n')
    const tools = this.tools()
    const system = redactText(renderSystemPrompt(mode, await environment, appendix))
    const catalog = JSON.stringify(tools)
    return {
      id: newId('seg'),
      system,
      tools,
      weight: {
        system: estimateTokens(system),
        instructions: estimateTokens(appendix),
        tools: estimateTokens(catalog),
      },
      sources: this.describeSources(tools, [await environment, instructions, task], system),
      basis: { model: connection.model.id, mode, generation, catalog: sha256(catalog), instructions, task },
    }
  }

  /** Describes what a replay cannot find elsewhere. Lengths are those of the redacted prompt. */
  private describeSources(tools: ModelRequest['tools'], sections: readonly string[], system: string) {
    const { kernel, connection, mode, only } = this.thread
    const [environment = '', instructions = '', task = ''] = sections.map((section) => redactText(section))
    const names = new Set(tools.map(({ name }) => name))
    const left_out = createToolDefinitions(createCatalog(kernel, mode, only), connection.model).flatMap(({ name }) =>
      names.has(name) ? [] : [name],
    )
    const written = [environment, instructions, task].filter((text) => text !== '').join('\n\n')
    return omitUndefined({
      only,
      left_out: left_out.length > 0 ? left_out : undefined,
      lengths: system.endsWith(written)
        ? { environment: environment.length, instructions: instructions.length, task: task.length }
        : undefined,
    })
  }

  private async record(segment: Segment, reason: SegmentReason): Promise<Segment> {
    const { store, events } = this.thread
    const { id: segment_id, system, tools, basis, sources } = segment
    const { model, mode } = basis
    const texts = { prompt: system, tools: JSON.stringify(tools) }
    const hashes = { prompt: sha256(system), tools: basis.catalog }
    for (const name of ['prompt', 'tools'] as const) {
      if ((await store.read(`prompts/${hashes[name]}`)) === undefined)
        await store.write(`prompts/${hashes[name]}`, texts[name])
    }
    await this.thread.commit({ kind: 'segment', segment_id, model, ...hashes, mode, ...sources })
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
    await this.reportUnused()
    return segment
  }

  /** Reports each unused instruction file once. */
  private async reportUnused(): Promise<void> {
    for (const sentence of this.unused) {
      if (this.reported.has(sentence) || this.reported.size >= MAX_REPORTED) continue
      this.reported.add(sentence)
      await this.thread.harness('instructions_unused', { message: truncateLine(sentence, 300) })
    }
  }
}
