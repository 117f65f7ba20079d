import type { Server, Tool } from '@modelcontextprotocol/server'
import { version, type Kernel, type ToolInfo } from '../../../core/index.js'
import { isOwnName } from '../../../core/registry/index.js'
import { toCallToolResult } from './answer.js'
import { getCodec, paginate, createRequestError, runCall, waitForServers, type ClientConnection } from './connection.js'
import type { Sdk } from './sdk.js'
import { serveCompletion, servePrompts, serveResources } from './serve_offers.js'
import { StructuredAnswers } from './structured_answers.js'

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
}
/** The instructions for models. Some clients cut them, so they have at most 600 bytes in any dialect. */
const instructions = [
  'Tools for the code of one workspace; paths are relative to its root.',
  'Before you read a file or folder that you do not know, use {slot:unified_search/outline}.',
  'Then {slot:unified_file/read} reads the lines that you need.',
  'To find text, use {slot:unified_search/grep} first. Use {slot:unified_search/list} for names of files.',
  'To find code by its shape, use {slot:unified_search/structural}.',
  'Change files with {slot:unified_file/edit}.',
  'A failed call says what to do next.',
].join(' ')

/** Options that decide how a server presents tools and answers to all clients. */
export interface PresentationOptions {
  /** List only tools that most calls need; search finds the rest. */
  lean?: boolean
  /** Send values with texts, and an output schema for each tool. */
  structured?: boolean
}
export interface ServerOptions extends PresentationOptions {
  /** The session that its calls belong to. */
  session: string
  /** `false` if the session ends with the call; then no approval is offered for the session. Default: `true`. */
  keepsSession?: boolean
}

const identity = { name: 'vtcode', version }

/** Creates a server that offers one connection the tools, resources and prompts of the kernel. */
export function createServer(
  kernel: Kernel,
  sdk: Sdk,
  { session, keepsSession = true, lean = false, structured = false }: ServerOptions,
): Server {
  const server = new sdk.Server(identity, {
    capabilities,
    instructions: kernel.inspection.renderText(instructions, { splitReads: true }),
    requestState: { verify: (state, context) => getCodec(sdk).verify(state, context) },
    // Code that uses an answer of a person checks it.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  })
  const connection: ClientConnection = { kernel, sdk, server, session, keepsSession }
  const quietly = (sending: Promise<void>) => void sending.catch(() => {})
  const values = new StructuredAnswers(kernel, structured)
  const stopReload = kernel.inspection.onReload(() => {
    values.forget()
    quietly(server.sendToolListChanged())
    quietly(server.sendResourceListChanged())
    quietly(server.sendPromptListChanged())
  })
  serveTools(connection, values, lean)
  const stopChanges = serveResources(connection)
  servePrompts(connection)
  serveCompletion(connection)
  server.onclose = () => {
    stopReload()
    stopChanges()
  }
  return server
}

function serveTools(connection: ClientConnection, values: StructuredAnswers, lean: boolean): void {
  const { kernel, server } = connection
  server.setRequestHandler('tools/list', async ({ params }, { mcpReq }) => {
    await waitForServers(kernel, mcpReq.signal)
    const { shown, next } = paginate(
      connection,
      kernel.tools({ lean, splitReads: true }).map((tool) => toMcpTool(tool, values)),
      params,
    )
    return { tools: shown, ...next }
  })
  server.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }, context) => {
    const structured = values.isWanted(connection, name, context)
      ? { next: { tool: name, input }, schema: kernel.describe(name)?.input }
      : undefined
    return runCall(connection, name, input, context, {
      surface: 'mcp',
      answer(result) {
        // A model that picks an unlisted name gets a failure; a client that invents one gets a protocol error.
        if (!result.ok && result.error.code === 'VT_TOOL_UNKNOWN' && !kernel.describe(name))
          throw createRequestError(connection, `Unknown tool: ${name}. ${result.error.message}`)
        // A tool whose example is a command line of a dialect also reports failures as text.
        const words =
          !result.ok && kernel.list().some((info) => isOwnName(name, info) && typeof info.example === 'string')
        return toCallToolResult(result, { words, structured })
      },
    })
  })
}

function toMcpTool(tool: ToolInfo, values: StructuredAnswers): Tool {
  const { name, description, input, effects } = tool
  const output = values.resolveOutputSchema(tool)
  const readOnlyHint = effects.every((effect) => effect === 'read' || effect === 'net' || effect === 'ask')
  return {
    name,
    description,
    inputSchema: { ...input, type: 'object' } as Tool['inputSchema'],
    ...(output && { outputSchema: { ...output, type: 'object' } as Tool['outputSchema'] }),
    annotations: {
      readOnlyHint,
      ...(!readOnlyHint && { destructiveHint: true }),
      openWorldHint: effects.includes('net') || effects.includes('exec'),
    },
  }
}
