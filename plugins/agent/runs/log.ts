import { isThreadEvent } from '../../../core/schema/index.js'
import type { LoggedEvent } from './run_reducer.js'

/** Faults of a log, which is read in spite of them. */
export interface LogFaults {
  /** Lines that are no events. The last one may be torn. */
  damaged: number
  /** The last line has no line break. */
  torn: boolean
  /** The newest foreign `schema_version` of a line. */
  newer?: string
}
const known = '1.0.0'
/** The limit of a line in bytes; our events are far smaller. */
const longest = 256 * 1024 * 1024

/**
 * Reads the events of a log as a stream: bare as `vtcode exec --json` prints them, or wrapped as files have them. Other
 * lines are counted in `faults` and left out, so a torn log still yields its complete lines.
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
    // Incomplete bytes are copied: the caller may use the chunk again.
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
    // Counted below.
  }
  faults.damaged += 1
  return undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns whether a value is an event of a log, with the members and values that the published schema demands. */
const isEvent = (event: unknown): event is LoggedEvent =>
  isObject(event) &&
  event['type'] !== 'item.delta' &&
  !Number.isNaN(Date.parse(String(event['ts']))) &&
  isThreadEvent(event)
