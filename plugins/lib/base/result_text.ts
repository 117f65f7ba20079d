import type { Failure, Next, Problem, Success } from '../../../core/shapes/index.js'
import { visibleJson } from '../../../core/text/index.js'
import { valueText } from './value_text.js'

/** Formats a call as a model reads and copies it. */
const formatCall = ({ tool, input }: Next): string => `${tool} ${visibleJson(JSON.stringify(input))}`

/**
 * Returns the text of a success for a model: its text, or its value as JSON. The next call follows unless the text
 * already names it, then the notices.
 */
export function successText(result: Success): string {
  const { output, text } = result
  const next = text === undefined ? undefined : parseNextCall(output['next'])
  const last = next && !isNamedInText(next, text!) ? `\nNext: ${formatCall(next)}` : ''
  return `${text ?? valueText(output)}${last}${noticeLines(result)}`
}

/** Formats each notice as a line after its text. */
export const noticeLines = ({ notices = [] }: Success | Failure): string =>
  notices.map(({ code, message }) => `\n[${code}] ${message}`).join('')

/** Returns the line that names the next call of an error. */
export const nextLine = ({ next }: Problem): string[] => (next ? [`Next: ${formatCall(next)}`] : [])

const parseNextCall = (next: unknown): Next | undefined => {
  const { tool, input } = (next ?? {}) as Partial<Next>
  return typeof tool === 'string' && typeof input === 'object' && input !== null ? { tool, input } : undefined
}

/**
 * Checks whether the end of a page already names a field of the next call. Repeating the whole call costs more than it
 * adds.
 */
function isNamedInText({ input }: Next, text: string): boolean {
  const end = text.slice(-200).replace(/[\].]$/, '')
  return Object.entries(input).some(([name, value]) => end.endsWith(`${name}=${String(value)}`))
}
