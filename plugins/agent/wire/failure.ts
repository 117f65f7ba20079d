import { redactText, toText } from '../../../core/text/index.js'
import { trimEndChars } from '../../lib/base/index.js'
import { AgentError, toErrorMessage, type Cause } from '../base/index.js'
import { Cut, cutServerText, ServerFault } from './fault.js'
import { findFaultKind, readWait, type FaultKind } from './server_words.js'

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
const tooMuchHint =
  'Set max_output_tokens and context_window of the model in custom_providers to the limits of the server.'
const laterHint = 'The server failed: try again later. The session can be resumed.'
const modelHint = 'Choose a model that the server has: `vtcode models` lists them.'
const toolsHint = 'Choose a model that supports tools, or start the server with its option for tools.'
const loadingHint = 'The server still loads the model: try again later. The session can be resumed.'

/** The patience with a limit of requests, in milliseconds, without a setting of `retries`. */
const RATE_PATIENCE_MS = 2 * 3_600_000
const LOADING_PATIENCE_MS = 600_000
/** A year: the end of a longer wait may be no date any more. */
const MAX_WAIT_MS = 365 * 86_400_000

type Meaning = Omit<Cause, 'message' | 'category'>

/** The meaning of each cause for the request. */
const meanings: Readonly<Record<FaultKind, Meaning>> = {
  // The message names the window of the model too, but a shorter conversation would not help.
  output_limit: { code: 'VT_LLM_REQUEST', retry: 'no', hint: tooMuchHint },
  context: { code: 'VT_LLM_CONTEXT', retry: 'context' },
  rate: { code: 'VT_LLM_RATE_LIMIT', retry: 'request', patience_ms: RATE_PATIENCE_MS },
  quota: { code: 'VT_LLM_QUOTA', retry: 'no' },
  tools: { code: 'VT_LLM_REQUEST', retry: 'no', hint: toolsHint },
  model: { code: 'VT_LLM_REQUEST', retry: 'no', hint: modelHint },
  auth: { code: 'VT_LLM_AUTH', retry: 'no' },
  safety: { code: 'VT_LLM_REFUSED', retry: 'no' },
  loading: { code: 'VT_LLM_REQUEST', retry: 'request', patience_ms: LOADING_PATIENCE_MS, hint: loadingHint },
}

/** Returns the meaning of a refusal by its status, where that says more than any words. */
function findByStatus(status: number, kind: FaultKind | undefined): Meaning | undefined {
  if (status === 401) return { code: 'VT_LLM_AUTH', retry: 'auth' }
  if (status === 402) return meanings.quota
  if (status === 403 && kind === undefined) return meanings.auth
  return status === 429 && kind !== 'context' && kind !== 'quota' ? meanings.rate : undefined
}

/** Classifies an error; `begun` when an answer was under way. Secrets that a server repeats are redacted. */
export function toCause(error: unknown, begun: boolean, now: number): Cause {
  const cause = classifyError(error, begun, now)
  const message = redactText(cause.message)
  return { ...cause, message: message.endsWith('..') ? `${trimEndChars(message, '.')}.` : message }
}

/** Returns the fault that a library wrapped, or the error itself. */
function unwrapFault(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof Cut || at instanceof ServerFault) return at
  return error
}

function classifyError(thrown: unknown, begun: boolean, now: number): Cause {
  const error = unwrapFault(thrown)
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
  const message = `The model server answered ${statusCode}: ${findServerMessage(error, responseBody)}`
  const category = `http ${statusCode}`
  const text = `${toErrorMessage(error)} ${responseBody}`
  const kind = findFaultKind(statusCode, text)
  const meaning = findByStatus(statusCode, kind) ?? (kind && meanings[kind])
  const known = meaning ?? { code: 'VT_LLM_REQUEST', retry: again.has(statusCode) ? 'request' : 'no' }
  const isWaiting = known.retry === 'request'
  const wait = isWaiting ? readServerWait(responseHeaders, text, now) : {}
  return { message, category, ...(statusCode >= 500 && isWaiting && { hint: laterHint }), ...known, ...wait }
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
    return text === undefined ? cutServerText(body, 200) : cutServerText(toText(text), 2000)
  } catch {
    // The head of an HTML page explains nothing.
    return /^\s*</.test(body) ? undefined : cutServerText(body.trim(), 200)
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

/** Reads the wait that a server asks for, in a header or in words. */
function readServerWait(headers: Record<string, string>, text: string, now: number): Pick<Cause, 'wait_ms'> {
  const wait_ms = readRetryAfter(headers, now) ?? readWait(text)
  return wait_ms === undefined ? {} : { wait_ms: Math.min(wait_ms, MAX_WAIT_MS) }
}

function readRetryAfter(headers: Record<string, string>, now: number): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(ms)) return Math.max(0, ms)
  const after = headers['retry-after']
  if (after === undefined) return undefined
  const seconds = Number(after)
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now
  return Number.isFinite(until) ? Math.max(0, until) : undefined
}
