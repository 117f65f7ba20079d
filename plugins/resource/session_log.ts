import { ok, type Handler } from '../../core/index.js'
import { openCallLog } from '../lib/state/index.js'

/** Returns the record of the calls of this session, one JSON document a line. */
export default (async (_, context) => {
  const calls = openCallLog(context)
  const entries = await calls.list()
  return ok({ path: calls.path }, { text: entries.map((entry) => `${JSON.stringify(entry)}\n`).join('') })
}) satisfies Handler
