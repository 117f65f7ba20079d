import type { JsonObject, Result } from '../../../core/shapes/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import type { ChatSession } from './chat_session.js'

/** Makes a call for the person in the session of the chat. Policies and approvals apply; no model sees the result. */
export const callAsUser = (
  { kernel, agent }: Pick<ChatSession, 'kernel' | 'agent'>,
  tool: string,
  input: JsonObject,
  how: CallOptions = {},
): Promise<Result> => kernel.call(tool, input, { session: agent.session_id, surface: 'chat', mode: agent.mode, ...how })
