import type { CallToolResult, ClientCapabilities, InputRequests, Server, ServerContext, Tool } from '@modelcontextprotocol/server'
import { version, type Asker, type Call, type Kernel, type Result, type ToolInfo } from '../../../core/index.js'
import { answersOf, formOf } from './form.js'
import type { Sdk } from './sdk.js'

/** A server that shows the kernel's tools to one connection. */
export function createServer(kernel: Kernel, sdk: Sdk, session: string): Server {
  const server = new sdk.Server({ name: 'vtcode', version }, {
    capabilities: { tools: { listChanged: true } },
    instructions: 'Tools for reading, searching and changing the code of one workspace; paths are relative to its root. A failed call says what to do next.',
    // Answers of people are judged where they are used.
    jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
  })
  const stop = kernel.onReload(() => void server.sendToolListChanged().catch(() => {}))
  server.onclose = stop
  server.setRequestHandler('tools/list', () => ({ tools: kernel.tools().map(present) }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const asking = new Elicitations(sdk, server, context)
    const result = await kernel.call(params.name, params.arguments ?? {}, {
      signal: context.mcpReq.signal,
      session,
      surface: 'mcp',
      ...reporting(params._meta?.progressToken, context),
      ...(asking.possible && { approve: asking.approve, ask: asking.ask }),
    })
    if (!result.ok && result.error.code === 'VT_TOOL_UNKNOWN') throw new sdk.ProtocolError(-32602, `Unknown tool: ${params.name}. ${result.error.message}`)
    return asking.open(result) ? sdk.inputRequired({ inputRequests: asking.questions }) : answer(result)
  })
  return server
}

function present({ name, description, input, effects }: ToolInfo): Tool {
  const readOnlyHint = effects.every((effect) => effect === 'read' || effect === 'net' || effect === 'ask')
  return {
    name,
    description,
    inputSchema: { ...input, type: 'object' } as Tool['inputSchema'],
    annotations: { readOnlyHint, ...(!readOnlyHint && { destructiveHint: true }), openWorldHint: effects.includes('net') || effects.includes('exec') },
  }
}

function answer(result: Result): CallToolResult {
  const { notices = [] } = result
  const structured = result.ok ? result.output : { error: result.error }
  const text = (result.ok ? result.text : undefined) ?? JSON.stringify(structured)
  const remarks = notices.map(({ code, message }) => `\n[${code}] ${message}`).join('')
  return {
    content: [{ type: 'text', text: text + remarks }, ...((result.ok ? result.content : undefined) ?? [])] as CallToolResult['content'],
    structuredContent: structured as Record<string, unknown>,
    ...(!result.ok && { isError: true }),
    ...(notices.length > 0 && { _meta: { 'vtcode/notices': notices } }),
  }
}

/** Progress as the client asked for it; the figure always grows, as the protocol wants. */
function reporting(token: string | number | undefined, context: ServerContext) {
  if (token === undefined) return {}
  let last = 0
  return {
    onProgress: ({ done, total, text }: { done?: number; total?: number; text?: string }) => {
      last = done !== undefined && done > last ? done : last + Number.EPSILON * Math.max(1, last) * 2
      const params = { progressToken: token, progress: last, ...(total !== undefined && { total }), ...(text !== undefined && { message: text }) }
      void context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}

/**
 * Approvals and questions by elicitation. A call that needs an answer ends without it, the client is asked, and the call comes
 * once more with the answer; an answer counts for exactly the input it was given for.
 */
class Elicitations {
  readonly questions: InputRequests = {}
  readonly possible: boolean
  readonly #sdk: Sdk
  readonly #answers: Record<string, unknown>

  constructor(sdk: Sdk, server: Server, { mcpReq }: ServerContext) {
    // The 2026-07-28 revision sends them with each request, the earlier ones once.
    const envelope = mcpReq.envelope as { 'io.modelcontextprotocol/clientCapabilities'?: ClientCapabilities } | undefined
    const capabilities = envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? server.getClientCapabilities()
    // Without a mode a client means forms.
    const { form, url } = capabilities?.elicitation ?? { url: {} }
    this.possible = form !== undefined || url === undefined
    this.#sdk = sdk
    this.#answers = mcpReq.inputResponses ?? {}
  }

  readonly approve = async ({ call, reasons }: { call: Call; reasons: string[] }): Promise<boolean | undefined> => {
    const { answer, ask } = await this.#place('approve', [call.slot, call.input])
    if (answer !== undefined) return accepted(answer)
    ask({
      message: `${call.slot} asks for approval.\n${reasons.join('\n')}\n${JSON.stringify(call.input, null, 2)}`,
      requestedSchema: { type: 'object', properties: { approve: { type: 'boolean', title: 'Do it?', default: false } }, required: ['approve'] },
    })
    return undefined
  }

  readonly ask: Asker = async (questions) => {
    const { answer, ask } = await this.#place('ask', questions)
    if (answer !== undefined) return answersOf(questions, answer)
    ask(formOf(questions))
    throw new Error('The client is asked; the call comes once more with the answer.')
  }

  /** The answer to a question of this very content, or the way to have it asked. */
  async #place(kind: string, content: unknown) {
    const { createHash } = await import('node:crypto')
    const key = `${kind}-${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16)}`
    const ask = (form: Parameters<Sdk['inputRequired']['elicit']>[0]) => {
      this.questions[key] = this.#sdk.inputRequired.elicit(form)
    }
    return { answer: Object.hasOwn(this.#answers, key) ? this.#answers[key] : undefined, ask }
  }

  /** Whether the call waits for an answer that has not been asked for yet. */
  open(result: Result): boolean {
    return !result.ok && waiting.includes(result.error.code) && Object.keys(this.questions).length > 0
  }
}

const waiting = ['VT_POLICY_NEEDS_APPROVAL', 'VT_ASK_UNAVAILABLE']

function accepted(answer: unknown): boolean {
  const { action, content } = (answer ?? {}) as { action?: unknown; content?: { approve?: unknown } }
  return action === 'accept' && content?.approve === true
}
