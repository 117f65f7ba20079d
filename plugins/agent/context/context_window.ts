import { withoutValues } from '../../../core/base/index.js'
import type { CallPart, CompactTrigger, Fact, ResultPart, TokenBreakdown } from '../base/index.js'
import { noUsage, sizeOf, type Accepted } from '../model/index.js'
import { envelopeOf, sessionsFolder, textOf } from '../session/index.js'
import type { Thread } from '../thread.js'
import { clearable, clearedText } from './clearing.js'
import { compact } from './compaction.js'
import { nestedInstructions, shownAs } from './instructions.js'
import { roomOf, type Room } from './token_budget.js'

/** What the model is told at a time: how large it is, what leaves it and what joins it. */
export class LiveContext {
  /** The last shortening won little. */
  vain = false
  /** Folders whose instructions were shown. */
  private readonly shown = new Set<string>()
  /** What the server counted when it last answered, and how many messages that were. */
  private counted: { tokens: number; messages: number } | undefined
  /** What the model's window turned out to be at most. */
  private lowered = Infinity
  /** What the server said of the last answer. */
  private usage = noUsage
  private recovered = false

  constructor(private readonly thread: Thread) {}

  get room(): Room {
    return roomOf(this.thread.line.model, this.thread.settings, this.lowered)
  }

  /** What the next request would take, in tokens: what the server counted, and about what came since. */
  get size(): number {
    const { state, segments } = this.thread
    if (this.counted) return this.counted.tokens + sizeOf(state.messages.slice(this.counted.messages))
    return segments.weight + sizeOf(state.messages)
  }

  /** Notes what the server counted for an answer that is about to join the conversation. */
  answered({ counted, usage }: Accepted): void {
    this.usage = usage
    this.counted = counted === undefined ? undefined : { tokens: counted, messages: this.thread.state.messages.length + 1 }
  }
  /** What the turn that begins is made of. */
  async breakdown(): Promise<TokenBreakdown> {
    const { system, written, tools } = (await this.thread.segments.next()).weight
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

  /** Shortens the conversation where it is about to be too long; before the first step of a turn a little earlier. */
  async makeRoom(first: boolean, signal: AbortSignal): Promise<void> {
    if (first) {
      this.recovered = false
      await this.thread.segments.renew()
    }
    await this.clearOld()
    if (!this.thread.settings.harness.auto_compaction_enabled) return
    await this.thread.segments.current()
    const { soft, hard } = this.room
    const { size } = this
    if (size >= (first ? soft : hard)) await this.compact('auto', signal, { must: size >= hard })
  }

  /** Shortens the conversation now; `false` when there is nothing to win. */
  async compact(trigger: CompactTrigger, signal: AbortSignal, how: { focus?: string; must?: boolean } = {}): Promise<boolean> {
    const done = await compact(this.thread, trigger, signal, how)
    // What was shown to the model may have left with the rest.
    if (done) this.shown.clear()
    return done
  }

  /** The server found the conversation too long: a window that was only assumed is smaller. One try with less, once a turn. */
  async recover(signal: AbortSignal): Promise<boolean> {
    if (this.recovered) return false
    this.recovered = true
    if (this.thread.line.model.sources['context_window'] === 'assumed') this.lowered = Math.floor(0.8 * this.size)
    return this.compact('recovery', signal, { must: true })
  }

  /** Another model goes on: its window may be smaller. */
  async switched(signal: AbortSignal): Promise<void> {
    this.counted = undefined
    this.lowered = Infinity
    const must = this.size > this.room.hard
    if (must || this.thread.settings.harness.compact_on_model_switch) await this.compact('model_switch', signal, { must })
  }

  /** Takes old results out of the conversation when it has grown long; each is written down first. */
  private async clearOld(): Promise<void> {
    const { thread } = this
    const how = thread.settings.harness.tool_result_clearing
    const old = clearable(thread.state, how)
    if (old.length === 0) return
    const texts: Record<string, string> = {}
    for (const [result, call] of old) texts[result.call_id] = clearedText(result, call, await this.keepResult(result))
    await thread.commit({ kind: 'cleared', texts, ...(how.clear_tool_inputs && { inputs: true }) })
    await thread.harness('context_cleared', { message: `${old.length} old results left the conversation.` })
  }

  /** Where the whole text of a result lies, written there unless it lies somewhere. */
  keepResult = ({ call_id, spool_path, text }: ResultPart): Promise<string> => (spool_path === undefined ? this.keepText(call_id, text) : Promise.resolve(spool_path))

  async keepText(label: string, text: string): Promise<string> {
    const name = `results/${label}.txt`
    await this.thread.store.write(name, withoutValues(text))
    return `${sessionsFolder}/${this.thread.session_id}/${name}`
  }

  /** What is written for agents in the folders that the calls of a step went to, once each. */
  async showNested(calls: readonly CallPart[]): Promise<void> {
    const { thread } = this
    const { workspace, settings, state } = thread
    const changed = state.messages.at(-1)!.parts.flatMap((part) => (part.type === 'tool_result' ? (part.changed ?? []) : []))
    for (const path of new Set([...calls.flatMap(namedBy), ...changed])) {
      const found = await nestedInstructions(workspace, settings.agent, relative(path, workspace.root), this.shown)
      const text = shownAs(found)
      // A thread that was taken up again has been told.
      const known = found.length === 0 || state.messages.some((message) => message.origin === 'instructions' && textOf(message) === text)
      if (!known) await thread.commit({ kind: 'message', message: { role: 'user', parts: [{ type: 'text', text }], origin: 'instructions' } })
    }
  }

  /** Writes down what the session remembers of itself. */
  async saveMemory(archive?: string): Promise<void> {
    const { state, session_id, queue, providers, store, settings } = this.thread
    const text = withoutValues(JSON.stringify(envelopeOf(state, session_id, queue.pending, providers.clock.now())))
    await store.write('memory.json', text)
    if (archive !== undefined && settings.context.dynamic.persist_history) await store.archive(archive, text)
  }
}

/** The paths that a call names, in whatever words its tool has for them. */
function namedBy({ input }: CallPart): string[] {
  const { path, paths, workdir, destination } = (input ?? {}) as Record<string, unknown>
  return [path, paths, workdir, destination].flat().filter((one) => typeof one === 'string')
}

const relative = (path: string, root: string): string => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path.replace(/^\.\//, ''))
