import type { Server, Tool } from '@modelcontextprotocol/server'
import { version, type Kernel, type ToolInfo } from '../../../core/index.js'
import { isOwnName } from '../../../core/registry/index.js'
import { toolAnswer } from './answer.js'
import { codecOf, paged, requestError, run, untilSettled, type ClientConnection } from './connection.js'
import type { Sdk } from './sdk.js'
import { serveCompletion, servePrompts, serveResources } from './serve_offers.js'
import { StructuredAnswers } from './structured.js'

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
}
/** What clients tell their models of all tools together; some cut it, so it has at most 600 bytes in any vocabulary. */
const instructions = [
  'Tools for the code of one workspace; paths are relative to its root.',
  'Before you read a file or folder that you do not know, use {slot:unified_search/outline}. Then {slot:unified_file/read} reads the lines that you need.',
  'To find text, use {slot:unified_search/grep} first. Use {slot:unified_search/list} for names of files.',
  'To find code by its shape, use {slot:unified_search/structural}.',
  'Change files with {slot:unified_file/edit}.',
  'A failed call says what to do next.',
].join(' ')

/** How one server shows its tools, to all of its clients. */
export interface Showing {
  /** List what most calls need, with a way to the rest. */
  lean?: boolean
  /** Answers hold their value beside their text, and all tools say what they answer. */
  structured?: boolean
}
export interface ServerOptions extends Showing {
  /** The session its calls belong to. */
  session: string
  /** Whether the session goes on after the call; what holds for a session is not offered otherwise. */
  lasting?: boolean
}

const identity = { name: 'vtcode', version }

/** A server that shows one connection what the kernel has: tools, resources and prompts. */
export function createServer(
  kernel: Kernel,
  sdk: Sdk,
  { session, lasting = true, lean = false, structured = false }: ServerOptions,
): Server {
  const server = new sdk.Server(identity, {
    capabilities,
    instructions: kernel.inspection.renderText(instructions, { splitReads: true }),
    requestState: { verify: (state, context) => codecOf(sdk).verify(state, context) },
    // Answers of people are judged where they are used.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  })
  const connection: ClientConnection = { kernel, sdk, server, session, lasting }
  const quietly = (sent: Promise<void>) => void sent.catch(() => {})
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
    await untilSettled(kernel, mcpReq.signal)
    const { shown, next } = paged(
      connection,
      kernel.tools({ lean, splitReads: true }).map((tool) => present(tool, values)),
      params,
    )
    return { tools: shown, ...next }
  })
  server.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }, context) => {
    const structured = values.wanted(connection, name, context)
    return run(connection, name, input, context, {
      surface: 'mcp',
      answer(result) {
        // A name that a model found is its own mistake; one that the client made up is the client's.
        if (!result.ok && result.error.code === 'VT_TOOL_UNKNOWN' && !kernel.describe(name))
          throw requestError(connection, `Unknown tool: ${name}. ${result.error.message}`)
        // Where the example of a tool is a call in the words of a dialect, so is what goes wrong.
        const words =
          !result.ok && kernel.list().some((info) => isOwnName(name, info) && typeof info.example === 'string')
        return toolAnswer(result, { words, structured })
      },
    })
  })
}

function present(tool: ToolInfo, values: StructuredAnswers): Tool {
  const { name, description, input, effects } = tool
  const output = values.schemaOf(tool)
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
