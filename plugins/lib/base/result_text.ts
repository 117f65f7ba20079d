import type { Failure, Next, Problem, Success } from '../../../core/shapes/index.js'
import { visibleJson } from '../../../core/text/index.js'
import { valueText } from './value_text.js'

/** A call as a text that a model reads and copies. */
const formatCall = ({ tool, input }: Next): string => `${tool} ${visibleJson(JSON.stringify(input))}`

/** What a model reads of a success: its text, or its value as JSON, then the call that goes on where the text does not say it, then its notices. */
export function successText(result: Success): string {
  const { output, text } = result
  const next = text === undefined ? undefined : parseNextCall(output['next'])
  return `${text ?? valueText(output)}${next && !isNamedInText(next, text!) ? `\nNext: ${formatCall(next)}` : ''}${noticeLines(result)}`
}

/** One line each, behind the text that they belong to. */
export const noticeLines = ({ notices = [] }: Success | Failure): string =>
  notices.map(({ code, message }) => `\n[${code}] ${message}`).join('')

/** The next call that an error names, as its last line. */
export const nextLine = ({ next }: Problem): string[] => (next ? [`Next: ${formatCall(next)}`] : [])

const parseNextCall = (next: unknown): Next | undefined => {
  const { tool, input } = (next ?? {}) as Partial<Next>
  return typeof tool === 'string' && typeof input === 'object' && input !== null ? { tool, input } : undefined
}

/** A page ends by saying which field has which value in the call for the next one; saying the whole call once more costs more than it tells. */
function isNamedInText({ input }: Next, text: string): boolean {
  const end = text.slice(-200).replace(/[\].]$/, '')
  return Object.entries(input).some(([name, value]) => end.endsWith(`${name}=${String(value)}`))
}
