import type { CallOptions, ContentBlock, JsonObject, Kernel } from '../../../core/index.js'
import { nextLine, successText } from '../../lib/base/index.js'
import { loadSdk } from './sdk.js'
import { createServer } from './server.js'

/** Who answers questions of these tools, what is left of their rights, and whose calls they are. */
export type AIToolOptions = Pick<CallOptions, 'approve' | 'ask' | 'only' | 'session' | 'mode'> & {
  /** What most calls need, with a way to the rest; default: `true`. */
  lean?: boolean
}
/** A tool of the AI SDK, as `generateText`, `streamText` and agents of it take it. */
export interface AITool {
  readonly description: string
  readonly inputSchema: { readonly jsonSchema: JsonObject; readonly validate: undefined }
  execute(input: unknown, options: { abortSignal?: AbortSignal }): Promise<AIToolOutput>
  toModelOutput(answer: { output: AIToolOutput } | AIToolOutput): { type: 'text' | 'error-text'; value: string }
}
export interface AIToolOutput {
  readonly ok: boolean
  /** What the model reads. */
  readonly text: string
  readonly output?: JsonObject
  readonly content?: readonly ContentBlock[]
  readonly code?: string
}

/** Under this name the AI SDK knows a schema of its own, in each of its versions. */
const schemaMark = Symbol.for('vercel.ai.schema')

/** The tools of a kernel for the AI SDK, by their names. A failed call is an answer that says what to do next; it throws nothing. */
export function toAITools(kernel: Kernel, { lean = true, only, ...how }: AIToolOptions = {}): Record<string, AITool> {
  const tools = kernel.tools({ lean, ...(only?.tools && { only: only.tools }) })
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [
      name,
      {
        description,
        // The kernel checks what a model sends, and says what is wrong with it in words for models.
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
            text: [`${code}: ${message}`, hint, ...nextLine(result.error)].filter(Boolean).join('\n'),
          }
        },
        // Version 6 hands it over inside of an object, version 5 alone.
        toModelOutput: (answer) => asText('ok' in answer ? answer : answer.output),
      } satisfies AITool,
    ]),
  )
}

const asText = ({ ok, text }: AIToolOutput) => ({ type: ok ? ('text' as const) : ('error-text' as const), value: text })

/** A transport of the MCP SDK, by its form. */
export interface McpTransport {
  start(): Promise<void>
  send(message: never, options?: never): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never, extra?: never) => void) | undefined
}

/** Serves a kernel to an MCP client in the same process, over any transport of the SDK, such as half of a linked pair. Ends with the transport. */
export async function serveMcp(
  kernel: Kernel,
  transport: McpTransport,
  { session = `embedded-${crypto.randomUUID().slice(0, 8)}`, lean = false }: { session?: string; lean?: boolean } = {},
): Promise<void> {
  const server = createServer(kernel, loadSdk('stdio'), { session, lean })
  const closed = server.onclose
  server.onclose = () => {
    closed?.()
    void kernel.endSession(session)
  }
  await server.connect(transport as never)
}
