import { isObject } from '../../../core/shapes/index.js'
import { truncateLine, toText } from '../../../core/text/index.js'
import { ok, VtError, type ContentBlock, type Context, type JsonObject, type Result } from '../../../core/index.js'
import { storeBlob } from './blob.js'

/** A response for a model: its texts, and the content that text cannot hold. */
interface RenderedContent {
  texts: string[]
  others: ContentBlock[]
  /** The blocks without their bytes. */
  blocks: JsonObject[]
  /** The number of links to files that were left out. */
  files: number
}

/**
 * Converts the response of a tool to a result. Structured content is the output, texts are the text, and media the
 * content. The model always gets a text: the address of a link, or the spool file of bytes. Throws VT_MCP_TOOL_ERROR.
 */
export async function toToolResult(answer: unknown, name: string, context: Context): Promise<Result> {
  const { content, structuredContent, isError }: JsonObject = isObject(answer) ? answer : {}
  const structured = toStructured(structuredContent ?? undefined)
  const { texts, others, blocks } = await renderContent(Array.isArray(content) ? content : [], context)
  const lines = texts.filter((text) => text !== '')
  if (isError === true)
    throw createToolError(
      lines.join('\n') || (structured ? JSON.stringify(structured) : `The tool ${name} failed without a message.`),
    )
  if (lines.length === 0 && structured && others.length === 0) return ok(structured)
  if (lines.length === 0)
    lines.push(structured ? JSON.stringify(structured) : others.length > 0 ? '' : '(The answer is empty.)')
  return ok(structured ?? { content: blocks }, {
    text: lines.join('\n'),
    ...(others.length > 0 && { content: others }),
  })
}

const toStructured = (value: unknown): JsonObject | undefined =>
  value === undefined || isObject(value) ? value : { result: value }

/** Renders content blocks, each as text or as a block that every client can read. */
export async function renderContent(content: readonly unknown[], context: Context): Promise<RenderedContent> {
  const all: RenderedContent = { texts: [], others: [], blocks: [], files: 0 }
  for (const block of content) if (isObject(block)) await renderBlock(block, all, context)
  if (all.files > 0)
    all.texts.push(
      `(${all.files} ${all.files === 1 ? 'link' : 'links'} to files left out: a path of the server is not valid here.)`,
    )
  return all
}

async function renderBlock(block: JsonObject, all: RenderedContent, context: Context): Promise<void> {
  const { type, text } = block
  const { texts, others, blocks } = all
  const resource = isObject(block['resource']) ? block['resource'] : {}
  const local = isFile(findUri(block))
  blocks.push(stripBytes(local ? stripLink(block) : block))
  if (local) all.files++
  if (type === 'text') return void texts.push(toText(text ?? ''))
  const media = toMediaBlock(block)
  if (media) return void others.push(media)
  if (type === 'resource_link') return local ? undefined : renderLink(block, all)
  if (type !== 'resource')
    return void texts.push(`(A block of the unknown type '${truncateLine(toText(type), 40)}' is left out.)`)
  if (typeof resource['text'] === 'string') return void texts.push(resource['text'])
  if (typeof resource['blob'] !== 'string') return
  const kept = await storeBlob(resource['blob'], resource['mimeType'], local ? '' : toUriText(resource['uri']), context)
  if ('text' in kept) texts.push(kept.text)
  else others.push(kept.block)
}

function findUri({ type, uri, resource }: JsonObject): unknown {
  if (type === 'resource_link') return uri
  return type === 'resource' && isObject(resource) ? resource['uri'] : undefined
}

function toMediaBlock({ type, data, mimeType }: JsonObject): ContentBlock | undefined {
  if (typeof data !== 'string' || typeof mimeType !== 'string') return undefined
  return type === 'image' || type === 'audio' ? { type, data, mimeType } : undefined
}

function renderLink({ uri, name, title, mimeType, description }: JsonObject, { texts, others }: RenderedContent): void {
  if (typeof uri !== 'string') return
  const shown = [title, name].find((one) => typeof one === 'string' && one !== '') as string | undefined
  const type = typeof mimeType === 'string' ? { mimeType } : {}
  others.push({ type: 'resource_link', uri, name: shown ?? uri, ...type })
  const named = shown === undefined ? uri : `${truncateLine(shown, 200)}: ${uri}`
  const about = typeof description === 'string' ? `, ${truncateLine(description, 400)}` : ''
  texts.push(`${named}${'mimeType' in type ? ` (${truncateLine(type.mimeType, 80)})` : ''}${about}`)
}

const toUriText = (uri: unknown): string => (typeof uri === 'string' ? uri : '')

/** Returns whether a link is to a file. A client would open it on this machine, without knowing the server. */
const isFile = (uri: unknown): boolean =>
  typeof uri === 'string' && URL.canParse(uri) && new URL(uri).protocol === 'file:'

function stripLink({ uri: _, ...block }: JsonObject): JsonObject {
  const { uri: __, ...resource } = (block['resource'] ?? {}) as JsonObject
  return { ...block, ...(block['resource'] !== undefined && { resource }) }
}

/** Returns VT_MCP_TOOL_ERROR with the error text of the tool. */
export const createToolError = (text: string): VtError =>
  new VtError({
    code: 'VT_MCP_TOOL_ERROR',
    message: text.slice(0, 4_000),
    hint: 'Read the message of the tool and correct the call.',
    retryable: false,
  })

/** Returns a block without its bytes, which are in the content of the result. */
function stripBytes(block: JsonObject): JsonObject {
  const { data, ...rest } = block
  if (typeof data === 'string') return { ...rest, bytes: Math.floor((data.length * 3) / 4) }
  const resource = block['resource'] as JsonObject | undefined
  if (typeof resource?.['blob'] !== 'string') return block
  const { blob, ...about } = resource
  return { ...block, resource: { ...about, bytes: Math.floor((blob.length * 3) / 4) } }
}
