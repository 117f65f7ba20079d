import { definedOnly } from '../../../core/shapes/index.js'
import { redactText, toText } from '../../../core/text/index.js'
import { AgentError, messageOf, type Cause } from '../base/index.js'

/** A step that broke off before it was complete. */
export class Cut extends Error {}
/** Nothing came within a limit; `stage` says which. */
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

/** A fault that is ours, wherever a library has wrapped it. */
export function ownFault(error: unknown): AgentError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof AgentError) return at
  return undefined
}

const again = new Set([408, 409, 429, 500, 502, 503, 504, 529])
const quota = /insufficient_quota|billing|exceeded your current quota/i
const tooMuchAsked = /max_(completion_|output_)?tokens|maxOutputTokens/i
const tooMuchHint = 'Say max_output_tokens and context_window of the model in custom_providers, as the server has them.'
const laterHint = 'The server has a fault of its own: try again later. The session can be resumed.'
const tooLong =
  /context.{0,20}(length|window)|maximum context|too many tokens|prompt is too long|input is too long|exceeds the (maximum|model)/i

/** In the order in which they are tried. */
const refusals: [statuses: number[], pattern: RegExp, cause: Omit<Cause, 'message' | 'category'>][] = [
  [[401], /^/, { code: 'VT_LLM_AUTH', retry: 'auth' }],
  [[403], /^/, { code: 'VT_LLM_AUTH', retry: 'no' }],
  [[429], quota, { code: 'VT_LLM_QUOTA', retry: 'no' }],
  // Such a refusal names the window of the model too; a shorter conversation would not help.
  [[400, 422], tooMuchAsked, { code: 'VT_LLM_REQUEST', retry: 'no', hint: tooMuchHint }],
  [[400, 413, 422], tooLong, { code: 'VT_LLM_CONTEXT', retry: 'context' }],
]

/** Classifies an error; `begun` when an answer was under way. Secrets that a server repeats are redacted. */
export function causeOf(error: unknown, begun: boolean, now: number): Cause {
  const cause = meaning(error, begun, now)
  return { ...cause, message: redactText(cause.message).replace(/\.{2,}$/, '.') }
}

function meaning(error: unknown, begun: boolean, now: number): Cause {
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
  if (statusCode === undefined || statusCode < 300) return network(error, begun || statusCode !== undefined)
  const answer = `The model server answered ${statusCode}: ${wordsOf(error, responseBody)}`
  const category = `http ${statusCode}`
  const text = `${messageOf(error)} ${responseBody}`
  const refusal = refusals.find(([statuses, pattern]) => statuses.includes(statusCode) && pattern.test(text))
  if (refusal) return { message: answer, category, ...refusal[2] }
  if (!again.has(statusCode)) return { code: 'VT_LLM_REQUEST', message: answer, retry: 'no', category }
  const code = statusCode === 429 ? 'VT_LLM_RATE_LIMIT' : 'VT_LLM_REQUEST'
  const wait = definedOnly({ wait_ms: waitOf(responseHeaders, now) })
  return { code, message: answer, retry: 'request', category, ...wait, ...(statusCode >= 500 && { hint: laterHint }) }
}

/** The message of a server that refuses, also in the shapes of proxies. */
function wordsOf(error: unknown, body: string): string {
  const known = (error as { data?: unknown }).data !== undefined
  return (!known && spokenIn(body)) || messageOf(error)
}
function spokenIn(body: string): string | undefined {
  try {
    const { message, Message, error, detail } = JSON.parse(body) as Record<string, unknown>
    const text = [message, Message, (error as { message?: unknown } | undefined)?.message, error, detail].find(
      (one) => typeof one === 'string' && one !== '',
    )
    return text === undefined ? body.slice(0, 200) : toText(text).slice(0, 2000)
  } catch {
    // Of a page nobody wants the head.
    return /^\s*</.test(body) ? undefined : body.trim().slice(0, 200)
  }
}

// The connection stood, and then it did not.
const broken = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Nothing of an answer, or the connection broke within one. */
function network(error: unknown, begun: boolean): Cause {
  let deepest = error as { cause?: unknown; message?: string; code?: string }
  while (deepest.cause instanceof Error) deepest = deepest.cause
  // The library refused to send what it was given; it will again.
  const ofNetwork =
    deepest.code !== undefined || (error as Error).name === 'AI_APICallError' || error instanceof TypeError
  if (!begun && !ofNetwork)
    return {
      code: 'VT_LLM_REQUEST',
      message: `The request cannot be made: ${messageOf(error)}`,
      retry: 'no',
      category: 'request',
    }
  const detail = deepest.code ?? deepest.message ?? ''
  const message = messageOf(error).includes(detail) ? messageOf(error) : `${messageOf(error)} (${detail})`
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

// Where on the way to a server it ended, by what Node and undici say; a certificate is no better a second later.
const connecting = ['connect', 'the connection failed', 'request', /./] as const
const stages = [
  ['dns', 'its name has no address', 'request', /ENOTFOUND|EAI_AGAIN|ENODATA/],
  ['proxy', 'the proxy refuses', 'no', /Proxy response/i],
  ['tls', 'the certificate or the encryption is not accepted', 'no', /CERT|TLS|SSL|SELF_SIGNED|ALTNAME|LEAF_SIGNATURE/],
  ['address', 'its port is blocked', 'no', /^ ?bad port$/],
  ['protocol', 'what it answers is no HTTP that can be read', 'no', /HPE_|UND_ERR_HEADERS_OVERFLOW/],
  ['connect', 'no connection in time', 'request', /UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT/],
  connecting,
] as const

function waitOf(headers: Record<string, string>, now: number): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(ms)) return Math.max(0, ms)
  const after = headers['retry-after']
  if (after === undefined) return undefined
  const seconds = Number(after)
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now
  return Number.isFinite(until) ? Math.max(0, until) : undefined
}
