import { block, redactValues } from '../../../core/text/index.js'
import { AgentError, resolveCalls, type CompactTrigger, type Msg, type Summary } from '../base/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { connect, estimateMessages, type ModelConnection, type ModelRequest } from '../model/index.js'
import {
  toSummary,
  listCalls,
  createMemoryEnvelope,
  listImages,
  mergeSummaries,
  messageText,
  createPlainSummary,
  saveMemory,
  redactMessage,
  renderMemory,
  renderSummary,
  summaryPrompt,
  summarySchema,
  renderTranscript,
} from '../session/index.js'
import { askForData } from './ask_for_data.js'
import { saveResult, saveText } from './clearing.js'
import { dedupe } from './dedupe.js'
import type { Segments } from './segment.js'
import type { TokenBudget } from './token_budget.js'

const MAX_TOKENS = { tail: 20_000, retained: 20_000, summary: 4096 }
const MIN_MESSAGES = 10
/** A compaction that saves a smaller share is ineffective. */
const MIN_SAVED_SHARE = 0.2

/** The parts of the context window that compaction uses. */
export interface Compactable {
  readonly segments: Segments
  readonly budget: TokenBudget
  /** In tokens. */
  readonly size: number
  /** `true` if the last compaction saved little. */
  ineffective: boolean
  request(): Promise<ModelRequest>
}
export interface CompactOptions {
  trigger: CompactTrigger
  /** The most important subject for the summary. */
  focus?: string
  /** Compacts a short conversation too, and ignores hooks. */
  force?: boolean
}

/**
 * Shortens a conversation. It is archived and repeated reads are removed. The memory of the session, a summary and
 * the latest user messages replace the old part; the newest groups stay unchanged. Returns `false` if nothing can be
 * saved. Throws VT_CONTEXT_STUCK after two ineffective compactions in a row, unless a person requested this one.
 */
export async function compact(
  thread: PaidConversation,
  context: Compactable,
  { trigger, focus, force = false }: CompactOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { state, session_id, events } = thread
  if (!force && state.messages.length < MIN_MESSAGES) return false
  if (!(await thread.lifecycle.canCompact(trigger, signal)) && !force) return false
  await context.segments.current()
  const tokens_before = context.size
  const original_message_count = state.messages.length
  const previous = state.segment
  // The tail is sent again with every request, so a small window keeps less of it and relies on the summary.
  const tail = Math.min(MAX_TOKENS.tail, context.budget.hard / 6, tokens_before / 2)
  const history_path = await archiveHistory(thread)
  const { texts, reads } = dedupe(state.messages, await resolveCalls(thread.kernel, listCalls(state.messages)))
  if (Object.keys(texts).length > 0) await thread.commit({ kind: 'cleared', texts })
  await shrinkLastResults(thread, tail)
  const keep_from = findTailStart(state.messages, tail)
  if (keep_from === 0) return reads > 0
  const old = state.messages.slice(0, keep_from)
  const summary = await summarise(thread, old, { context, focus, refused: trigger === 'recovery' }, signal)
  const words = state.messages.filter(
    ({ role, origin }) => role === 'user' && origin !== 'harness' && origin !== 'instructions',
  )
  const latest = words.slice(-thread.settings.context.dynamic.retained_user_messages)
  const retained = await trimMessages(
    latest.filter((message) => old.includes(message)),
    Math.min(MAX_TOKENS.retained, context.budget.hard / 4),
    (text) => saveText(thread, `input-${state.turn}`, text),
  )
  const after = { ...state, summary: mergeSummaries(state.summary, summary), history_path }
  const memory = createMemoryEnvelope(
    after,
    session_id,
    thread.queue.pending,
    thread.providers.clock.now(),
    thread.collectMemory(),
  )
  const remembered = [renderMemory(memory), renderSummary(after.summary)]
  await thread.commit({
    kind: 'compaction',
    keep_from,
    inserted: [...remembered.map(createHarnessMessage), ...retained],
    history_path,
    summary,
  })
  for (const text of remembered)
    await events.emitItem({ id: thread.newId('it'), type: 'user_message', text, origin: 'harness' })
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
  const ineffective = (tokens_before - tokens_after) / tokens_before < MIN_SAVED_SHARE
  if (ineffective && context.ineffective && trigger !== 'manual')
    throw new AgentError(
      'VT_CONTEXT_STUCK',
      `Two compactions saved less than ${MIN_SAVED_SHARE * 100} % each; ` +
        `the conversation still has ${tokens_after} tokens.`,
    )
  context.ineffective = ineffective
  await thread.lifecycle.handleCompaction(trigger, signal)
  return true
}

const createHarnessMessage = (text: string): Msg => ({
  role: 'user',
  parts: [{ type: 'text', text }],
  origin: 'harness',
})

