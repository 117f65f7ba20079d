import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/server'
import { visible } from '../../../core/text/index.js'
import type { ContentBlock, Failure, Offer, Result, Success } from '../../../core/index.js'
import {
  detailLines,
  noticeLines,
  successText,
  truncateLikeText,
  valueText,
  type ShownCall,
} from '../../lib/base/index.js'

export interface AnswerForm {
  /** Write a failure as one sentence, for tools whose calls are command lines instead of JSON. */
  words: boolean
  /** The call, to send its value as `structuredContent` too. */
  structured?: ShownCall | undefined
}

/** Converts a result to that of an MCP tool: text for the model, plus images, links and the value. */
export function toCallToolResult(result: Result, { words, structured }: AnswerForm): CallToolResult {
  const { notices = [] } = result
  const text = { type: 'text' as const, text: result.ok ? successText(result) : formatFailure(result, words) }
  return {
    content: (result.ok ? combineBlocks(text, result) : [text]) as CallToolResult['content'],
    ...(structured && {
      structuredContent: result.ok ? truncateLikeText(result.output, result.text, structured) : { error: result.error },
    }),
    ...(!result.ok && { isError: true }),
    ...(notices.length > 0 && { _meta: { 'vtcode/notices': notices } }),
  }
}

/** Returns the text and then the blocks. A result without text ends with a block that holds its remarks, if any. */
function combineBlocks(whole: ContentBlock & { type: 'text' }, result: Success): ContentBlock[] {
  const { text, content = [] } = result
  if (text !== undefined || content.length === 0) return [whole, ...content]
  const remarks = successText({ ...result, text: '' }).trim()
  return remarks ? [...content, { type: 'text', text: remarks }] : content
}

/** Formats the error, its hint, details, next call and notices. */
function formatFailure(result: Failure, words: boolean): string {
  const { code, message, hint } = result.error
  const lines = words ? [`Error: ${message} ${hint}`.trim()] : [`${code}: ${message}`, ...(hint ? [hint] : [])]
  return [...lines, ...detailLines(result.error)].join('\n') + noticeLines(result)
}

/** Converts a success to the contents of a resource. */
export function toReadResourceResult(
  result: Success,
  uri: string,
  { mime_type: mimeType = 'text/plain' }: Offer,
): ReadResourceResult {
  const contents = toContentBlocks(result).flatMap((block): ReadResourceResult['contents'] => {
    if (block.type === 'resource') return [block.resource as ReadResourceResult['contents'][number]]
    if (block.type === 'text') return [{ uri, mimeType, text: block.text }]
    return block.type === 'resource_link' ? [] : [{ uri, mimeType: block.mimeType, blob: block.data }]
  })
  return { contents }
}

/** Converts a success to a prompt: its own `messages`, or its content as messages of the user. */
export function toGetPromptResult(result: Success, { description }: Offer): GetPromptResult {
  const own = result.output['messages']
  const messages = Array.isArray(own)
    ? own.map(escapeMessage)
    : toContentBlocks(result).map((content) => ({ role: 'user', content }))
  return { description, messages: messages as GetPromptResult['messages'] }
}

/** Escapes the text of a message of a plugin, which a model reads unchanged. */
const escapeMessage = (message: unknown): unknown => {
  const { content } = (message ?? {}) as { content?: { type?: unknown; text?: unknown } }
  return typeof content?.text === 'string'
    ? { ...(message as object), content: { ...content, text: visible(content.text) } }
    : message
}

/** Returns the text and blocks of a result, or its value as text when it has neither. */
function toContentBlocks({ output, text, content = [] }: Success): ContentBlock[] {
  if (text !== undefined) return [{ type: 'text', text }, ...content]
  return content.length > 0 ? content : [{ type: 'text', text: valueText(output) }]
}
