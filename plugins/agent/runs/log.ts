import type { LoggedEvent } from './run_reducer.js'

/** What was wrong with a log; it is read all the same. */
export interface LogFaults {
  /** Lines that are no events. The last one may have been cut. */
  damaged: number
  /** The last line has no end. */
  torn: boolean
  /** The newest `schema_version` of a line, where that is not ours. */
  newer?: string
}
const known = '1.0.0'
/** Bytes of a line at most: no event of ours comes near it. */
const longest = 256 * 1024 * 1024

/**
 * The events of a log by stream: bare ones as `vtcode exec --json` prints them, or wrapped as files have them. What is no event is counted in
 * `faults` and left out, so a log that was cut in the middle of a line still says all that is whole.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>, faults: LogFaults): AsyncGenerator<LoggedEvent> {
  let rest: Uint8Array[] = []
  let length = 0
  const line = (last: Uint8Array): LoggedEvent | undefined => {
    const text = Buffer.concat([...rest, last]).toString()
    rest = []
    length = 0
    return text.trim() === '' ? undefined : parseEvent(text, faults)
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const event = line(chunk.subarray(from, end))
      if (event) yield event
      from = end + 1
    }
    const left = chunk.subarray(from)
    // What is not whole is copied: who reads may use the chunk again.
    if (left.length > 0 && length < longest) rest.push(Uint8Array.from(left))
    length += left.length
  }
  if (length === 0) return
  faults.torn = true
  const event = line(new Uint8Array())
  if (event) yield event
}

function parseEvent(text: string, faults: LogFaults): LoggedEvent | undefined {
  try {
    const value = JSON.parse(text) as { schema_version?: unknown; event?: unknown; type?: unknown } | null
    const event = (value?.event ?? value) as Partial<LoggedEvent> | null
    if (typeof value?.schema_version === 'string' && value.schema_version !== known) faults.newer = value.schema_version
    if (isEvent(event)) return event
  } catch {
    // It is counted below.
  }
  faults.damaged += 1
  return undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Has what every reader needs of its type; everything else may be anything. */
function isEvent(event: unknown): event is LoggedEvent {
  if (!isObject(event) || typeof event['type'] !== 'string' || event['type'] === 'item.delta') return false
  if (typeof event['ts'] !== 'string' || Number.isNaN(Date.parse(event['ts']))) return false
  if (!event['type'].startsWith('item.')) return event['type'] !== 'step.completed' || isObject(event['usage'])
  const item = event['item']
  if (!isObject(item) || typeof item['type'] !== 'string') return false
  if (item['type'] === 'file_change') return Array.isArray(item['changes']) && item['changes'].every(isObject)
  return !textOf[item['type']] || typeof item[textOf[item['type']]!] === 'string'
}
const textOf: Record<string, string> = {
  agent_message: 'text',
  reasoning: 'text',
  plan: 'text',
  user_message: 'text',
  tool_output: 'output',
  tool_invocation: 'tool_name',
}
