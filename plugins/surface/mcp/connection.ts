import type { RequestStateCodec, Server } from '@modelcontextprotocol/server'
import { deadline } from '../../../core/system/index.js'
import { visibleLine, type CallOptions, type Kernel, type Problem } from '../../../core/index.js'
import { raceAbort } from '../../lib/base/index.js'
import { ClientQuestions, type McpRequest } from './asking.js'
import { page } from './page.js'
import type { Sdk } from './sdk.js'

const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

/** One client at the other end, as the handlers of its requests see it. */
export interface ClientConnection {
  readonly kernel: Kernel
  readonly sdk: Sdk
  readonly server: Server
  /** The session its calls belong to. */
  readonly session: string
  readonly lasting: boolean
}

export interface Run<Answer> {
  surface: string
  /** Contract: may throw a protocol error. */
  answer: (result: Awaited<ReturnType<Kernel['call']>>) => Answer
}

/** One call for the client; its answer, or what the client has to be asked first. */
export async function run<Answer>(
  { kernel, sdk, server, session, lasting }: ClientConnection,
  tool: string,
  input: unknown,
  context: McpRequest,
  how: Run<Answer>,
) {
  const asking = new ClientQuestions(sdk, server, codecOf(sdk), context, lasting)
  const options: CallOptions = {
    session,
    surface: how.surface,
    splitReads: true,
    client: asking,
    signal: context.mcpReq.signal,
    onLog: logging(context),
  }
  if (context.mcpReq._meta?.progressToken !== undefined)
    options.onProgress = reporting(context, context.mcpReq._meta.progressToken)
  asking.answer(options)
  const result = await kernel.call(tool, input, options)
  const open = asking.isOpen(result) ? await asking.open() : undefined
  if (open)
    void import('../../lib/hooks/index.js').then(({ notify }) =>
      notify(kernel, session, 'permission_prompt', `${tool} waits for an answer of the user.`),
    )
  return open ?? how.answer(result)
}

/** How long a list waits for servers that start, in milliseconds: many clients wait for ten seconds in all. What comes later is a changed list. */
const LIST_WAIT = 3_000

/** Waits for servers that are being started to be asked what they offer. */
export async function untilSettled(kernel: Kernel, signal: AbortSignal): Promise<void> {
  using limit = deadline(LIST_WAIT, signal)
  await raceAbort(limit.signal, kernel.inspection.loadDeferred()).catch(() => {})
}

/** A request that cannot be served as it stands. */
export const requestError = ({ sdk }: ClientConnection, message: string, data?: unknown): Error =>
  new sdk.ProtocolError(INVALID_PARAMS, message, data)

/** A failed call where the protocol knows errors only; wrong input is the caller's. */
export function failedRequest({ sdk }: ClientConnection, { code, message, hint }: Problem, about: object): Error {
  return new sdk.ProtocolError(code.startsWith('VT_INPUT_') ? INVALID_PARAMS : INTERNAL_ERROR, message, {
    ...about,
    code,
    hint,
  })
}

/** The items of the page that a cursor stands for, and the cursor of the next one. */
export function paged<T>(
  connection: ClientConnection,
  items: readonly T[],
  params: { cursor?: string | undefined } | undefined,
) {
  const found = page(items, params?.cursor)
  if (!found) throw requestError(connection, 'The cursor is unknown.')
  const { items: shown, ...next } = found
  return { shown, next }
}

// One for the process: over HTTP each request of the 2026-07-28 revision has a server of its own.
let codec: RequestStateCodec | undefined
export const codecOf = (sdk: Sdk): RequestStateCodec =>
  (codec ??= sdk.createRequestStateCodec({
    key: crypto.getRandomValues(new Uint8Array(32)),
    bind: ({ mcpReq }) => mcpReq.method,
  }))

/** Progress as the client asked for it. The figure always grows, as the protocol wants: a report without a larger one counts as one step, or as a hundredth behind a figure of the call itself. */
function reporting({ mcpReq }: McpRequest, token: string | number): NonNullable<CallOptions['onProgress']> {
  let last = 0
  let step = 1
  return ({ done, total, text }) => {
    if (done !== undefined) step = 0.01
    const figure = done !== undefined && done > last ? done : Math.round((last + step) * 100) / 100
    // Beyond that no number is larger by so little.
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

/** What plugins log, at the level the client wants to hear. */
const logging =
  ({ mcpReq }: McpRequest): NonNullable<CallOptions['onLog']> =>
  (level, message) =>
    void mcpReq.log(level === 'warn' ? 'warning' : level, message, 'vtcode').catch(() => {})