/** Archives the conversation; returns the path. If histories are off, returns the path of the journal. */
export async function archiveHistory({ store, state, session_id, settings }: PaidConversation): Promise<string> {
  if (!settings.context.dynamic.persist_history) return `.vtcode/sessions/${session_id}/messages.jsonl`
  return store.archive(
    `${session_id}_${state.compactions + 1}.jsonl`,
    redactValues(state.messages.map((message) => `${JSON.stringify(redactMessage(message))}\n`).join('')),
  )
}

/**
 * Returns the index of the first message of the newest groups that fit. Calls and their results stay together. The
 * last group always stays, unless it is a user message that does not fit.
 */
function findTailStart(messages: readonly Msg[], room: number): number {
  let start = messages.length
  let left = room
  for (let end = messages.length; end > 0;) {
    let from = end - 1
    while (from > 0 && messages[from]!.role === 'tool') from -= 1
    left -= estimateMessages(messages.slice(from, end))
    if (left < 0 && (start < messages.length || messages[from]!.role === 'user')) break
    start = end = from
    if (left < 0) break
  }
  return start
}

/** Shortens the large results of a last group that does not fit; the whole texts are saved to files. */
async function shrinkLastResults(thread: PaidConversation, room: number): Promise<void> {
  const last = thread.state.messages.at(-1)
  if (last?.role !== 'tool' || estimateMessages([last]) <= room) return
  const share = Math.floor((room * 2) / last.parts.length)
  const texts: Record<string, string> = {}
  for (const part of last.parts) {
    if (part.type !== 'tool_result' || part.text.length <= share) continue
    texts[part.call_id] = part.text.slice(0, share) + formatCut(part.text, await saveResult(thread, part))
  }
  if (Object.keys(texts).length > 0) await thread.commit({ kind: 'cleared', texts })
}

const formatCut = (text: string, path: string): string =>
  `\n… cut here: ${Buffer.byteLength(text)} bytes, full text in ${path}`

/** Returns the latest messages that fit; a longer one is cut, and `keep` saves its whole text and returns the path. */
async function trimMessages(
  messages: readonly Msg[],
  room: number,
  keep: (text: string) => Promise<string>,
): Promise<Msg[]> {
  const kept: Msg[] = []
  let left = room
  for (const message of [...messages].reverse()) {
    if (left <= 0) break
    const size = estimateMessages([message])
    if (size <= left) kept.unshift(message)
    else {
      const text = messageText(message)
      kept.unshift({
        ...message,
        parts: [
          {
            type: 'text',
            text: text.slice(0, left * 2) + formatCut(text, await keep(text)),
          },
        ],
      })
    }
    left -= size
  }
  return kept
}

/**
 * Summarises the old part with a model. Without a usable answer the summary is a plain one, so that compaction never
 * fails a turn. The model of the thread continues its own conversation, which its server has cached. Another model,
 * or one that rejected the length, reads a transcript.
 */
async function summarise(
  thread: PaidConversation,
  old: readonly Msg[],
  { context, focus, refused }: { context: Compactable; focus: string | undefined; refused: boolean },
  signal: AbortSignal,
): Promise<Summary> {
  const plain = () => createPlainSummary(old, thread.state.summary)
  try {
    const connection = await connectSummariser(thread)
    const window = connection.model.facts.context_window ?? context.budget.window
    const images = new Map(listImages(old).map(({ sha256 }) => [sha256, { why: 'not sent again' }]))
    const after = { ...(await context.request()), messages: old, images }
    const request = { connection, system: summaryPrompt, schema: summarySchema, max_output_tokens: MAX_TOKENS.summary }
    const continuesThread =
      !refused &&
      connection.model.id === thread.connection.model.id &&
      after.weight.system + after.weight.tools + estimateMessages(old) + 2 * MAX_TOKENS.summary < window
    const record = continuesThread
      ? 'The record is everything above this.'
      : block('record', renderTranscript(old, Math.max(0, window - MAX_TOKENS.summary) * 2))
    const task = `${focus ? `Keep above all what concerns: ${focus}\n\n` : ''}${record}`
    const answer = await askForData(thread, { ...request, task, ...(continuesThread && { after }) }, signal)
    return answer ? toSummary(answer) : plain()
  } catch (error) {
    if (signal.aborted || (error instanceof AgentError && error.code === 'VT_SESSION_WRITE')) throw error
    return plain()
  }
}

/** Connects the small model, or the model of the thread, with few retries. */
async function connectSummariser({
  kernel,
  providers,
  settings,
  connection,
}: PaidConversation): Promise<ModelConnection> {
  const { small_model } = settings.agent
  const chosen =
    small_model === undefined || small_model === connection.model.id
      ? connection
      : await connect(kernel, small_model, providers)
  return { ...chosen, model: { ...chosen.model, entry: { ...chosen.model.entry, retries: { request: 1, stream: 1 } } } }
}
