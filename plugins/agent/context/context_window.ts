import {
  resolveAgentSettings,
  type CallPart,
  type Fact,
  type RequestDigest,
  type ResetTrigger,
  type TokenBreakdown,
} from '../base/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { noUsage, estimateMessages, type ModelAnswer, type ModelRequest } from '../model/index.js'
import { messageText, type ConversationContext } from '../session/index.js'
import { clearOldResults } from './clearing.js'
import { compact, type Compactable, type CompactOptions } from './compaction.js'
import { listStartFolders, readNestedInstructions, renderInstructions } from '../instructions/index.js'
import { PrefixMeter } from './prefix_meter.js'
import { resetContext } from './reset.js'
import { RequestRecorder } from './request_digest.js'
import type { Segments } from './segment.js'
import { computeTokenBudget, limitOutput, type TokenBudget } from './token_budget.js'

/** The context window of a conversation: its size, and its changes. */
export class ContextWindow implements ConversationContext, Compactable {
  ineffective = false
  readonly prefix = new PrefixMeter()
  private readonly recorder = new RequestRecorder()
  /** Folders whose instructions the model has read. */
  private readonly shownFolders = new Set<string>()
  /** The server's last token count, and the number of counted messages. */
  private lastCount: { tokens: number; messages: number } | undefined
  /** The window that errors of the server revealed. */
  private windowLimit = Infinity
  /** Usage that the server reported for the last answer. */
  private usage = noUsage
  private recovered = false

  constructor(
    private readonly thread: PaidConversation,
    readonly segments: Segments,
  ) {}

  get budget(): TokenBudget {
    return computeTokenBudget(this.thread.connection.model, this.thread.settings, this.windowLimit)
  }

  /** The tokens of the next request: the server's count plus an estimate of the newer messages. */
  get size(): number {
    const { state } = this.thread
    if (this.lastCount) return this.lastCount.tokens + estimateMessages(state.messages.slice(this.lastCount.messages))
    const { system, tools } = this.segments.weight
    return system + tools + estimateMessages(state.messages)
  }

  async request(): Promise<ModelRequest> {
    const { system, tools } = await this.segments.current()
    const { state, session_id, settings } = this.thread
    const { reasoning_effort } = settings.agent
    const { model } = this.thread.connection
    return {
      system,
      messages: state.messages,
      tools: model.facts.supports_tools === false ? [] : tools,
      weight: this.segments.weight,
      ...limitOutput(model, this.budget),
      session_id,
      ...(reasoning_effort !== undefined && { reasoning_effort }),
    }
  }

  get sent(): { request?: RequestDigest } {
    const { connection, kernel } = this.thread
    const { request } = this.prefix
    if (!request) return {}
    const how = { model: connection.model, settings: resolveAgentSettings(kernel), window: this.windowLimit }
    return { request: this.recorder.record(request, how) }
  }

  recordAnswer({ counted, usage }: ModelAnswer): void {
    this.usage = usage
    this.lastCount =
      counted === undefined ? undefined : { tokens: counted, messages: this.thread.state.messages.length + 1 }
  }
  async breakdown(): Promise<TokenBreakdown> {
    const { system, instructions, tools } = (await this.segments.next()).weight
    const { input_tokens, cached_input_tokens, cache_creation_tokens } = this.usage
    return {
      system_prompt_tokens: Math.max(0, system - instructions),
      tool_schema_tokens: tools,
      instruction_file_tokens: instructions,
      message_history_tokens: estimateMessages(this.thread.state.messages),
      cache_read_tokens: cached_input_tokens,
      cache_write_tokens: cache_creation_tokens,
      cache_miss_tokens: Math.max(0, input_tokens - cached_input_tokens - cache_creation_tokens),
    }
  }
  /** Discards the token count after facts that remove messages. */
  handleFact(fact: Fact): void {
    const { kind } = fact
    this.prefix.noteFact(fact)
    if (kind === 'cleared' || kind === 'compaction') this.lastCount = undefined
  }

  async makeRoom(first: boolean, signal: AbortSignal): Promise<void> {
    if (first) {
      this.recovered = false
      await this.segments.renew()
    }
    await clearOldResults(this.thread)
    if (!this.thread.settings.harness.auto_compaction_enabled) return
    await this.segments.current()
    const { soft, hard } = this.budget
    const { size } = this
    if (size >= (first ? soft : hard)) await this.compact({ trigger: 'auto', force: size >= hard }, signal)
  }

  /** Shortens the conversation now; `false` if nothing can be saved. */
  async compact(options: CompactOptions, signal: AbortSignal): Promise<boolean> {
    const done = await compact(this.thread, this, options, signal)
    // Shown instructions may have been removed too.
    if (done) this.shownFolders.clear()
    return done
  }

  /** Compacts once a turn after the server rejected the length. An assumed window is lowered. */
  async recover(signal: AbortSignal): Promise<boolean> {
    if (this.recovered) return false
    this.recovered = true
    if (this.thread.connection.model.sources['context_window'] === 'assumed')
      this.windowLimit = Math.floor(0.8 * this.size)
    return this.compact({ trigger: 'recovery', force: true }, signal)
  }

  /** Compacts for another model with a possibly smaller window. */
  async handleModelSwitch(signal: AbortSignal): Promise<void> {
    this.lastCount = undefined
    this.windowLimit = Infinity
    const must = this.size > this.budget.hard
    if (must || this.thread.settings.harness.compact_on_model_switch)
      await this.compact({ trigger: 'model_switch', force: must }, signal)
  }

  /** Restarts the conversation with its memory and `texts`. */
  async reset(trigger: ResetTrigger, texts: readonly string[]): Promise<void> {
    await resetContext(this.thread, this, trigger, texts)
    this.shownFolders.clear()
  }

  /** Adds the instructions of the folders that the calls of a step used, once each. */
  async showNested(calls: readonly CallPart[]): Promise<void> {
    const { thread } = this
    const { workspace, settings, state } = thread
    const changed = state.messages
      .at(-1)!
      .parts.flatMap((part) => (part.type === 'tool_result' ? (part.changed ?? []) : []))
    // The prompt contains those of the folder that the person started in.
    for (const folder of listStartFolders(workspace)) this.shownFolders.add(folder)
    for (const path of new Set([...calls.flatMap(listPaths), ...changed])) {
      const found = await readNestedInstructions(
        thread.kernel,
        workspace,
        settings.agent,
        toRelative(path, workspace.root),
        this.shownFolders,
      )
      const text = renderInstructions(found)
      // A resumed conversation may contain them already.
      const known =
        found.length === 0 ||
        state.messages.some((message) => message.origin === 'instructions' && messageText(message) === text)
      if (!known) await thread.inject(text, 'instructions')
    }
  }
}

/** Words of one command that are taken as paths. */
const MAX_WORDS = 20

/** Lists the paths in the parameters of a call, and the words of a command that look like paths. */
function listPaths({ input }: CallPart): string[] {
  const { path, paths, workdir, destination, command } = (input ?? {}) as Record<string, unknown>
  const named = [path, paths, workdir, destination].flat().filter((one) => typeof one === 'string')
  const words = [command].flat().flatMap((one) => (typeof one === 'string' ? one.split(/[\s'"|&;<>()`$=]+/) : []))
  const files = words.filter((word) => /^[^-].*(?:\/|\.\w+$)/.test(word) && !word.includes('..'))
  return [...named, ...new Set(files.slice(0, MAX_WORDS))]
}

const toRelative = (path: string, root: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path.replace(/^\.\//, '')
