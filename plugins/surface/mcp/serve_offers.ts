import { promptAnswer, resourceAnswer } from './answer.js'
import { failedRequest, paged, requestError, run, untilSettled, type ClientConnection } from './connection.js'
import { listPrompts } from '../../lib/skills/index.js'
import { findResource, listResources } from './offers.js'

const MAX_SUBSCRIPTIONS = 1_000

/** Lists, reads and subscriptions of resources. The function returned ends the subscriptions. */
export function serveResources(connection: ClientConnection): () => void {
  const { kernel, server, session } = connection
  server.setRequestHandler('resources/list', async ({ params }) => {
    const { shown, next } = paged(connection, await listResources(kernel, session), params)
    return { resources: shown, ...next }
  })
  server.setRequestHandler('resources/templates/list', ({ params }) => {
    const { shown, next } = paged(
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
    if (!found) throw requestError(connection, 'Resource not found', { uri })
    return run(connection, found.offer.slot, found.input, context, {
      surface: 'mcp',
      answer(result) {
        if (result.ok) return resourceAnswer(result, uri, found.offer)
        if (result.error.code === 'VT_PATH_NOT_FOUND') throw requestError(connection, 'Resource not found', { uri })
        throw failedRequest(connection, result.error, { uri })
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
      throw requestError(connection, `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`)
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
    await untilSettled(kernel, mcpReq.signal)
    const { shown, next } = paged(connection, listPrompts(kernel), params)
    const prompts = shown.map(({ offer: { name, title, description, arguments: texts } }) => ({
      name,
      ...(title !== undefined && { title }),
      description,
      ...(texts && { arguments: [...texts] }),
    }))
    return { prompts, ...next }
  })
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: values = {} } }, context) => {
    if (!listPrompts(kernel).some(({ offer }) => offer.name === name)) await untilSettled(kernel, context.mcpReq.signal)
    const prompt = listPrompts(kernel).find(({ offer }) => offer.name === name)
    if (!prompt) throw requestError(connection, `Prompt not found: '${name}'.`)
    const { tool, input } = prompt.call(values)
    return run(connection, tool, input, context, {
      // The user chose it: also what is not for models.
      surface: 'prompt',
      answer(result) {
        if (result.ok) return promptAnswer(result, prompt.offer)
        throw failedRequest(connection, result.error, { name })
      },
    })
  })
}

/** What an argument of a prompt or a variable of a resource may be. */
export function serveCompletion(connection: ClientConnection): void {
  const { kernel, server, session } = connection
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    const slot =
      ref.type === 'ref/prompt'
        ? listPrompts(kernel).find(({ offer }) => offer.name === ref.name)?.offer.slot
        : kernel.inspection.offers('resource').find(({ template }) => template === ref.uri)?.slot
    if (slot === undefined) throw requestError(connection, 'Prompt or resource template not found.')
    const values = await kernel.inspection.complete(slot, argument.name, argument.value, session)
    return { completion: { values, total: values.length, hasMore: false } }
  })
}
