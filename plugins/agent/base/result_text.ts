import type { Result } from '../../../core/shapes/index.js'
import { detailLines, noticeLines, successText } from '../../lib/base/index.js'
import type { ModelText } from './components.js'
import type { Msg } from './types.js'

const SPOOL_NOTE = /the whole text is in (\.vtcode\/spool\/[\w.-]+)/

/** Renders a result as text for a model. */
export function toModelText(result: Result): ModelText {
  if (result.ok) {
    const declaredPath = result.output['spool_path']
    // The output of a command may mention any file; the declared path is reliable.
    const spool_path = typeof declaredPath === 'string' ? declaredPath : SPOOL_NOTE.exec(result.text ?? '')?.[1]
    return { text: successText(result), is_error: false, ...(spool_path !== undefined && { spool_path }) }
  }
  const { code, message, hint, details, next } = result.error
  const lines = [
    `ERROR ${code}: ${message}`,
    ...(hint ? [`Hint: ${hint}`] : []),
    ...detailLines(result.error),
    ...formatSayLine(details?.['say'], message, next !== undefined),
  ]
  return { text: lines.join('\n') + noticeLines(result), is_error: true }
}

/**
 * Returns the sentence that the final answer must contain about a change that was not made. A sentence that only
 * repeats the error is shortened, and left out if the error offers a next call: the end of the turn reminds the model
 * of changes still missing.
 */
function formatSayLine(say: unknown, message: string, hasNext: boolean): string[] {
  if (typeof say !== 'string') return []
  if (!say.includes(message.replace(/\.$/, ''))) return [`Say: ${say}`]
  return hasNext ? [] : ['Say: Not applied. Add why, and the next action.']
}

export const describeFault = (
  code: string,
  message: string,
  hint = '',
): { code: string; message: string; hint: string } => ({ code, message, hint })

/** Returns the latest whole result of one of these calls in the context, if `text` equals it or only adds notices. */
export function findEarlierResult(
  messages: readonly Msg[],
  same: ReadonlySet<string>,
  text: string,
): { call_id: string; length: number } | undefined {
  for (const { parts } of [...messages].reverse()) {
    for (const part of parts) {
      if (part.type !== 'tool_result' || part.is_error || !same.has(part.call_id) || part.text.length < 200) continue
      if (text.startsWith(part.text) && /^($|\n\[VT_)/.test(text.slice(part.text.length)))
        return { call_id: part.call_id, length: part.text.length }
    }
  }
  return undefined
}
