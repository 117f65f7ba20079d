import type { RequestStateCodec, Server, ServerContext, Tool } from '@modelcontextprotocol/server'
import { version, type CallOptions, type Kernel, type Problem, type ToolInfo } from '../../../core/index.js'
import { isOwnName } from '../../../core/registry/index.js'
import { promptAnswer, resourceAnswer, toolAnswer } from './answer.js'
import { Asking } from './asking.js'
import { meant, shelve } from './deferred.js'
import { findResource, listResources, promptsOf } from './offers.js'
import { page } from './page.js'
import type { Sdk } from './sdk.js'

const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603
const MAX_SUBSCRIPTIONS = 1_000

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
}
const instructions =
  'Tools for reading, searching and changing the code of one workspace; paths are relative to its root. A failed call says what to do next.'

export interface ServerOptions {
  /** The session its calls belong to. */
  session: string
  /** List the tools that come with the program only, with a way to call the others. */
  deferred?: boolean
}

/** A server that shows one connection what the kernel has: tools, resources and prompts. */
export function createServer(kernel: Kernel, sdk: Sdk, { session, deferred = false }: ServerOptions): Server {
  const server = new sdk.Server({ name: 'vtcode', version }, {
    capabilities,
    instructions,
    requestState: { verify: (state, context) => codecOf(sdk).verify(state, context) },
    // Answers of people are judged where they are used.
    jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
  })
  const subscribed = new Set<string>()
  const quietly = (sent: Promise<void>) => void sent.catch(() => {})
  const stops = [
    kernel.onReload(() => {
      quietly(server.sendToolListChanged())
      quietly(server.sendResourceListChanged())
      quietly(server.sendPromptListChanged())
    }),
    kernel.onChange((uri) => subscribed.has(uri) && quietly(server.sendResourceUpdated({ uri }))),
  ]
  server.onclose = () => stops.forEach((stop) => stop())

  /** One call for the client; its answer, or what the client has to be asked first. */
  async function run<Answer>(tool: string, input: unknown, context: ServerContext, how: Run<Answer>) {
    const asking = new Asking(sdk, server, codecOf(sdk), context)
    const options: CallOptions = { signal: context.mcpReq.signal, session, surface: how.surface, ...asking.options, ...reporting(context), onLog: logging(context) }
    const result = await kernel.call(tool, input, options)
    const open = await asking.open(result)
    if (open) void import('../../lib/hooks/index.js').then(({ notify }) => notify(kernel, session, 'permission_prompt', `${tool} waits for an answer of the user.`))
    return open ?? how.answer(result)
  }
  const refuse = (message: string, data?: unknown) => new sdk.ProtocolError(INVALID_PARAMS, message, data)
  const paged = <T>(items: readonly T[], params: { cursor?: string | undefined } | undefined) => {
    const found = page(items, params?.cursor)
    if (!found) throw refuse('The cursor is none that was given out.')
    const { items: shown, ...next } = found
    return { shown, next }
  }

  server.setRequestHandler('tools/list', ({ params }) => {
    const { tools, more } = deferred ? shelve(kernel) : { tools: kernel.tools() }
    const { shown, next } = paged(more ? [...tools.map(present), more] : tools.map(present), params)
    return { tools: shown, ...next }
  })
  server.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }, context) => {
    const inner = deferred ? meant(name, input) : undefined
    return run(inner?.name ?? name, inner ? inner.input : input, context, {
      surface: 'mcp',
      answer(result) {
        // A name that a model found is its own mistake; one that the client made up is the client's.
        if (!inner && !result.ok && result.error.code === 'VT_TOOL_UNKNOWN') throw refuse(`Unknown tool: ${name}. ${result.error.message}`)
        // Where the example of a tool is a call in the words of a dialect, so is what goes wrong.
        const words = !result.ok && kernel.list().some((info) => isOwnName(name, info) && typeof info.example === 'string')
        return toolAnswer(result, words)
      },
    })
  })

  server.setRequestHandler('resources/list', async ({ params }) => {
    const { shown, next } = paged(await listResources(kernel, session), params)
    return { resources: shown, ...next }
  })
  server.setRequestHandler('resources/templates/list', ({ params }) => {
    const { shown, next } = paged(kernel.offers('resource').filter(({ template }) => template !== undefined), params)
    const templates = shown.map(({ template, name, title, description, mime_type }) => ({ uriTemplate: template!, name, ...(title !== undefined && { title }), description, mimeType: mime_type! }))
    return { resourceTemplates: templates, ...next }
  })
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) => {
    const found = findResource(kernel, uri)
    if (!found) throw refuse('Resource not found', { uri })
    return run(found.offer.slot, found.input, context, {
      surface: 'mcp',
      answer(result) {
        if (result.ok) return resourceAnswer(result, uri, found.offer)
        if (result.error.code === 'VT_PATH_NOT_FOUND') throw refuse('Resource not found', { uri })
        throw failed(sdk, result.error, { uri })
      },
    })
  })
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (!subscribed.has(uri) && subscribed.size >= MAX_SUBSCRIPTIONS) throw refuse(`A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`)
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })

  server.setRequestHandler('prompts/list', ({ params }) => {
    const { shown, next } = paged(promptsOf(kernel), params)
    const prompts = shown.map(({ offer: { name, title, description, arguments: texts } }) => ({ name, ...(title !== undefined && { title }), description, ...(texts && { arguments: [...texts] }) }))
    return { prompts, ...next }
  })
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: said = {} } }, context) => {
    const prompt = promptsOf(kernel).find(({ offer }) => offer.name === name)
    if (!prompt) throw refuse(`There is no prompt '${name}'.`)
    return run(prompt.tool, prompt.input(said), context, {
      // The user chose it: also what is not for models.
      surface: 'prompt',
      answer(result) {
        if (result.ok) return prompt.finish(promptAnswer(result, prompt.offer), said)
        throw failed(sdk, result.error, { name })
      },
    })
  })

  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    const slot = ref.type === 'ref/prompt' ? promptsOf(kernel).find(({ offer }) => offer.name === ref.name)?.offer.slot : kernel.offers('resource').find(({ template }) => template === ref.uri)?.slot
    if (slot === undefined) throw refuse('There is no such prompt or resource template.')
    const values = await kernel.complete(slot, argument.name, argument.value, session)
    return { completion: { values, total: values.length, hasMore: false } }
  })
  return server
}

