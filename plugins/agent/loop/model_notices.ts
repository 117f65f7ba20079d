import { reducedTools, type Line, type Request } from '../model/index.js'
import type { Thread } from '../thread.js'

const told = new WeakSet<Line>()

/** What a person should know of a model, once: how much it holds is a guess, or its format cannot carry the schemas of tools as they are. */
export async function remark(thread: Thread, tools: Request['tools']): Promise<void> {
  const { line } = thread
  const { id, facts, sources } = line.model
  if (told.has(line)) return
  told.add(line)
  if (sources['context_window'] === 'assumed') {
    const message = `How much ${id} can hold is not known; ${facts.context_window} tokens are assumed. Say context_window of the provider.`
    await thread.remark('VT_LLM_WINDOW_ASSUMED', message)
  }
  const names = reducedTools(line.model, tools)
  if (names.length > 0) {
    await thread.remark('VT_LLM_SCHEMA_REDUCED', `${id} is told of these tools in a simpler form: ${names.join(', ')}.`)
  }
}
