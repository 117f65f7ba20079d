import { ok, type Handler, type JsonObject } from '../../core/index.js'
import { pluralize as counted } from '../lib/base/index.js'
import { openCallLog, readCallRecords, type CallRecord } from '../lib/state/index.js'

interface Input {
  scope: 'all' | 'current' | 'archive'
  max_results: number
}
interface FailedCall {
  time: string
  session: string
  tool: string
  action?: string
  code: string
  message: string
  input?: JsonObject
  count: number
}

/** Lists failed calls of this session and of earlier ones, newest first, from the record of calls. */
export default (async (call, context) => {
  const { scope, max_results } = call.input
  await openCallLog(context).flush()
  const entries: CallRecord[] = []
  let archive_available = false
  for await (const entry of readCallRecords(context.workspace)) {
    const current = entry.session === context.session.id
    archive_available ||= !current
    // A failure inside another call was handled there.
    if (entry.ok || entry.depth > 0 || (scope !== 'all' && current !== (scope === 'current'))) continue
    entries.push(entry)
  }
  entries.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
  const all = foldRepeated(entries)
  const errors = all.slice(0, max_results)
  const lines = errors.map(
    ({ time, tool, action, code, message, count }) =>
      `${time} ${tool}${action ? ` ${action}` : ''} ${code}${count > 1 ? ` ×${count}` : ''}: ${message}`,
  )
  return ok(
    { scope, errors, total: all.length, truncated: errors.length < all.length, archive_available },
    { text: [...lines, counted(all.length, 'error')].join('\n') },
  )
}) satisfies Handler<Input>

/** Folds identical failures in a row into one, with the time of the latest. */
function foldRepeated(entries: CallRecord[]): FailedCall[] {
  const all: FailedCall[] = []
  for (const entry of entries) {
    const { time, session, code = '', message = '', input } = entry
    const [tool = '', action] = entry.slot.split('/')
    const failed = {
      time,
      session,
      tool,
      ...(action !== undefined && { action }),
      code,
      message,
      ...(input && { input }),
      count: 1,
    }
    const last = all.at(-1)
    if (last && isSameFailure(last, failed)) last.count++
    else all.push(failed)
  }
  return all
}

const isSameFailure = (a: FailedCall, b: FailedCall): boolean => toKey(a) === toKey(b)
const toKey = ({ session, tool, action, code, message, input }: FailedCall): string =>
  JSON.stringify([session, tool, action, code, message, input])
