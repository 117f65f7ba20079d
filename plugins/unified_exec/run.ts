import type { Context, Handler } from '../../core/index.js'
import { deliver, reportProgress } from './session/delivery.js'
import { answerQueries } from './session/screen.js'
import { getSessions } from './session/sessions.js'
import { startCommand, type WantedRun } from './session/start.js'

interface RunInput {
  command: string | string[]
  args?: string[]
  workdir: string
  timeout_secs?: number
  yield_time_ms?: number
  background: boolean
  tty: boolean
  rows: number
  cols: number
  shell?: string
  login: boolean
  env?: Record<string, string>
  input?: string
  session_id?: string
  max_output_tokens?: number
  sandbox_permissions?: 'use_default' | 'sandbox_or_ask' | 'require_escalated'
}

/** `unified_exec/run`: starts a command and waits for its end, for a limited time, or until it waits for input. */
export default (async (call, context) => {
  const { input } = call
  const settings = context.settings.exec
  const wait = resolveWait(input)
  const session = await startCommand(context, call, toWantedRun(input, wait, context))
  const stop = reportProgress(session, context)
  if (input.tty) answerQueries(session)
  try {
    await session.wait(wait, context.signal)
  } catch (error) {
    await getSessions(context).forget(session)
    throw error
  } finally {
    stop()
  }
  // The default limit is for a program that works, not for the answer of a caller.
  if (session.input.awaited && input.timeout_secs === undefined)
    session.time.replace({ seconds: settings.idle_secs, since: 'call' })
  return deliver(session, { max_output_tokens: input.max_output_tokens ?? settings.max_output_tokens })
}) satisfies Handler<RunInput>

/** Returns the milliseconds after which the call returns while the command runs; nothing to wait for its end. */
function resolveWait({ yield_time_ms, background, tty }: RunInput): number | undefined {
  if (yield_time_ms !== undefined && yield_time_ms > 0) return yield_time_ms
  if (background) return 250
  return tty && yield_time_ms === undefined ? 10_000 : undefined
}

function toWantedRun(input: RunInput, wait: number | undefined, context: Context): WantedRun {
  const { default_timeout_secs, max_timeout_secs, idle_secs } = context.settings.exec
  const { command, args, workdir, background, tty, rows, cols, shell, login, env, session_id, timeout_secs } = input
  return {
    command,
    ...(args && { args }),
    workdir,
    background,
    login,
    ...(shell !== undefined && { shell }),
    ...(env && { env }),
    ...(session_id !== undefined && { session_id }),
    ...(tty && { tty: { rows, cols } }),
    stdin: input.input !== undefined ? { text: input.input } : wait === undefined && !tty ? 'empty' : 'open',
    escalated: input.sandbox_permissions === 'require_escalated',
    limit:
      wait !== undefined && timeout_secs === undefined
        ? { seconds: idle_secs, since: 'call' }
        : { seconds: Math.min(timeout_secs ?? default_timeout_secs, max_timeout_secs), since: 'start' },
  }
}
