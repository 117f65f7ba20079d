import type { CallToolResult } from '@modelcontextprotocol/client'
import { ok, VtError, type ContentBlock, type JsonObject, type Result } from '../../../core/index.js'

/** The result of a tool: what is structured is the output, texts are the text, images and the like the content. Throws VT_MCP_TOOL_ERROR. */
export function toolResult({ content = [], structuredContent, isError }: CallToolResult, name: string): Result {
  const texts: string[] = []
  const others: ContentBlock[] = []
  const blocks: JsonObject[] = []
  let files = 0
  for (const block of content) {
    const local = isFile(block.type === 'resource_link' ? block.uri : block.type === 'resource' ? block.resource.uri : undefined)
    if (local) files++
    const text = block.type === 'text' ? block.text : block.type === 'resource' && 'text' in block.resource ? block.resource.text : undefined
    if (text !== undefined) texts.push(text)
    if (block.type === 'image' || block.type === 'audio') others.push({ type: block.type, data: block.data, mimeType: block.mimeType })
    if (block.type === 'resource_link' && !local) others.push({ type: 'resource_link', uri: block.uri, name: block.name, ...(block.mimeType && { mimeType: block.mimeType }) })
    blocks.push(briefly(local ? withoutLink(block as unknown as JsonObject) : (block as unknown as JsonObject)))
  }
  if (files > 0) texts.push(`(${files} ${files === 1 ? 'link' : 'links'} to files left out: a path of the server names nothing here.)`)
  const text = texts.join('\n')
  if (isError) throw toolError(text || `${name} says that it failed, and nothing else.`)
  return ok((structuredContent as JsonObject | undefined) ?? { content: blocks }, { text, ...(others.length > 0 && { content: others }) })
}

/** A link to a file would be opened on this machine, by a client that knows nothing of the server. */
const isFile = (uri: string | undefined): boolean => uri !== undefined && URL.canParse(uri) && new URL(uri).protocol === 'file:'

function withoutLink({ uri: _, ...block }: JsonObject): JsonObject {
  const { uri: __, ...resource } = (block['resource'] ?? {}) as JsonObject
  return { ...block, ...(block['resource'] !== undefined && { resource }) }
}

/** The error text of the tool. */
export const toolError = (text: string): VtError =>
  new VtError({ code: 'VT_MCP_TOOL_ERROR', message: text.slice(0, 4_000), hint: 'Read what it says and correct the call.', retryable: false })

/** A block without its bytes, which are in the content of the result. */
function briefly(block: JsonObject): JsonObject {
  const { data, ...rest } = block
  if (typeof data === 'string') return { ...rest, bytes: Math.floor((data.length * 3) / 4) }
  const resource = block['resource'] as JsonObject | undefined
  if (typeof resource?.['blob'] !== 'string') return block
  const { blob, ...about } = resource
  return { ...block, resource: { ...about, bytes: Math.floor((blob.length * 3) / 4) } }
}
