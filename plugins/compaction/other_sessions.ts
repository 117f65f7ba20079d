import type { Call, Compactor, Context, Notice } from '../../core/index.js'
import { visibleLine } from '../../core/index.js'
import { PresentSessions, type Presence } from '../lib/state/index.js'

/** Surfaces whose sessions end with one call, or belong to a session that is named itself. */
const UNNAMED = new Set(['call', 'tour', 'verify', 'subagent'])

/** Names of one answer. */
const MAX_NAMED = 5

/** Names the sessions of other processes in the same folder, each once, beginning with the first call. */
const other_sessions: Compactor = (result, call, context) => {
  // A failure ends with the next call; the next success has room for the names.
  if (!result.ok || UNNAMED.has(call.caller.surface) || call.caller.depth > 0) return result
  const others = listOthers(call, context)
  return others.length === 0 ? result : { ...result, notices: [...(result.notices ?? []), createNotice(others)] }
}
export default other_sessions

interface Seen {
  sessions?: PresentSessions
  /** Sessions that this one was given the names of. */
  named: Set<string>
}

/** Returns the sessions to name now. Without a usable home there are none: the call itself has succeeded. */
function listOthers({ caller: { surface }, session: id, at }: Call, { session, workspace, host }: Context): Presence[] {
  const seen = session.state<Seen>('other_sessions', () => ({ named: new Set([id]) }))
  try {
    if (!seen.sessions) {
      seen.sessions = PresentSessions.open(workspace.root, host.home)
      session.onClose(seen.sessions.add(id, surface, at))
    }
    // Sessions of one process are parts of one program, or requests of one client.
    const isOther = (one: Presence) => !seen.named.has(one.session) && one.pid !== process.pid
    const others = seen.sessions.list().filter(isOther)
    for (const one of others) seen.named.add(one.session)
    return others
  } catch {
    return []
  }
}

function createNotice(others: Presence[]): Notice {
  const names = others.slice(0, MAX_NAMED).map(formatPresence).join('; ')
  const rest = others.length > MAX_NAMED ? `; and ${others.length - MAX_NAMED} more` : ''
  return {
    code: 'VT_SESSION_OTHERS',
    message:
      `Other sessions work in this folder too: ${names}${rest}. Files can change between two calls. ` +
      'Each session reverts its own changes.',
  }
}

const formatPresence = ({ session, surface, pid, since }: Presence): string =>
  `${visibleLine(session)} (${visibleLine(surface)}, process ${pid}, since ${formatMinute(since)})`

const formatMinute = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
