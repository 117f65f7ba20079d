import { ok, type Handler } from '../../core/index.js'
import { callsOf } from '../lib/state/index.js'

/** The record of the calls of this session, one JSON document a line. */
export default (async (_, context) => {
  const calls = callsOf(context)
  await calls.flush()
  const text = await context.workspace.read(calls.path).then(String, () => '')
  return ok({ path: calls.path }, { text })
}) satisfies Handler