interface Run<Answer> {
  surface: string
  /** Contract: may throw a protocol error. */
  answer: (result: Awaited<ReturnType<Kernel['call']>>) => Answer
}

// One for the process: over HTTP each request of the 2026-07-28 revision has a server of its own.
let codec: RequestStateCodec | undefined
const codecOf = (sdk: Sdk): RequestStateCodec =>
  (codec ??= sdk.createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)), bind: ({ mcpReq }) => mcpReq.method }))

/** A failed call where the protocol knows errors only; wrong input is the caller's. */
function failed(sdk: Sdk, { code, message, hint }: Problem, about: object): Error {
  return new sdk.ProtocolError(code.startsWith('VT_INPUT_') ? INVALID_PARAMS : INTERNAL_ERROR, message, { ...about, code, hint })
}

function present({ name, description, input, output, effects }: ToolInfo): Tool {
  const readOnlyHint = effects.every((effect) => effect === 'read' || effect === 'net' || effect === 'ask')
  return {
    name,
    description,
    inputSchema: { ...input, type: 'object' } as Tool['inputSchema'],
    ...(output && { outputSchema: { ...output, type: 'object' } as Tool['outputSchema'] }),
    annotations: { readOnlyHint, ...(!readOnlyHint && { destructiveHint: true }), openWorldHint: effects.includes('net') || effects.includes('exec') },
  }
}

/** Progress as the client asked for it; the figure always grows, as the protocol wants. */
function reporting({ mcpReq }: ServerContext): Pick<CallOptions, 'onProgress'> {
  const token = mcpReq._meta?.progressToken
  if (token === undefined) return {}
  let last: number | undefined
  return {
    onProgress: ({ done, total, text }) => {
      last = done !== undefined && done > (last ?? -Infinity) ? done : (last ?? 0) + Number.EPSILON * Math.max(1, last ?? 0) * 2
      const params = { progressToken: token, progress: last, ...(total !== undefined && { total }), ...(text !== undefined && { message: text }) }
      void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}

/** What plugins log, at the level the client wants to hear. */
const logging =
  ({ mcpReq }: ServerContext): NonNullable<CallOptions['onLog']> =>
  (level, message) =>
    void mcpReq.log(level === 'warn' ? 'warning' : level, message, 'vtcode').catch(() => {})
