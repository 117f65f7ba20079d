import { startDeadline, version } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { say } from '../../lib/terminal/index.js'
import { AgentError, resolveAgentSettings, toErrorMessage, type AgentSettings } from '../base/index.js'

const TIMEOUT_MS = 60_000

/**
 * Returns the address of the collector: `given`, or the user's setting if the flag has no value (`true`). A bare
 * address gets the default path of OTLP. Throws VT_CONFIG_INVALID.
 */
export function resolveCollector(kernel: Kernel, given: string | true): URL {
  const { telemetry }: Pick<AgentSettings, 'telemetry'> = resolveAgentSettings(kernel)
  const address = given === true ? telemetry.otel_endpoint : given
  const hint =
    'Give an address, such as --endpoint http://127.0.0.1:4318, ' +
    'or set telemetry.otel_endpoint in ~/.vtcode/vtcode.config.yaml.'
  if (address === undefined)
    throw new AgentError('VT_CONFIG_INVALID', '--endpoint has no address, and telemetry.otel_endpoint is not set.', {
      hint,
    })
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new AgentError('VT_CONFIG_INVALID', `'${address.slice(0, 200)}' is not an http or https address.`, { hint })
  if (url.username !== '' || url.password !== '')
    throw new AgentError('VT_CONFIG_INVALID', 'The address of a collector must not contain a user or password.', {
      hint,
    })
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url
}

/** Streams a document to the collector. Throws VT_EXPORT_REFUSED with its answer or the network's failure. */
export async function sendSpans(url: URL, pieces: AsyncIterable<string>, io: Io): Promise<void> {
  const createFault = (problem: string) => new AgentError('VT_EXPORT_REFUSED', `${problem}.`)
  const source = pieces[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await source.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
  using limit = startDeadline(TIMEOUT_MS, io.signal)
  const headers = { 'content-type': 'application/json', 'user-agent': `vtcode/${version}` }
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
    redirect: 'error',
    signal: limit.signal,
  }
  let response: Response
  let responseText: string
  try {
    response = await fetch(url, init)
    responseText = (await response.text()).slice(0, 64 * 1024)
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw createFault(
      `${url.origin} could not be reached: ${toErrorMessage((error as { cause?: unknown }).cause ?? error)}`,
    )
  }
  if (!response.ok)
    throw createFault(
      `${url.origin} rejected the spans: ` +
        `status ${response.status}${responseText.trim() === '' ? '' : `, ${responseText.trim().slice(0, 300)}`}`,
    )
  const rejected = parseRejection(responseText)
  if (rejected !== undefined) say(io, 'warning', `The collector rejected ${rejected}`)
}

/** Describes the spans that a collector rejected from an accepted document: their number and its message. */
function parseRejection(text: string): string | undefined {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown }
    }
    const spans = Number(partialSuccess?.rejectedSpans ?? 0)
    const number = spans === 1 ? '1 span' : `${spans} spans`
    return spans > 0 ? `${number}: ${JSON.stringify(partialSuccess?.errorMessage ?? '')}` : undefined
  } catch {
    return undefined
  }
}
