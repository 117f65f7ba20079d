import { omitUndefined } from '../../../core/shapes/index.js'
import { redactText, toText } from '../../../core/text/index.js'
import { AgentError, toErrorMessage, type Cause } from '../base/index.js'

/** A step that broke off before it was complete. */
export class Cut extends Error {}
/** The server sent nothing within a limit; `stage` names the limit. */
export class Stalled extends Error {
  constructor(
    readonly stage: 'connect' | 'first_token' | 'idle' | 'total',
    ms: number,
  ) {
    super(
      {
        connect: 'no connection',
        first_token: 'no first token',
        idle: 'silence in the middle of the answer',
        total: 'no complete answer',
      }[stage] + ` for ${ms} ms`,
    )
  }
}

/** Returns an AgentError, even if a library wrapped it. */
export function findOwnFault(error: unknown): AgentError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof AgentError) return at
  return undefined
}

const again = new Set([408, 409, 429, 500, 502, 503, 504, 529])
const quota = /insufficient_quota|billing|exceeded your current quota/i
const tooMuchAsked = /max_(completion_|output_)?tokens|maxOutputTokens/i
const tooMuchHint =
  'Set max_output_tokens and context_window of the model in custom_providers to the limits of the ' + 'server.'
const laterHint = 'The server failed: try again later. The session can be resumed.'
const tooLong = new RegExp(
  'context.{0,20}(length|window)|maximum context|too many tokens|' +
    'prompt is too long|input is too long|exceeds the (maximum|model)',
  'i',
)

/** Rules for refusals, tried in order. */
const refusals: [statuses: number[], pattern: RegExp, cause: Omit<Cause, 'message' | 'category'>][] = [
  [[401], /^/, { code: 'VT_LLM_AUTH', retry: 'auth' }],
  [[403], /^/, { code: 'VT_LLM_AUTH', retry: 'no' }],
  [[429], quota, { code: 'VT_LLM_QUOTA', retry: 'no' }],
  // The message names the window of the model too, but a shorter conversation would not help.
  [[400, 422], tooMuchAsked, { code: 'VT_LLM_REQUEST', retry: 'no', hint: tooMuchHint }],
  [[400, 413, 422], tooLong, { code: 'VT_LLM_CONTEXT', retry: 'context' }],
]

/** Classifies an error; `begun` when an answer was under way. Secrets that a server repeats are redacted. */
export function toCause(error: unknown, begun: boolean, now: number): Cause {
  const cause = classifyError(error, begun, now)
  return { ...cause, message: redactText(cause.message).replace(/\.{2,}$/, '.') }
}

function classifyError(error: unknown, begun: boolean, now: number): Cause {
  if (error instanceof Stalled)
    return {
      code: 'VT_LLM_TIMEOUT',
      message: `The model server: ${error.message}.`,
      retry: error.stage === 'total' ? 'no' : 'stream',
      category: error.stage,
    }
  if (error instanceof Cut) return { code: 'VT_LLM_CUT', message: error.message, retry: 'stream', category: 'cut' }
  const {
    statusCode,
    responseBody = '',
    responseHeaders = {},
  } = error as { statusCode?: number; responseBody?: string; responseHeaders?: Record<string, string> }
  // A status of success on an error: the connection broke within the answer.
  if (statusCode === undefined || statusCode < 300)
    return classifyNetworkError(error, begun || statusCode !== undefined)
  const answer = `The model server answered ${statusCode}: ${findServerMessage(error, responseBody)}`
  const category = `http ${statusCode}`
  const text = `${toErrorMessage(error)} ${responseBody}`
  const refusal = refusals.find(([statuses, pattern]) => statuses.includes(statusCode) && pattern.test(text))
  if (refusal) return { message: answer, category, ...refusal[2] }
  if (!again.has(statusCode)) return { code: 'VT_LLM_REQUEST', message: answer, retry: 'no', category }
  const code = statusCode === 429 ? 'VT_LLM_RATE_LIMIT' : 'VT_LLM_REQUEST'
  const wait = omitUndefined({ wait_ms: readRetryAfter(responseHeaders, now) })
  return { code, message: answer, retry: 'request', category, ...wait, ...(statusCode >= 500 && { hint: laterHint }) }
}

/** The message of a server that refuses, also in the shapes of proxies. */
function findServerMessage(error: unknown, body: string): string {
  const known = (error as { data?: unknown }).data !== undefined
  return (!known && parseServerMessage(body)) || toErrorMessage(error)
}
function parseServerMessage(body: string): string | undefined {
  try {
    const { message, Message, error, detail } = JSON.parse(body) as Record<string, unknown>
    const text = [message, Message, (error as { message?: unknown } | undefined)?.message, error, detail].find(
      (one) => typeof one === 'string' && one !== '',
    )
    return text === undefined ? body.slice(0, 200) : toText(text).slice(0, 2000)
  } catch {
    // The head of an HTML page explains nothing.
    return /^\s*</.test(body) ? undefined : body.trim().slice(0, 200)
  }
}

// Errors of connections that were open before.
const broken = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Classifies a failure without an answer, or a connection that broke within one. */
function classifyNetworkError(error: unknown, begun: boolean): Cause {
  let deepest = error as { cause?: unknown; message?: string; code?: string }
  while (deepest.cause instanceof Error) deepest = deepest.cause
  // The library rejects the request; a retry would fail too.
  const ofNetwork =
    deepest.code !== undefined || (error as Error).name === 'AI_APICallError' || error instanceof TypeError
  if (!begun && !ofNetwork)
    return {
      code: 'VT_LLM_REQUEST',
      message: `The request cannot be made: ${toErrorMessage(error)}`,
      retry: 'no',
      category: 'request',
    }
  const detail = deepest.code ?? deepest.message ?? ''
  const message = toErrorMessage(error).includes(detail)
    ? toErrorMessage(error)
    : `${toErrorMessage(error)} (${detail})`
  if (begun || broken.has(deepest.code ?? ''))
    return { code: 'VT_LLM_CUT', message: `The answer broke off: ${message}`, retry: 'stream', category: 'cut' }
  const [stage, says, retry] =
    stages.find(([, , , sign]) => sign.test(`${deepest.code ?? ''} ${deepest.message ?? ''}`)) ?? connecting
  return {
    code: 'VT_LLM_REQUEST',
    message: `The model server cannot be reached: ${says}. ${message}`,
    retry,
    category: stage,
  }
}

// Stages of a connection, by the errors of Node and undici. A certificate error is not retried.
const connecting = ['connect', 'the connection failed', 'request', /./] as const
const stages = [
  ['dns', 'its name has no address', 'request', /ENOTFOUND|EAI_AGAIN|ENODATA/],
  ['proxy', 'the proxy refuses', 'no', /Proxy response/i],
  ['tls', 'the certificate or the encryption is not accepted', 'no', /CERT|TLS|SSL|SELF_SIGNED|ALTNAME|LEAF_SIGNATURE/],
  ['address', 'its port is blocked', 'no', /^ ?bad port$/],
  ['protocol', 'its answer is not valid HTTP', 'no', /HPE_|UND_ERR_HEADERS_OVERFLOW/],
  ['connect', 'no connection in time', 'request', /UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT/],
  connecting,
] as const

function readRetryAfter(headers: Record<string, string>, now: number): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(ms)) return Math.max(0, ms)
  const after = headers['retry-after']
  if (after === undefined) return undefined
  const seconds = Number(after)
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now
  return Number.isFinite(until) ? Math.max(0, until) : undefined
}
