import { ok, type Handler } from '../../core/index.js'
import type { CommandSession } from './session/session.js'
import { getSessions } from './session/sessions.js'

const MAX_COMMAND_CHARS = 200

/** `unified_exec/list`: lists the commands of this session, oldest first. */
export default ((_, context) => {
  const sessions = getSessions(context).all().map(toRow)
  const text = sessions.map(({ session_id, command, running, exit_code, unread_bytes }) => {
    const state = running ? 'running' : `ended (${exit_code ?? 'by a signal'})`
    return `${session_id}  ${state}  ${unread_bytes} bytes unread  ${[command].flat().join(' ')}`
  })
  return ok({ sessions }, { text: text.length > 0 ? `${text.join('\n')}\n` : 'no sessions\n' })
}) satisfies Handler

function toRow({ facts, transport, running, exit, started_at, last_activity_at, unread_bytes }: CommandSession) {
  return {
    session_id: facts.id,
    command: typeof facts.command === 'string' ? truncateCommand(facts.command) : facts.command.map(truncateCommand),
    cwd: facts.cwd,
    backend: transport.backend,
    running,
    exit_code: running ? null : (exit?.exit_code ?? null),
    started_at: new Date(started_at).toISOString(),
    last_activity_at: new Date(last_activity_at).toISOString(),
    unread_bytes,
  }
}

function truncateCommand(text: string): string {
  const points = [...text]
  return points.length > MAX_COMMAND_CHARS ? `${points.slice(0, MAX_COMMAND_CHARS - 1).join('')}…` : text
}
