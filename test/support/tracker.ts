import { hold } from './inside.js'
import { call, eventsOf, home, startPeer, vtcode, type Answer } from './peer.js'

export const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
export const track = (action: string, input: object = {}) => call('task_tracker', { action, ...input })
export const done: Answer = { content: 'Done.' }

export async function exec(
  script: Answer[],
  flags: string[] = [],
  how: { settings?: object; files?: Record<string, string> } = {},
) {
  const peer = hold(await startPeer(script))
  const at = hold(await home(peer, how.files ?? {}, { settings: { agent: { model: 'peer/m' }, ...how.settings } }))
  const run = async (args: string[]) => {
    const { code, out, err } = await vtcode(at, args)
    const events = eventsOf(out)
    return {
      code,
      err,
      events,
      end: events.at(-1),
      outputs: events
        .filter(({ type, item }) => type === 'item.completed' && item.type === 'tool_output')
        .map(({ item }) => item.output),
    }
  }
  return { at, peer, run, first: await run(['exec', '--json', ...flags, 'go']) }
}
/** Settings of a run that does not continue by itself. */
export const off = { agent: { model: 'peer/m', harness: { continuation_policy: 'off' } } }
