import { block, withoutValues } from '../../../core/text/index.js'
import { AgentError, meaningsIn, type CompactTrigger, type Msg, type Summary } from '../base/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { connect, sizeOf, type ModelConnection, type ModelRequest } from '../model/index.js'
import {
  toSummary,
  listCalls,
  createMemoryEnvelope,
  listImages,
  mergeSummaries,
  messageText,
  createPlainSummary,
  saveMemory,
  renderMemory,
  renderSummary,
  summaryPrompt,
  summarySchema,
  renderTranscript,
} from '../session/index.js'
import { askFor } from './ask_for.js'
import { keepResult, keepText } from './clearing.js'
import { dedupe } from './dedupe.js'
import type { Segments } from './segment.js'
import type { TokenBudget } from './token_budget.js'

const most = { tail: 20_000, retained: 20_000, summary: 4096 }
const fewest = 10
/** Compaction that saves less than this share counts as vain. */
const worthwhile = 0.2

/** The context window of a conversation, as far as its compaction depends on it. */
export interface Compactable {
  readonly segments: Segments
  readonly budget: TokenBudget
  /** In tokens. */
  readonly size: number
  /** The last compaction won little. */
  vain: boolean
  request(): Promise<ModelRequest>
}
export interface CompactOptions {
  trigger: CompactTrigger
  /** What the summary keeps above all. */
  focus?: string
  /** Compacts a short conversation too, and whatever hooks say. */
  must?: boolean
}

/**
 * Shortens a conversation: it is archived, repeated reads are folded, what is old gives way to the memory of the session, a summary and
 * the last words of the user; the newest groups stay word for word. Returns `false` when there is nothing to win. Throws VT_CONTEXT_STUCK
 * the second time in a row that little was won, unless a person asked for it.
 */
export async function compact(
  thread: PaidConversation,
  context: Compactable,
  { trigger, focus, must = false }: CompactOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { state, session_id, events } = thread
  if (!must && state.messages.length < fewest) return false
  if (!(await thread.lifecycle.mayCompact(trigger, signal)) && !must) return false
  await context.segments.current()
  const tokens_before = context.size
  const original_message_count = state.messages.length
  const previous = state.segment
  // Each of it is sent anew, and again with every request: in a small window the summary carries more of the weight.
  const tail = Math.min(most.tail, context.budget.hard / 6, tokens_before / 2)
  const history_path = await archiveHistory(thread)
  const { texts, reads } = dedupe(state.messages, await meaningsIn(thread.kernel, listCalls(state.messages)))
  if (Object.keys(texts).length > 0) await thread.commit({ kind: 'cleared', texts })
  await shrink(thread, tail)
  const keep_from = startOfTail(state.messages, tail)
  if (keep_from === 0) return reads > 0
  const old = state.messages.slice(0, keep_from)
  const summary = await summarise(thread, old, { context, focus, refused: trigger === 'recovery' }, signal)
  const words = state.messages.filter(
    ({ role, origin }) => role === 'user' && origin !== 'harness' && origin !== 'instructions',
  )
  const latest = words.slice(-thread.settings.context.dynamic.retained_user_messages)
  const retained = await cutTo(
    latest.filter((message) => old.includes(message)),
    Math.min(most.retained, context.budget.hard / 4),
    (text) => keepText(thread, `input-${state.turn}`, text),
  )
  const after = { ...state, summary: mergeSummaries(state.summary, summary), history_path }
  const memory = createMemoryEnvelope(
    after,
    session_id,
    thread.queue.pending,
    thread.providers.clock.now(),
    thread.remembered(),
  )
  const remembered = [renderMemory(memory), renderSummary(after.summary)]
  await thread.commit({
    kind: 'compaction',
    keep_from,
    inserted: [...remembered.map(harness), ...retained],
    history_path,
    summary,
  })
  for (const text of remembered)
    await events.say({ id: thread.newId('it'), type: 'user_message', text, origin: 'harness' })
  await saveMemory(thread, `${session_id}_${state.compactions}.memory.json`)
  const segment = await context.segments.begin('compaction')
  const tokens_after = context.size
  await events.emit({
    type: 'thread.compact_boundary',
    trigger,
    mode: 'local',
    original_message_count,
    compacted_message_count: state.messages.length,
    history_artifact_path: history_path,
    ...(previous && {
      previous_segment_id: previous.segment_id,
      previous_prefix_hash: previous.prompt,
      previous_catalog_hash: previous.tools,
    }),
    new_segment_id: segment.id,
    new_prefix_hash: state.segment!.prompt,
    new_catalog_hash: state.segment!.tools,
    tokens_before,
    tokens_after,
    deduped_reads: reads,
  })
  const vain = (tokens_before - tokens_after) / tokens_before < worthwhile
  if (vain && context.vain && trigger !== 'manual')
    throw new AgentError(
      'VT_CONTEXT_STUCK',
      `Shortening the conversation twice won less than ${worthwhile * 100} % each time; it has ${tokens_after} tokens.`,
    )
  context.vain = vain
  await thread.lifecycle.compacted(trigger, signal)
  return true
}

