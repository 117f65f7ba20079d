import type { CallPart, Fact, ResetTrigger, TokenBreakdown } from '../base/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { noUsage, sizeOf, type ModelAnswer, type ModelRequest } from '../model/index.js'
import { messageText, type ConversationContext } from '../session/index.js'
import { clearOld } from './clearing.js'
import { compact, type Compactable, type CompactOptions } from './compaction.js'
import { nestedInstructions, shownAs } from './instructions.js'
import { resetContext } from './reset.js'
import type { Segments } from './segment.js'
import { tokenBudget, type TokenBudget } from './token_budget.js'

/** What the model reads at a time: how large it is, what leaves it and what joins it. */
export class ContextWindow implements ConversationContext, Compactable {
  vain = false
  /** Folders whose instructions were shown. */
  private readonly shown = new Set<string>()
  /** What the server counted when it last answered, and how many messages that were. */
  private counted: { tokens: number; messages: number } | undefined
  /** What the model's window turned out to be at most. */
  private lowered = Infinity
  /** Usage that the server reported for the last answer. */
  private usage = noUsage
  private recovered = false

  constructor(
    private readonly thread: PaidConversation,
    readonly segments: Segments,
  ) {}

  get budget(): TokenBudget {
    return tokenBudget(this.thread.connection.model, this.thread.settings, this.lowered)
  }

  /** What the next request would take, in tokens: what the server counted, and about what came since. */
  get size(): number {
    const { state } = this.thread
    if (this.counted) return this.counted.tokens + sizeOf(state.messages.slice(this.counted.messages))
    const { system, tools } = this.segments.weight
    return system + tools + sizeOf(state.messages)
  }

  async request(): Promise<ModelRequest> {
    const { system, tools } = await this.segments.current()
    const { state, session_id, settings } = this.thread
    const { reasoning_effort } = settings.agent
    const { sources, facts } = this.thread.connection.model
    const guessed = sources['context_window'] === 'assumed' && sources['max_output_tokens'] === 'default'
    return {
      system,
      messages: state.messages,
      tools: facts.supports_tools === false ? [] : tools,
      weight: this.segments.weight,
      ...(!guessed && { max_output_tokens: this.budget.output }),
      session_id,
      ...(reasoning_effort !== undefined && { reasoning_effort }),
    }
  }

  answered({ counted, usage }: ModelAnswer): void {
    this.usage = usage
    this.counted =
      counted === undefined ? undefined : { tokens: counted, messages: this.thread.state.messages.length + 1 }
  }
  async breakdown(): Promise<TokenBreakdown> {
    const { system, written, tools } = (await this.segments.next()).weight
    const { input_tokens, cached_input_tokens, cache_creation_tokens } = this.usage
    return {
      system_prompt_tokens: Math.max(0, system - written),
      tool_schema_tokens: tools,
      instruction_file_tokens: written,
      message_history_tokens: sizeOf(this.thread.state.messages),
      cache_read_tokens: cached_input_tokens,
      cache_write_tokens: cache_creation_tokens,
      cache_miss_tokens: Math.max(0, input_tokens - cached_input_tokens - cache_creation_tokens),
    }
  }
  /** After these the old count means nothing. */
  changed({ kind }: Fact): void {
    if (kind === 'cleared' || kind === 'compaction') this.counted = undefined
  }

  async makeRoom(first: boolean, signal: AbortSignal): Promise<void> {
    if (first) {
      this.recovered = false
      await this.segments.renew()
    }
    await clearOld(this.thread)
    if (!this.thread.settings.harness.auto_compaction_enabled) return
    await this.segments.current()
    const { soft, hard } = this.budget
    const { size } = this
    if (size >= (first ? soft : hard)) await this.compact({ trigger: 'auto', must: size >= hard }, signal)
  }

  /** Shortens the conversation now; `false` when there is nothing to win. */
  async compact(options: CompactOptions, signal: AbortSignal): Promise<boolean> {
    const done = await compact(this.thread, this, options, signal)
    // What was shown to the model may have left with the rest.
    if (done) this.shown.clear()
    return done
  }

  /** Compacts once a turn after the server found the conversation too long; a window that was only assumed is taken as smaller. */
  async recover(signal: AbortSignal): Promise<boolean> {
    if (this.recovered) return false
    this.recovered = true
    if (this.thread.connection.model.sources['context_window'] === 'assumed') this.lowered = Math.floor(0.8 * this.size)
    return this.compact({ trigger: 'recovery', must: true }, signal)
  }

  /** Compacts for another model, whose window may be smaller. */
  async switched(signal: AbortSignal): Promise<void> {
    this.counted = undefined
    this.lowered = Infinity
    const must = this.size > this.budget.hard
    if (must || this.thread.settings.harness.compact_on_model_switch)
      await this.compact({ trigger: 'model_switch', must }, signal)
  }

  /** Begins the conversation anew with what matters of it, and with `texts`. */
  async reset(trigger: ResetTrigger, texts: readonly string[]): Promise<void> {
    await resetContext(this.thread, this, trigger, texts)
    this.shown.clear()
  }

  /** What is written for agents in the folders that the calls of a step went to, once each. */
  async showNested(calls: readonly CallPart[]): Promise<void> {
    const { thread } = this
    const { workspace, settings, state } = thread
    const changed = state.messages
      .at(-1)!
      .parts.flatMap((part) => (part.type === 'tool_result' ? (part.changed ?? []) : []))
    for (const path of new Set([...calls.flatMap(namedBy), ...changed])) {
      const found = await nestedInstructions(
        thread.kernel,
        workspace,
        settings.agent,
        relative(path, workspace.root),
        this.shown,
      )
      const text = shownAs(found)
      // A resumed conversation may hold them already.
      const known =
        found.length === 0 ||
        state.messages.some((message) => message.origin === 'instructions' && messageText(message) === text)
      if (!known) await thread.inject(text, 'instructions')
    }
  }
}

/** The paths that a call names, under any of the parameters that tools have for them. */
function namedBy({ input }: CallPart): string[] {
  const { path, paths, workdir, destination } = (input ?? {}) as Record<string, unknown>
  return [path, paths, workdir, destination].flat().filter((one) => typeof one === 'string')
}

const relative = (path: string, root: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path.replace(/^\.\//, '')
