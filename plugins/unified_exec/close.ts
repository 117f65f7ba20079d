import type { Handler } from '../../core/index.js'
import { deliver } from './session/delivery.js'
import { getSessions } from './session/sessions.js'

interface CloseInput {
  session_id: string
  signal: NodeJS.Signals
  grace_ms: number
  max_output_tokens?: number
}

/** `unified_exec/close`: ends a session with everything it started and returns its last output. */
export default (async ({ input }, context) => {
  const sessions = getSessions(context)
  const session = sessions.find(input.session_id)
  await session.stop(input.signal, input.grace_ms)
  const answer = await deliver(session, {
    max_output_tokens: input.max_output_tokens ?? context.settings.exec.max_output_tokens,
  })
  await sessions.forget(session)
  return answer
}) satisfies Handler<CloseInput>
