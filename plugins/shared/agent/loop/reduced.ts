import type { Line, Request } from '../model/ask.js'
import { reducedTools } from '../model/outgoing.js'
import type { Thread } from '../thread.js'

const told = new WeakSet<Line>()

/** A word, once for a model, about tools whose schemas its format cannot carry as they are. */
export async function sayReduced(thread: Thread, tools: Request['tools']): Promise<void> {
  const { line } = thread
  if (told.has(line)) return
  told.add(line)
  const names = reducedTools(line.model, tools)
  if (names.length === 0) return
  await thread.harness('schema_reduced', { message: `${line.model.id} is told of these tools in a simpler form: ${names.join(', ')}.`, data: { code: 'VT_LLM_SCHEMA_REDUCED', tools: names } })
}
