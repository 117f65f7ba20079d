import { redactText } from '../../../core/text/index.js'
import type { CallPart, GroundedFact, MessageOrigin, Msg } from '../base/index.js'
import { messageText } from './state.js'

const LIMIT =
  /\b(?:never|always|only|must(?:n['’]t)?|do(?:es)? not|don['’]t|avoid|without|at (?:most|least)|instead of)\b/i
const OWN_ORIGINS: readonly (MessageOrigin | undefined)[] = [undefined, 'prompt', 'queue', 'parent']
const MAX_CHARS = 300

/** Returns the sentences of a person that limit the work, in their words, the latest last. */
export function findConstraints(messages: readonly Msg[]): string[] {
  const sentences = messages
    .filter(({ role, origin }) => role === 'user' && OWN_ORIGINS.includes(origin))
    .flatMap((message) => redactText(messageText(message)).split(/(?<=[.!?])\s+|\n+/))
    .map((sentence) => sentence.replace(/^[\s*-]+/, '').trim())
  return [...new Set(sentences)].filter(
    (sentence) => LIMIT.test(sentence) && sentence.length <= MAX_CHARS && !sentence.endsWith('?'),
  )
}

/** Actions whose last line states what they found, with the field that names what it is about. */
const REPORTING: Record<string, string | undefined> = {
  run: 'command',
  grep: 'pattern',
  structural: 'pattern',
  list: 'path',
}

/** Returns what commands and searches found, by the last line of each result, the latest last. */
export function findFacts(messages: readonly Msg[]): GroundedFact[] {
  const calls = new Map<string, CallPart>()
  const facts = new Map<string, GroundedFact>()
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.type === 'tool_call') calls.set(part.call_id, part)
    if (part.type !== 'tool_result') continue
    const { name, input } = calls.get(part.call_id) ?? {}
    const { action, ...fields } = ((typeof input === 'object' ? input : undefined) as Record<string, unknown>) ?? {}
    const subject = typeof action === 'string' ? fields[REPORTING[action] ?? ''] : undefined
    // Durations differ from run to run.
    const last = (redactText(part.text).trimEnd().split('\n').at(-1) ?? '').trim().replace(/ in [\d.]+ m?s$/, '')
    if (typeof subject !== 'string' || last === '') continue
    const source = `tool:${name}/${String(action)}`
    const fact = `${redactText(subject)}: ${last}`.slice(0, MAX_CHARS)
    facts.delete(`${source} ${subject}`)
    facts.set(`${source} ${subject}`, { fact, source })
  }
  return [...facts.values()]
}
