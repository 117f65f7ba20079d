import type { JsonObject, Result } from '../../../core/shapes/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import type { Sitting } from './sitting.js'

/** A call that the person makes by hand, in the session of the conversation; rules and questions hold for it as for any other, and no model hears of it. */
export const personsCall = (
  { kernel, agent }: Pick<Sitting, 'kernel' | 'agent'>,
  tool: string,
  input: JsonObject,
  how: CallOptions = {},
): Promise<Result> => kernel.call(tool, input, { session: agent.session_id, surface: 'chat', mode: agent.mode, ...how })
