import { fail, VtError, type JsonObject } from '../../../../core/shapes/index.js'

/** Creates a web error with a code of the slot. The manifest of the slot provides the hint. */
export function webFailure(
  code: string,
  message: string,
  extra: { details?: JsonObject; hint?: string; retryable?: boolean } = {},
): VtError {
  return new VtError(fail(code, message, extra).error)
}

/** Converts a network error to a kind that a reader can act upon. */
export function networkFailure(error: unknown, host: string): VtError {
  if (error instanceof VtError) return error
  const code = findErrorCode(error)
  const kind = kinds.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection'
  return webFailure('VT_WEB_NETWORK', `${host}: ${DESCRIPTIONS[kind]}${code ? ` (${code})` : ''}.`, {
    details: { kind },
  })
}

type Kind = 'dns' | 'tls' | 'cut' | 'protocol' | 'connection'
const kinds: [RegExp, Kind][] = [
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/, 'dns'],
  [/CERT|TLS|SSL|SELF_SIGNED|ALTNAME|LEAF_SIGNATURE/, 'tls'],
  [/^(Z_|ERR_STREAM_PREMATURE_CLOSE|UND_ERR_ABORTED|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ERR_BROTLI|ERR__)/, 'cut'],
  [/^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_INFO|UND_ERR_RESPONSE)/, 'protocol'],
]
const DESCRIPTIONS: Record<Kind, string> = {
  dns: 'the name has no address',
  tls: 'the certificate or the encryption is not accepted',
  cut: 'the body ended early or is damaged',
  protocol: 'the answer is not valid HTTP',
  connection: 'the connection failed',
}

function findErrorCode(error: unknown): string {
  const { code, errors, cause } = (error ?? {}) as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  return errors?.length ? findErrorCode(errors[0]) : cause ? findErrorCode(cause) : ''
}

/** Shortens a URL for messages. */
export const shortenUrl = (url: string): string => (url.length > 120 ? `${url.slice(0, 119)}…` : url)
