import type { Failure, Next, Problem, Success } from '../../../core/shapes/index.js'
import { visible, visibleJson, visibleText } from '../../../core/text/index.js'
import { cut } from './excerpt.js'
import { parseNextCall } from './next_call.js'
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

/** Details of errors that a reader needs besides those that the hint names as `details.NAME`. */
const EVIDENCE = ['index', 'diff', 'debug', 'rules', 'discovered_configs', 'entries', 'sessions']
const MAX_EVIDENCE_CHARS = 4_000

/** Returns the details of an error that its reader needs and that its message does not show. */
function evidenceLines({ message, hint, details = {} }: Problem): string[] {
  const named = [...hint.matchAll(/\bdetails\.(\w+)/g)].map(([, name]) => name!)
  return [...new Set([...EVIDENCE, ...named])].flatMap((name) => {
    const shown = formatEvidence(details[name])
    if (shown === '' || (shown.length > 3 && `${message} ${hint}`.includes(shown))) return []
    return [`${name}:${shown.includes('\n') ? '\n' : ' '}${cut(shown, MAX_EVIDENCE_CHARS).text}`]
  })
}

function formatEvidence(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return visibleText(value).trimEnd()
  if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return value.map((item) => visible(item)).join(', ')
  return visibleJson(JSON.stringify(value))
}

/** Returns the lines after the hint of an error: the details that a reader needs, and the next call. */
export const detailLines = (error: Problem): string[] => [
  ...evidenceLines(error),
  ...(error.next ? [`Next: ${formatCall(error.next)}`] : []),
]

/**
 * Checks whether the end of a text already names the continuation by a field of the next call. The position in the text
 * counts: a text may be shorter than its value, and the reader sees the text.
 */
function isNamedInText({ input }: Next, text: string): boolean {
  const field = /(\w+)(?:=|":"?)[\w-]+$/.exec(text.slice(-200).replace(/[\]}".]+$/, ''))?.[1]
  return field !== undefined && Object.hasOwn(input, field)
}
