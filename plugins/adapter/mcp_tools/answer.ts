import { isObject } from '../../../core/shapes/index.js'
import { shortLine, toText } from '../../../core/text/index.js'
import { ok, VtError, type ContentBlock, type Context, type JsonObject, type Result } from '../../../core/index.js'
import { keptBlob } from './blob.js'

/** An answer as a model reads it: texts, and beside them what text cannot say. */
interface Told {
  texts: string[]
  others: ContentBlock[]
  /** The blocks without their bytes. */
  blocks: JsonObject[]
  /** Addresses of files that were left out. */
  files: number
}

/**
 * The result of a tool: what is structured is the output, texts are the text, images and the like the content. Whatever comes, the model
 * gets a text of it: of a link its address, of bytes where they are kept. Throws VT_MCP_TOOL_ERROR.
 */
export async function toolResult(answer: unknown, name: string, context: Context): Promise<Result> {
  const { content, structuredContent, isError }: JsonObject = isObject(answer) ? answer : {}
  const structured = structuredIn(structuredContent ?? undefined)
  const { texts, others, blocks } = await told(Array.isArray(content) ? content : [], context)
  const said = texts.filter((text) => text !== '')
  if (isError === true)
    throw toolError(
      said.join('\n') || (structured ? JSON.stringify(structured) : `${name} says that it failed, and nothing else.`),
    )
  if (said.length === 0 && structured && others.length === 0) return ok(structured)
  if (said.length === 0)
    said.push(structured ? JSON.stringify(structured) : others.length > 0 ? '' : '(The answer is empty.)')
  return ok(structured ?? { content: blocks }, { text: said.join('\n'), ...(others.length > 0 && { content: others }) })
}

const structuredIn = (value: unknown): JsonObject | undefined =>
  value === undefined || isObject(value) ? value : { result: value }

/** What blocks of content say, each as text or as a block that every reader knows. */
export async function told(content: readonly unknown[], context: Context): Promise<Told> {
  const all: Told = { texts: [], others: [], blocks: [], files: 0 }
  for (const block of content) if (isObject(block)) await tell(block, all, context)
  if (all.files > 0)
    all.texts.push(
      `(${all.files} ${all.files === 1 ? 'link' : 'links'} to files left out: a path of the server names nothing here.)`,
    )
  return all
}

async function tell(block: JsonObject, all: Told, context: Context): Promise<void> {
  const { type, text } = block
  const { texts, others, blocks } = all
  const resource = isObject(block['resource']) ? block['resource'] : {}
  const local = isFile(uriOf(block))
  blocks.push(briefly(local ? withoutLink(block) : block))
  if (local) all.files++
  if (type === 'text') return void texts.push(toText(text ?? ''))
  const media = mediaOf(block)
  if (media) return void others.push(media)
  if (type === 'resource_link') return local ? undefined : tellLink(block, all)
  if (type !== 'resource') return void texts.push(`(A block of the kind '${shortLine(toText(type), 40)}' is left out.)`)
  if (typeof resource['text'] === 'string') return void texts.push(resource['text'])
  if (typeof resource['blob'] !== 'string') return
  const kept = await keptBlob(resource['blob'], resource['mimeType'], local ? '' : nameOf(resource['uri']), context)
  if ('text' in kept) texts.push(kept.text)
  else others.push(kept.block)
}

function uriOf({ type, uri, resource }: JsonObject): unknown {
  if (type === 'resource_link') return uri
  return type === 'resource' && isObject(resource) ? resource['uri'] : undefined
}

function mediaOf({ type, data, mimeType }: JsonObject): ContentBlock | undefined {
  if (typeof data !== 'string' || typeof mimeType !== 'string') return undefined
  return type === 'image' || type === 'audio' ? { type, data, mimeType } : undefined
}

function tellLink({ uri, name, title, mimeType, description }: JsonObject, { texts, others }: Told): void {
  if (typeof uri !== 'string') return
  const shown = [title, name].find((one) => typeof one === 'string' && one !== '') as string | undefined
  const type = typeof mimeType === 'string' ? { mimeType } : {}
  others.push({ type: 'resource_link', uri, name: shown ?? uri, ...type })
  const named = shown === undefined ? uri : `${shortLine(shown, 200)}: ${uri}`
  const about = typeof description === 'string' ? `, ${shortLine(description, 400)}` : ''
  texts.push(`${named}${'mimeType' in type ? ` (${shortLine(type.mimeType, 80)})` : ''}${about}`)
}

const nameOf = (uri: unknown): string => (typeof uri === 'string' ? uri : '')

/** A link to a file would be opened on this machine, by a client that knows nothing of the server. */
const isFile = (uri: unknown): boolean =>
  typeof uri === 'string' && URL.canParse(uri) && new URL(uri).protocol === 'file:'

function withoutLink({ uri: _, ...block }: JsonObject): JsonObject {
  const { uri: __, ...resource } = (block['resource'] ?? {}) as JsonObject
  return { ...block, ...(block['resource'] !== undefined && { resource }) }
}

/** The error text of the tool. */
export const toolError = (text: string): VtError =>
  new VtError({
    code: 'VT_MCP_TOOL_ERROR',
    message: text.slice(0, 4_000),
    hint: 'Read what it says and correct the call.',
    retryable: false,
  })

/** A block without its bytes, which are in the content of the result. */
function briefly(block: JsonObject): JsonObject {
  const { data, ...rest } = block
  if (typeof data === 'string') return { ...rest, bytes: Math.floor((data.length * 3) / 4) }
  const resource = block['resource'] as JsonObject | undefined
  if (typeof resource?.['blob'] !== 'string') return block
  const { blob, ...about } = resource
  return { ...block, resource: { ...about, bytes: Math.floor((blob.length * 3) / 4) } }
}
