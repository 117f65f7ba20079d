import type { Client } from '@modelcontextprotocol/client'
import { isObject } from '../../../core/shapes/index.js'
import { truncateLine, toText } from '../../../core/text/index.js'
import { ok, type Context, type JsonObject, type Result } from '../../../core/index.js'
import { renderContent } from './tool_result.js'
import { listPages } from '../mcp_client/lists.js'
import type { TaskLimits } from './tasks.js'
import { originalSchema } from '../mcp_transport/wire.js'

/** The most resources and templates in one list. */
const MAX_RESOURCES = 500

/** Lists the resources of a server, or reads the one at `uri`. */
export async function readResources(
  client: Client,
  uri: unknown,
  limits: TaskLimits,
  context: Context,
): Promise<Result> {
  if (typeof uri === 'string' && uri !== '') return readResource(client, uri, limits, context)
  const nothing = (): unknown[] => []
  const [resources, templates] = await Promise.all([
    listPages(client, 'resources/list', 'resources', limits),
    listPages(client, 'resources/templates/list', 'resourceTemplates', limits).catch(nothing),
  ])
  const all = [...resources, ...templates]
    .filter(isObject)
    .filter(({ uri, uriTemplate }) => typeof (uri ?? uriTemplate) === 'string')
  const shown = all.slice(0, MAX_RESOURCES)
  const left = all.length > shown.length ? [`(${shown.length} of ${all.length}; the rest is left out.)`] : []
  const text = [...shown.map(formatResource), ...left].join('\n') || 'The server has no resources.'
  return ok(
    {
      resources: shown.filter((one) => 'uri' in one),
      templates: shown.filter((one) => 'uriTemplate' in one),
      total: all.length,
    },
    { text },
  )
}

function formatResource({ uri, uriTemplate, name, title, mimeType, description }: JsonObject): string {
  const about = [title ?? name, mimeType, description]
    .filter((one): one is string => typeof one === 'string' && one !== '')
    .map((one) => truncateLine(one, 300))
  return `- ${truncateLine(toText(uri ?? uriTemplate), 1_000)}${about.length > 0 ? `: ${about.join(', ')}` : ''}`
}

async function readResource(client: Client, uri: string, limits: TaskLimits, context: Context): Promise<Result> {
  const answer = (await client.request(
    { method: 'resources/read', params: { uri } } as never,
    originalSchema as never,
    limits,
  )) as { contents?: unknown } | undefined
  const contents = Array.isArray(answer?.contents) ? (answer.contents as unknown[]) : []
  // The caller named the address, so a `file:` address cannot mislead here.
  const blocks = contents.filter(isObject).map(({ uri: own, ...resource }) => ({
    type: 'resource',
    resource: { ...resource, ...(typeof own === 'string' && !own.startsWith('file:') && { uri: own }) },
  }))
  const { texts, others } = await renderContent(blocks, context)
  const text = texts.join('\n') || (others.length > 0 ? '' : '(The resource is empty.)')
  return ok(
    { uri, contents: blocks.map(({ resource: { blob: _, ...about } }: { resource: JsonObject }) => about) },
    { text, ...(others.length > 0 && { content: others }) },
  )
}

/** Fills in a prompt of a server and returns its messages and their text. */
export async function readPrompt(
  client: Client,
  name: string,
  args: JsonObject,
  limits: TaskLimits,
  context: Context,
): Promise<Result> {
  const answer = (await client.request(
    { method: 'prompts/get', params: { name, arguments: args } } as never,
    originalSchema as never,
    limits,
  )) as { messages?: unknown } | undefined
  const messages = (Array.isArray(answer?.messages) ? (answer.messages as unknown[]) : []).filter(isObject)
  const shown: { role: string; content: { type: 'text'; text: string } }[] = []
  for (const { role, content } of messages) {
    const { texts, others } = await renderContent([content].flat(), context)
    const text = [...texts, ...others.map(({ type }) => `(${type})`)].join('\n')
    shown.push({ role: role === 'assistant' ? 'assistant' : 'user', content: { type: 'text', text } })
  }
  const text = shown
    .map(({ role, content }) =>
      role === 'assistant' && shown.length > 1 ? `Assistant: ${content.text}` : content.text,
    )
    .join('\n\n')
  return ok({ messages: shown }, { text: text || '(The prompt is empty.)' })
}
