import type { RequestStateCodec, Server } from '@modelcontextprotocol/server'
import { startDeadline } from '../../../core/system/index.js'
import { visibleLine, type CallOptions, type Kernel, type Problem } from '../../../core/index.js'
import { raceAbort } from '../../lib/base/index.js'
import { ClientQuestions, type McpRequest } from './client_questions.js'
import { slicePage } from './page.js'
import type { Sdk } from './sdk.js'

const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

/** One connected client, with all that the handlers of its requests need. */
export interface ClientConnection {
  readonly kernel: Kernel
  readonly sdk: Sdk
  readonly server: Server
  /** The session its calls belong to. */
  readonly session: string
  /** `true` if the session continues after the call. */
  readonly keepsSession: boolean
}

export interface McpCallOptions<Answer> {
  surface: string
  /** Contract: may throw a protocol error. */
  answer: (result: Awaited<ReturnType<Kernel['call']>>) => Answer
}

/** Runs a call for the client. Returns its answer, or the question that the client must answer first. */
export async function runCall<Answer>(
  { kernel, sdk, server, session, keepsSession }: ClientConnection,
  tool: string,
  input: unknown,
  context: McpRequest,
  run: McpCallOptions<Answer>,
) {
  const questions = new ClientQuestions(sdk, server, getCodec(sdk), context, keepsSession)
  const options: CallOptions = {
    session,
    surface: run.surface,
    splitReads: true,
    client: questions,
    signal: context.mcpReq.signal,
    onLog: createLogForwarder(context),
  }
  if (context.mcpReq._meta?.progressToken !== undefined)
    options.onProgress = createProgressReporter(context, context.mcpReq._meta.progressToken)
  questions.attachTo(options)
  const result = await kernel.call(tool, input, options)
  const request = questions.isWaiting(result) ? await questions.createInputRequest() : undefined
  if (request)
    void import('../../lib/hooks/index.js').then(({ notify }) =>
      notify(kernel, session, 'permission_prompt', `${tool} waits for an answer of the user.`),
    )
  return request ?? run.answer(result)
}

/**
 * Time that a list waits for servers that start, in milliseconds. Many clients wait for ten seconds in all.
 * Tools that arrive later cause a notification that the list has changed.
 */
const LIST_WAIT_MS = 3_000

/** Waits until starting servers have listed their tools, at most `LIST_WAIT_MS`. */
export async function waitForServers(kernel: Kernel, signal: AbortSignal): Promise<void> {
  using limit = startDeadline(LIST_WAIT_MS, signal)
  await raceAbort(limit.signal, kernel.inspection.loadDeferred()).catch(() => {})
}

/** Creates the error for a request with invalid parameters. */
export const createRequestError = ({ sdk }: ClientConnection, message: string, data?: unknown): Error =>
  new sdk.ProtocolError(INVALID_PARAMS, message, data)

/** Converts the problem of a call to a protocol error, for methods that cannot return a failure. */
export function toProtocolError({ sdk }: ClientConnection, { code, message, hint }: Problem, about: object): Error {
  return new sdk.ProtocolError(code.startsWith('VT_INPUT_') ? INVALID_PARAMS : INTERNAL_ERROR, message, {
    ...about,
    code,
    hint,
  })
}

/** Returns the items of the page at a cursor, and the cursor of the next page. */
export function paginate<T>(
  connection: ClientConnection,
  items: readonly T[],
  params: { cursor?: string | undefined } | undefined,
) {
  const found = slicePage(items, params?.cursor)
  if (!found) {
    const cursor = params?.cursor?.slice(0, 80) ?? ''
    throw createRequestError(connection, `Unknown cursor '${cursor}'; list again without a cursor.`)
  }
  const { items: shown, ...next } = found
  return { shown, next }
}

// One codec serves the process, because over HTTP each request of the 2026-07-28 revision has its own server.
let codec: RequestStateCodec | undefined
export const getCodec = (sdk: Sdk): RequestStateCodec =>
  (codec ??= sdk.createRequestStateCodec({
    key: crypto.getRandomValues(new Uint8Array(32)),
    bind: ({ mcpReq }) => mcpReq.method,
  }))

/**
 * Returns a function that sends progress to the client. The protocol wants a number that always grows: a report without
 * a larger number adds one step, or 0.01 after the call has reported numbers itself.
 */
function createProgressReporter(
  { mcpReq }: McpRequest,
  token: string | number,
): NonNullable<CallOptions['onProgress']> {
  let last = 0
  let step = 1
  return ({ done, total, text }) => {
    if (done !== undefined) step = 0.01
    const figure = done !== undefined && done > last ? done : Math.round((last + step) * 100) / 100
    // Large numbers cannot grow by so small a step.
    if (!(figure > last)) return
    last = figure
    const params = {
      progressToken: token,
      progress: last,
      ...(total !== undefined && { total }),
      ...(text !== undefined && { message: visibleLine(text.trimEnd()) }),
    }
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

/** Returns a function that sends log lines of plugins to the client, at its chosen level. */
const createLogForwarder =
  ({ mcpReq }: McpRequest): NonNullable<CallOptions['onLog']> =>
  (level, message) =>
    void mcpReq.log(level === 'warn' ? 'warning' : level, message, 'vtcode').catch(() => {})
