import { version } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import type { OutcomeCode } from '../base/index.js'
import type { Conversation } from './conversation.js'
import { isSessionLocked } from './lock.js'

export type ForkMode = 'full_copy' | 'summarized'
/** The `manifest.json` of a session, which `sessions list` shows. */
export interface SessionManifest {
  v: 1
  session_id: string
  thread_id: string
  workspace: string
  model: string
  mode: string
  created_at: string
  updated_at: string
  /** `completed` if the last run succeeded. Every session but an active one can continue. */
  status: 'active' | 'idle' | 'completed' | 'interrupted'
  /** The outcome of the last run; absent before the first one. */
  outcome?: OutcomeCode
  turn_count: number
  step_count: number
  event_count: number
  title?: string
  /** The parent of a fork or of a delegated agent. */
  parent_session_id?: string
  parent_thread_id?: string
  fork_mode?: ForkMode
  no_export?: true
  first_prompt: string
  /** The cost of all runs in USD; `null` if a price was unknown. */
  total_cost_usd: number | null
  vtcode_version: string
}

/** Creates the manifest of the present state; `before` is the last one. */
export function createManifest(
  { providers, session_id, thread_id, kernel, connection, state, events }: Conversation,
  { status, outcome }: { status: SessionManifest['status']; outcome: OutcomeCode | undefined },
  before: SessionManifest | undefined,
): SessionManifest {
  const now = new Date(providers.clock.now()).toISOString()
  return {
    v: 1,
    session_id,
    thread_id,
    workspace: kernel.workspace,
    model: connection.model.id,
    mode: kernel.inspection.resolveMode(state.mode),
    created_at: before?.created_at ?? now,
    updated_at: now,
    status,
    ...(outcome !== undefined && { outcome }),
    turn_count: state.turn,
    step_count: state.steps,
    event_count: events.count,
    ...keepFixedFields(before),
    first_prompt: redactText(state.first_prompt).slice(0, 160),
    total_cost_usd: state.cost,
    vtcode_version: version,
  }
}

/** Creates the first manifest of a session that does a delegated part of the work. */
export function createPartManifest(
  { providers, session_id, thread_id, kernel, connection }: Conversation,
  part: { session_id: string; thread_id: string },
): SessionManifest {
  const now = new Date(providers.clock.now()).toISOString()
  return {
    v: 1,
    session_id: part.session_id,
    thread_id: part.thread_id,
    workspace: kernel.workspace,
    model: connection.model.id,
    mode: 'plan',
    created_at: now,
    updated_at: now,
    status: 'active',
    turn_count: 0,
    step_count: 0,
    event_count: 0,
    parent_session_id: session_id,
    parent_thread_id: thread_id,
    first_prompt: '',
    total_cost_usd: 0,
    vtcode_version: version,
  }
}

/** Keeps the fields that no run changes. */
function keepFixedFields({
  title,
  parent_session_id,
  parent_thread_id,
  fork_mode,
  no_export,
}: Partial<SessionManifest> = {}): Partial<SessionManifest> {
  const all = { title, parent_session_id, parent_thread_id, fork_mode, no_export }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** Lists the sessions of a workspace, the most recently used first. */
export async function listSessions(workspace: Workspace): Promise<SessionManifest[]> {
  const found: SessionManifest[] = []
  for (const { name, kind } of await workspace.listNames(CALLS_FOLDER).catch(() => [])) {
    if (kind !== 'directory') continue
    const text = await workspace.readText(`${CALLS_FOLDER}/${name}/manifest.json`).catch(() => undefined)
    const manifest = text === undefined ? undefined : parseManifest(text)
    if (manifest?.session_id !== name) continue
    // The process died before it could write the end.
    const interrupted = manifest.status === 'active' && !(await isSessionLocked(workspace, `${CALLS_FOLDER}/${name}`))
    found.push(interrupted ? { ...manifest, status: 'interrupted' } : manifest)
  }
  return found.sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
}

/** Parses a manifest; `undefined` for any other text, since a repository may contain anything. */
export function parseManifest(text: string): SessionManifest | undefined {
  try {
    const one = JSON.parse(text) as SessionManifest | null
    return one !== null &&
      needed.every((key) => typeof one[key] === 'string') &&
      ['string', 'undefined'].includes(typeof one.title)
      ? one
      : undefined
  } catch {
    return undefined
  }
}
const needed = ['session_id', 'updated_at', 'status', 'first_prompt'] as const
