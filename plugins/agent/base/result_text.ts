import type { Result } from '../../../core/shapes/index.js'
import { nextLine, noticeLines, successText } from '../../lib/base/index.js'
import type { ModelText } from './components.js'
import type { Msg } from './types.js'

/** A result as the text that a model reads. */
export function textOfResult(result: Result): ModelText {
  if (result.ok) {
    const said = result.output['spool_path']
    // What a command printed may name any file; the slot knows.
    const spool_path =
      typeof said === 'string' ? said : /the whole text is in (\.vtcode\/spool\/[\w.-]+)/.exec(result.text ?? '')?.[1]
    return { text: successText(result), is_error: false, ...(spool_path !== undefined && { spool_path }) }
  }
  const { code, message, hint, details, next } = result.error
  const lines = [
    `ERROR ${code}: ${message}`,
    ...(hint ? [`Hint: ${hint}`] : []),
    ...nextLine(result.error),
    ...sayLine(details?.['say'], message, next !== undefined),
  ]
  return { text: lines.join('\n') + noticeLines(result), is_error: true }
}

/**
 * What the final answer has to say of a change that was not made; a sentence that only repeats the error is not written out again, and
 * where a call goes on it comes to that only if the change is still not made when the turn ends, which the model is told then.
 */
function sayLine(say: unknown, message: string, goesOn: boolean): string[] {
  if (typeof say !== 'string') return []
  if (!say.includes(message.replace(/\.$/, ''))) return [`Say: ${say}`]
  return goesOn ? [] : ['Say: Not applied. Add why, and the next action.']
}

export const describeFault = (
  code: string,
  message: string,
  hint = '',
): { code: string; message: string; hint: string } => ({ code, message, hint })

/** The latest whole result of one of these calls in the live context, if `text` begins with it and adds remarks at most. */
export function earlierResult(
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
