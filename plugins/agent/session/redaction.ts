import { redact, redactText } from '../../../core/text/index.js'
import type { Fact, MessagePart, Msg } from '../base/index.js'

/** The result of a call whose arguments the journal does not have: with other arguments it must not run. */
const INPUT_FAULT = {
  code: 'VT_CALL_INTERRUPTED',
  message: 'The program ended before this call ran. Its arguments held a secret, which the journal does not keep.',
  hint: 'Make the call again.',
}

/**
 * Redacts the words of people and models in a fact that joins the conversation. Calls stay exact, because they run as
 * the model wrote them, and so does signed reasoning.
 */
export function redactWords(fact: Fact): Fact {
  if (fact.kind === 'turn_start') return { ...fact, input: redactTexts(fact.input) }
  return fact.kind === 'message' && fact.message.role !== 'tool'
    ? { ...fact, message: redactTexts(fact.message) }
    : fact
}
const redactTexts = (message: Msg): Msg => ({
  ...message,
  parts: message.parts.map((part) => (part.type === 'text' ? { ...part, text: redactText(part.text) } : part)),
})

/** Redacts a fact for the journal. */
export const redactFact = (fact: Fact): Fact =>
  fact.kind === 'message'
    ? { ...redact({ ...fact, message: null }), message: redactMessage(fact.message) }
    : redact(fact)

/** Redacts a message for a file. */
export const redactMessage = (message: Msg): Msg => ({ ...message, parts: message.parts.map(redactPart) })

/** Redacts a part but its metadata, which only its provider reads. */
function redactPart(part: MessagePart): MessagePart {
  const { meta, ...rest } = part as MessagePart & { meta?: object }
  const clean = redact(rest) as MessagePart
  if (clean === rest) return part
  if (clean.type === 'tool_call')
    return { ...clean, fault: clean.fault ?? INPUT_FAULT, ...(meta && { meta }) } as MessagePart
  // Metadata that signs a reasoning does not fit another text.
  return clean.type === 'reasoning' ? clean : ({ ...clean, ...(meta && { meta }) } as MessagePart)
}
