import { version, type Workspace } from '../../../../core/index.js'
import { withoutValues } from '../../redact.js'
import type { Thread } from '../thread.js'
import { sessionsFolder } from './store.js'

/** What `sessions list` shows; `manifest.json` of each session. */
export interface SessionManifest {
  v: 1
  session_id: string
  thread_id: string
  workspace: string
  model: string
  mode: string
  created_at: string
  updated_at: string
  status: 'active' | 'idle' | 'interrupted'
  turn_count: number
  step_count: number
  event_count: number
  title?: string
  first_prompt: string
  vtcode_version: string
}

/** The manifest of a session as it is now; `text` is the one before. */
export function manifestOf({ providers, session_id, thread_id, kernel, line, state, events }: Thread, status: SessionManifest['status'], text: string | undefined): SessionManifest {
  const now = new Date(providers.clock.now()).toISOString()
  const before = text === undefined ? undefined : asManifest(text)
  return {
    v: 1,
    session_id,
    thread_id,
    workspace: kernel.workspace,
    model: line.model.id,
    mode: kernel.settings.policy.mode,
    created_at: before?.created_at ?? now,
    updated_at: now,
    status,
    turn_count: state.turn,
    step_count: state.steps,
    event_count: events.count,
    ...(before?.title !== undefined && { title: before.title }),
    first_prompt: withoutValues(state.first_prompt.slice(0, 160)),
    vtcode_version: version,
  }
}

/** The sessions of a workspace, the one used last first. */
export async function listSessions(workspace: Workspace): Promise<SessionManifest[]> {
  const found: SessionManifest[] = []
  for (const { name, kind } of await workspace.names(sessionsFolder).catch(() => [])) {
    if (kind !== 'directory') continue
    const text = await workspace.text(`${sessionsFolder}/${name}/manifest.json`).catch(() => undefined)
    const manifest = text === undefined ? undefined : asManifest(text)
    if (manifest?.session_id === name) found.push(manifest)
  }
  return found.sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
}

function asManifest(text: string): SessionManifest | undefined {
  try {
    return JSON.parse(text) as SessionManifest
  } catch {
    return undefined
  }
}
