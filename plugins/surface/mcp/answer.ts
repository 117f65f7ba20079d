import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/server'
import { visible } from '../../../core/text/index.js'
import type { ContentBlock, Failure, Offer, Result, Success } from '../../../core/index.js'
import { truncateValue, nextLine, noticeLines, successText, valueLimit, valueText } from '../../lib/base/index.js'

export interface AnswerForm {
  /** A failure is one sentence, for those whose tools are called in words. */
  words: boolean
  /** The value stands beside the text. */
  structured: boolean
}

/** A result as that of a tool: what a model reads, as text; beside it what text cannot say. */
export function toolAnswer(result: Result, { words, structured }: AnswerForm): CallToolResult {
  const { notices = [] } = result
  const text = { type: 'text' as const, text: result.ok ? successText(result) : failureText(result, words) }
  return {
    content: (result.ok ? behindText(text, result) : [text]) as CallToolResult['content'],
    ...(structured && {
      structuredContent: result.ok
        ? truncateValue(result.output, result.text === undefined ? Infinity : valueLimit(result.text))
        : { error: result.error },
    }),
    ...(!result.ok && { isError: true }),
    ...(notices.length > 0 && { _meta: { 'vtcode/notices': notices } }),
  }
}

/** The text, and the blocks behind it; a result of blocks alone has what its text would say in the last one. */
function behindText(whole: ContentBlock & { type: 'text' }, result: Success): ContentBlock[] {
  const { text, content = [] } = result
  if (text !== undefined || content.length === 0) return [whole, ...content]
  const remarks = successText({ ...result, text: '' }).trim()
  return remarks ? [...content, { type: 'text', text: remarks }] : content
}

/** What went wrong, what to do about it, and the call that does it. */
function failureText(result: Failure, words: boolean): string {
  const { code, message, hint } = result.error
  const lines = words ? [`Error: ${message} ${hint}`.trim()] : [`${code}: ${message}`, ...(hint ? [hint] : [])]
  return [...lines, ...nextLine(result.error)].join('\n') + noticeLines(result)
}

/** A success as the contents of a resource. */
export function resourceAnswer(
  result: Success,
  uri: string,
  { mime_type: mimeType = 'text/plain' }: Offer,
): ReadResourceResult {
  const contents = blocksOf(result).flatMap((block): ReadResourceResult['contents'] => {
    if (block.type === 'resource') return [block.resource as ReadResourceResult['contents'][number]]
    if (block.type === 'text') return [{ uri, mimeType, text: block.text }]
    return block.type === 'resource_link' ? [] : [{ uri, mimeType: block.mimeType, blob: block.data }]
  })
  return { contents }
}

/** A success as a prompt: its own `messages`, or what it shows, said by the user. */
export function promptAnswer(result: Success, { description }: Offer): GetPromptResult {
  const own = result.output['messages']
  const messages = Array.isArray(own)
    ? own.map(visibleMessage)
    : blocksOf(result).map((content) => ({ role: 'user', content }))
  return { description, messages: messages as GetPromptResult['messages'] }
}

/** Messages of a plugin are read by a model as they stand. */
const visibleMessage = (message: unknown): unknown => {
  const { content } = (message ?? {}) as { content?: { type?: unknown; text?: unknown } }
  return typeof content?.text === 'string'
    ? { ...(message as object), content: { ...content, text: visible(content.text) } }
    : message
}

/** What a result shows; its value as text where it shows nothing. */
function blocksOf({ output, text, content = [] }: Success): ContentBlock[] {
  if (text !== undefined) return [{ type: 'text', text }, ...content]
  return content.length > 0 ? content : [{ type: 'text', text: valueText(output) }]
}
