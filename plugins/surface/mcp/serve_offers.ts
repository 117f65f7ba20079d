import { toGetPromptResult, toReadResourceResult } from './answer.js'
import {
  toProtocolError,
  paginate,
  createRequestError,
  runCall,
  waitForServers,
  type ClientConnection,
} from './connection.js'
import { listPrompts } from '../../lib/skills/index.js'
import { findResource, listResources } from './resources.js'

const MAX_SUBSCRIPTIONS = 1_000

/** Serves lists, reads and subscriptions of resources. Returns a function that ends the subscriptions. */
export function serveResources(connection: ClientConnection): () => void {
  const { kernel, server, session } = connection
  server.setRequestHandler('resources/list', async ({ params }) => {
    const { shown, next } = paginate(connection, await listResources(kernel, session), params)
    return { resources: shown, ...next }
  })
  server.setRequestHandler('resources/templates/list', ({ params }) => {
    const { shown, next } = paginate(
      connection,
      kernel.inspection.offers('resource').filter(({ template }) => template !== undefined),
      params,
    )
    const templates = shown.map(({ template, name, title, description, mime_type }) => ({
      uriTemplate: template!,
      name,
      ...(title !== undefined && { title }),
      description,
      mimeType: mime_type!,
    }))
    return { resourceTemplates: templates, ...next }
  })
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) => {
    const found = findResource(kernel, uri)
    if (!found) throw createRequestError(connection, 'Resource not found', { uri })
    return runCall(connection, found.offer.slot, found.input, context, {
      surface: 'mcp',
      answer(result) {
        if (result.ok) return toReadResourceResult(result, uri, found.offer)
        if (result.error.code === 'VT_PATH_NOT_FOUND')
          throw createRequestError(connection, 'Resource not found', { uri })
        throw toProtocolError(connection, result.error, { uri })
      },
    })
  })
  return serveSubscriptions(connection)
}

function serveSubscriptions(connection: ClientConnection): () => void {
  const { kernel, server } = connection
  const subscribed = new Set<string>()
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (!subscribed.has(uri) && subscribed.size >= MAX_SUBSCRIPTIONS)
      throw createRequestError(connection, `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`)
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })
  return kernel.inspection.onChange(
    (uri) => subscribed.has(uri) && void server.sendResourceUpdated({ uri }).catch(() => {}),
  )
}

export function servePrompts(connection: ClientConnection): void {
  const { kernel, server } = connection
  server.setRequestHandler('prompts/list', async ({ params }, { mcpReq }) => {
    await waitForServers(kernel, mcpReq.signal)
    const { shown, next } = paginate(connection, listPrompts(kernel), params)
    const prompts = shown.map(({ offer: { name, title, description, arguments: texts } }) => ({
      name,
      ...(title !== undefined && { title }),
      description,
      ...(texts && { arguments: [...texts] }),
    }))
    return { prompts, ...next }
  })
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: values = {} } }, context) => {
    if (!listPrompts(kernel).some(({ offer }) => offer.name === name))
      await waitForServers(kernel, context.mcpReq.signal)
    const prompt = listPrompts(kernel).find(({ offer }) => offer.name === name)
    if (!prompt) throw createRequestError(connection, `Prompt not found: '${name}'.`)
    const { tool, input } = prompt.call(values)
    return runCall(connection, tool, input, context, {
      // The user chose the prompt, so it may be one that models do not see.
      surface: 'prompt',
      answer(result) {
        if (result.ok) return toGetPromptResult(result, prompt.offer)
        throw toProtocolError(connection, result.error, { name })
      },
    })
  })
}

/** Serves completion of arguments of prompts and of variables of resources. */
export function serveCompletion(connection: ClientConnection): void {
  const { kernel, server, session } = connection
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    const slot =
      ref.type === 'ref/prompt'
        ? listPrompts(kernel).find(({ offer }) => offer.name === ref.name)?.offer.slot
        : kernel.inspection.offers('resource').find(({ template }) => template === ref.uri)?.slot
    if (slot === undefined) throw createRequestError(connection, 'Prompt or resource template not found.')
    const values = await kernel.inspection.complete(slot, argument.name, argument.value, session)
    return { completion: { values, total: values.length, hasMore: false } }
  })
}
