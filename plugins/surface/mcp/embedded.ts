import type { CallOptions, ContentBlock, JsonObject, Kernel } from '../../../core/index.js'
import { detailLines, successText } from '../../lib/base/index.js'
import { loadSdk } from './sdk.js'
import { createServer } from './server.js'

/** Options of the calls of these tools: answers to questions, rights, session and mode. */
export type AIToolOptions = Pick<CallOptions, 'approve' | 'ask' | 'only' | 'session' | 'mode'> & {
  /** Lists only lean tools with their usual fields, and how to find the rest. Default: `true`. */
  lean?: boolean
}
/** A tool for `generateText`, `streamText` and agents of the AI SDK. */
export interface AITool {
  readonly description: string
  readonly inputSchema: { readonly jsonSchema: JsonObject; readonly validate: undefined }
  execute(input: unknown, options: { abortSignal?: AbortSignal }): Promise<AIToolOutput>
  toModelOutput(answer: { output: AIToolOutput } | AIToolOutput): { type: 'text' | 'error-text'; value: string }
}
export interface AIToolOutput {
  readonly ok: boolean
  /** The text that the model reads. */
  readonly text: string
  readonly output?: JsonObject
  readonly content?: readonly ContentBlock[]
  readonly code?: string
}

/** The key by which all versions of the AI SDK recognize a schema. */
const schemaMark = Symbol.for('vercel.ai.schema')

/** Returns the tools of a kernel for the AI SDK, by name. A failed call never throws; its text has the next step. */
export function toAITools(kernel: Kernel, { lean = true, only, ...how }: AIToolOptions = {}): Record<string, AITool> {
  const tools = kernel.tools({ lean, ...(only?.tools && { only: only.tools }) })
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [
      name,
      {
        description,
        // The kernel checks the input of a model itself, with errors that are written for models.
        inputSchema: Object.assign(
          { jsonSchema: { ...input, type: 'object' }, validate: undefined },
          { [schemaMark]: true },
        ),
        async execute(given: unknown, { abortSignal }: { abortSignal?: AbortSignal } = {}): Promise<AIToolOutput> {
          const result = await kernel.call(name, given ?? {}, {
            surface: 'ai',
            ...how,
            ...(only && { only }),
            ...(abortSignal && { signal: abortSignal }),
          })
          if (result.ok)
            return {
              ok: true,
              text: successText(result),
              output: result.output,
              ...(result.content && { content: result.content }),
            }
          const { code, message, hint } = result.error
          return {
            ok: false,
            code,
            text: [`${code}: ${message}`, hint, ...detailLines(result.error)].filter(Boolean).join('\n'),
          }
        },
        // Version 6 of the AI SDK passes `{ output }`, version 5 the output itself.
        toModelOutput: (answer) => toModelText('ok' in answer ? answer : answer.output),
      } satisfies AITool,
    ]),
  )
}

const toModelText = ({ ok, text }: AIToolOutput) => ({
  type: ok ? ('text' as const) : ('error-text' as const),
  value: text,
})

/** The methods of a transport of the MCP SDK. */
export interface McpTransport {
  start(): Promise<void>
  send(message: never, options?: never): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never, extra?: never) => void) | undefined
}

/**
 * Serves a kernel to an MCP client in the same process, over any transport of the SDK, such as half of a linked pair.
 * The session ends when the transport closes.
 */
export async function serveMcp(
  kernel: Kernel,
  transport: McpTransport,
  { session = `embedded-${crypto.randomUUID().slice(0, 8)}`, lean = false }: { session?: string; lean?: boolean } = {},
): Promise<void> {
  const server = createServer(kernel, loadSdk('stdio'), { session, lean })
  const previousOnClose = server.onclose
  server.onclose = () => {
    previousOnClose?.()
    void kernel.endSession(session)
  }
  await server.connect(transport as never)
}