const harness = (text: string): Msg => ({ role: 'user', parts: [{ type: 'text', text }], origin: 'harness' })

/** Writes the conversation down as it is; returns where. Without histories the journal has it. */
export async function archiveHistory({ store, state, session_id, settings }: PaidConversation): Promise<string> {
  if (!settings.context.dynamic.persist_history) return `.vtcode/sessions/${session_id}/messages.jsonl`
  return store.archive(
    `${session_id}_${state.compactions + 1}.jsonl`,
    withoutValues(state.messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
  )
}

/** The newest whole groups that fit, the last one in any case: calls and their results are never apart. Messages of the user that do not fit are not kept whole. */
function startOfTail(messages: readonly Msg[], room: number): number {
  let start = messages.length
  let left = room
  for (let end = messages.length; end > 0;) {
    let from = end - 1
    while (from > 0 && messages[from]!.role === 'tool') from -= 1
    left -= sizeOf(messages.slice(from, end))
    if (left < 0 && (start < messages.length || messages[from]!.role === 'user')) break
    start = end = from
    if (left < 0) break
  }
  return start
}

/** A last group that alone is too much keeps the beginning of each large result; the whole lies beside the journal. */
async function shrink(thread: PaidConversation, room: number): Promise<void> {
  const last = thread.state.messages.at(-1)
  if (last?.role !== 'tool' || sizeOf([last]) <= room) return
  const share = Math.floor((room * 2) / last.parts.length)
  const texts: Record<string, string> = {}
  for (const part of last.parts) {
    if (part.type !== 'tool_result' || part.text.length <= share) continue
    texts[part.call_id] =
      `${part.text.slice(0, share)}\n… cut here: ${Buffer.byteLength(part.text)} bytes, full text in ${await keepResult(thread, part)}`
  }
  if (Object.keys(texts).length > 0) await thread.commit({ kind: 'cleared', texts })
}

/** The latest messages, as many as fit; one that is too long keeps its beginning, and the whole lies where `keep` says. */
async function cutTo(messages: readonly Msg[], room: number, keep: (text: string) => Promise<string>): Promise<Msg[]> {
  const kept: Msg[] = []
  let left = room
  for (const message of [...messages].reverse()) {
    if (left <= 0) break
    const size = sizeOf([message])
    if (size <= left) kept.unshift(message)
    else {
      const text = messageText(message)
      kept.unshift({
        ...message,
        parts: [
          {
            type: 'text',
            text: `${text.slice(0, left * 2)}\n… cut here: ${Buffer.byteLength(text)} bytes, full text in ${await keep(text)}`,
          },
        ],
      })
    }
    left -= size
  }
  return kept
}

/**
 * The summary of the old part by a model, or without a usable answer a plain one: compaction never fails a turn. The thread's own model
 * is asked at the end of that part, which its server remembers; another one, and one that found it too long, reads a record.
 */
async function summarise(
  thread: PaidConversation,
  old: readonly Msg[],
  { context, focus, refused }: { context: Compactable; focus: string | undefined; refused: boolean },
  signal: AbortSignal,
): Promise<Summary> {
  const plain = () => createPlainSummary(old, thread.state.summary)
  try {
    const connection = await summariser(thread)
    const window = connection.model.facts.context_window ?? context.budget.window
    const images = new Map(listImages(old).map(({ sha256 }) => [sha256, { why: 'not sent again' }]))
    const after = { ...(await context.request()), messages: old, images }
    const asked = { connection, system: summaryPrompt, schema: summarySchema, max_output_tokens: most.summary }
    const goesOn =
      !refused &&
      connection.model.id === thread.connection.model.id &&
      after.weight.system + after.weight.tools + sizeOf(old) + 2 * most.summary < window
    const record = goesOn
      ? 'The record is all that stands above.'
      : block('record', renderTranscript(old, Math.max(0, window - most.summary) * 2))
    const task = `${focus ? `Keep above all what concerns: ${focus}\n\n` : ''}${record}`
    const answer = await askFor(thread, { ...asked, task, ...(goesOn && { after }) }, signal)
    return answer ? toSummary(answer) : plain()
  } catch (error) {
    if (signal.aborted || (error instanceof AgentError && error.code === 'VT_SESSION_WRITE')) throw error
    return plain()
  }
}

/** The small model, or the one of the thread; a summary is not worth many attempts. */
async function summariser({ kernel, providers, settings, connection }: PaidConversation): Promise<ModelConnection> {
  const { small_model } = settings.agent
  const chosen =
    small_model === undefined || small_model === connection.model.id
      ? connection
      : await connect(kernel, small_model, providers)
  return { ...chosen, model: { ...chosen.model, entry: { ...chosen.model.entry, retries: { request: 1, stream: 1 } } } }
}
