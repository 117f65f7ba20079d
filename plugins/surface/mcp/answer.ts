import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/server'
import { visible, visibleJson } from '../../../core/base/index.js'
import type { ContentBlock, Offer, Result, Success } from '../../../core/index.js'

/** A result as that of a tool; a failure is told in words to those whose tools are called in words. */
export function toolAnswer(result: Result, words = false): CallToolResult {
  const { notices = [] } = result
  const structured = result.ok ? result.output : { error: result.error }
  const remarks = notices.map(({ code, message }) => `\n[${code}] ${message}`).join('')
  const blocks = result.ok ? blocksOf(result) : [{ type: 'text' as const, text: words ? `Error: ${result.error.message} ${result.error.hint}`.trim() : visibleJson(JSON.stringify(structured)) }]
  const [first, ...rest] = blocks
  const content = first?.type === 'text' ? [{ ...first, text: first.text + remarks }, ...rest] : [...blocks, ...(remarks ? [{ type: 'text', text: remarks.trim() }] : [])]
  return {
    content: content as CallToolResult['content'],
    structuredContent: structured as Record<string, unknown>,
    ...(!result.ok && { isError: true }),
    ...(notices.length > 0 && { _meta: { 'vtcode/notices': notices } }),
  }
}

/** A success as the contents of a resource. */
export function resourceAnswer(result: Success, uri: string, { mime_type: mimeType = 'text/plain' }: Offer): ReadResourceResult {
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
  const messages = Array.isArray(own) ? own.map(visibleMessage) : blocksOf(result).map((content) => ({ role: 'user', content }))
  return { description, messages: messages as GetPromptResult['messages'] }
}

/** Messages of a plugin are read by a model as they stand. */
const visibleMessage = (message: unknown): unknown => {
  const { content } = (message ?? {}) as { content?: { type?: unknown; text?: unknown } }
  return typeof content?.text === 'string' ? { ...(message as object), content: { ...content, text: visible(content.text) } } : message
}

/** What a result shows; its value as text where it shows nothing. */
function blocksOf({ output, text, content = [] }: Success): ContentBlock[] {
  if (text !== undefined) return [{ type: 'text', text }, ...content]
  return content.length > 0 ? content : [{ type: 'text', text: visibleJson(JSON.stringify(output)) }]
}
