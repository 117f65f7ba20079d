import { block, redact, redactText } from '../../../core/text/index.js'
import type { GroundedFact, TaskMemory } from '../base/index.js'
import type { Conversation } from './conversation.js'
import { findConstraints, findFacts } from './findings.js'
import { messageText, type ConversationState } from './state.js'

/** The memory of a session, `manifests/schema/session_memory_envelope.1.json`. */
export interface SessionMemoryEnvelope {
  session_id: string
  schema_version: 3
  summary: string | null
  objective: string | null
  task_summary: string | null
  spec_summary: string | null
  evaluation_summary: string | null
  verification_summary: string | null
  constraints: string[]
  grounded_facts: GroundedFact[]
  touched_files: string[]
  open_questions: string[]
  verification_todo: string[]
  delegation_notes: string[]
  pending_intents: { id: string; text: string }[]
  applied_intent_ids: string[]
  history_artifact_path: string | null
  generated_at: string
}

// Lists keep their newest items; the list of pending checks keeps its first.
const most = 5
const mostFiles = 200

/** Creates the memory of a session from its journal state and its queue. */
export function createMemoryEnvelope(
  state: ConversationState,
  session_id: string,
  pending: readonly { id: string; text: string }[],
  now: number,
  task: TaskMemory = {},
): SessionMemoryEnvelope {
  // Redacted before it is cut: no later redaction knows a part of a secret.
  const { summary, first_prompt, touched, applied, history_path } = redact({ ...state, messages: [] })
  const known = redact(task)
  const { task_summary, spec_summary = null, evaluation_summary = null, verification_summary = null } = known
  const { constraints = [], grounded_facts = [], touched_files = [], open_questions = [] } = known
  const { verification_todo = [], delegation_notes = [] } = known
  const last = state.messages.findLast(
    ({ role, parts }) => role === 'assistant' && parts.some(({ type }) => type === 'text'),
  )
  const text = [summary.goal, ...summary.done, summary.critical_context].filter(Boolean).join('\n')
  return {
    session_id,
    schema_version: 3,
    summary: (text || (last ? redactText(messageText(last)) : '')).slice(0, 2000) || null,
    objective: first_prompt.slice(0, 500) || null,
    task_summary: (task_summary ?? [...summary.in_progress, ...summary.next_steps].join('\n')).slice(0, 1000) || null,
    spec_summary,
    evaluation_summary,
    verification_summary,
    constraints: [
      ...new Set([...constraints, ...summary.constraints, ...findConstraints(state.messages).slice(-most)]),
    ].slice(0, most),
    // Statements of models and agents have priority over results of calls.
    grounded_facts: [...findFacts(state.messages), ...summary.facts, ...grounded_facts].slice(-most),
    touched_files: [...new Set([...touched_files, ...touched])].slice(-mostFiles),
    open_questions: [...summary.open_questions, ...open_questions].slice(-most),
    verification_todo: verification_todo.slice(0, most),
    delegation_notes: delegation_notes.slice(-most),
    pending_intents: pending.map(({ id, text }) => ({ id, text: redactText(text) })),
    applied_intent_ids: applied,
    history_artifact_path: history_path ?? null,
    generated_at: new Date(now).toISOString(),
  }
}

/** Saves the memory of a session; `archive` is its file name in the history folder. */
export async function saveMemory(thread: Conversation, archive?: string): Promise<void> {
  const { state, session_id, queue, providers, store, settings } = thread
  const text = JSON.stringify(
    createMemoryEnvelope(state, session_id, queue.pending, providers.clock.now(), thread.collectMemory()),
  )
  await store.write('memory.json', text)
  if (archive !== undefined && settings.context.dynamic.persist_history) await store.archive(archive, text)
}

const longest = 2000

/** Renders the memory for a model: one message right after the prompt. */
export function renderMemory(memory: SessionMemoryEnvelope): string {
  const section = (title: string, body: string | null | readonly string[]) => {
    if (body === null || body.length === 0) return []
    return [
      `## ${title}`,
      ...(typeof body === 'string' ? [body.slice(0, longest)] : body.map((item) => `- ${item}`)),
      '',
    ]
  }
  const lines = [
    ...section('Summary', memory.summary),
    ...section('Objective', memory.objective),
    ...section('Task Tracker', memory.task_summary),
    ...section('Spec Summary', memory.spec_summary),
    ...section('Evaluation Summary', memory.evaluation_summary),
    ...section('Verification Status', memory.verification_summary),
    ...section('Constraints', memory.constraints),
    ...section('Touched Files', memory.touched_files),
    ...section(
      'Grounded Facts',
      memory.grounded_facts.map(({ fact, source }) => `${fact} (${source})`),
    ),
    ...section('Open Questions', memory.open_questions),
    ...section('Verification Todo', memory.verification_todo),
    ...section('Delegation Notes', memory.delegation_notes),
    ...section('History Artifact', memory.history_artifact_path),
  ]
  return block('session_memory', lines.join('\n').trim())
}
