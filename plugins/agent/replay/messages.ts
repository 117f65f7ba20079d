import { isObject } from '../../../core/shapes/index.js'
import { cutToDifference, findNearestText, type Difference } from './difference.js'
import type { Recording } from './recording.js'

/** Names a message in canonical form by its role, and its calls or results. */
export function nameMessage(message: string): string {
  const { role, content } = JSON.parse(message) as { role: string; content: unknown }
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  const named = parts.flatMap(({ type, toolName }) =>
    typeof toolName === 'string' ? [`${type === 'tool-result' ? 'result of' : 'call of'} ${toolName}`] : [],
  )
  return [role === 'user' ? 'input' : role === 'assistant' ? 'answer' : 'results', ...named].join(', ')
}

/** Finds the recorded text that is nearest to a message, in the events of the session, and shows both sides. */
export async function readNearest(
  { read }: Recording,
  message: string,
): Promise<Pick<Difference, 'recorded' | 'present'> | undefined> {
  const known = listEventTexts((await read('events.jsonl')) ?? '')
  const { content } = JSON.parse(message) as { content: unknown }
  const texts = (Array.isArray(content) ? content.filter(isObject) : []).flatMap(readTexts)
  const changed = texts.find((text) => !known.has(text)) ?? texts[0]
  const nearest = changed === undefined ? undefined : findNearestText(changed, known)
  return changed === undefined || nearest === undefined || nearest === changed
    ? undefined
    : cutToDifference(nearest, changed)
}

/** Returns the texts of a part: words, the output of a result, the arguments of a call. */
function readTexts(part: Record<string, unknown>): string[] {
  if (typeof part['text'] === 'string') return [part['text']]
  const { output, input } = part as { output?: { value?: unknown }; input?: unknown }
  if (typeof output?.value === 'string') return [output.value]
  return input === undefined ? [] : [JSON.stringify(input)]
}

/** Lists the texts that the events of a session show. */
function listEventTexts(log: string): ReadonlySet<string> {
  const texts = new Set<string>()
  for (const line of log.split('\n')) {
    const item = parseItem(line)
    if (!item) continue
    for (const text of [item['text'], item['output']]) if (typeof text === 'string') texts.add(text)
    if (item['arguments'] !== undefined) texts.add(JSON.stringify(item['arguments']))
  }
  return texts
}

function parseItem(line: string): Record<string, unknown> | undefined {
  try {
    const { event } = JSON.parse(line) as { event?: { item?: unknown } }
    return isObject(event?.item) ? event.item : undefined
  } catch {
    return undefined
  }
}
