import { ok, type Handler } from '../../core/index.js'
import { callsOf } from '../lib/state/index.js'

/** The record of the calls of this session, one JSON document a line. */
export default (async (_, context) => {
  const calls = callsOf(context)
  const entries = await calls.entries()
  return ok({ path: calls.path }, { text: entries.map((entry) => `${JSON.stringify(entry)}\n`).join('') })
}) satisfies Handler
