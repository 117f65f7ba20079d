import { deadline, version } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { say } from '../../lib/terminal/index.js'
import { AgentError, agentSettings, messageOf, type AgentSettings } from '../base/index.js'

const patience_ms = 60_000

/** Where spans go: what was named, else the user's own setting; a bare address gets the path that OTLP gives it. Throws VT_CONFIG_INVALID. */
export function collectorOf(kernel: Kernel, named: string | true): URL {
  const { telemetry }: Pick<AgentSettings, 'telemetry'> = agentSettings(kernel)
  const address = named === true ? telemetry.otel_endpoint : named
  const hint =
    'Name it, as in --endpoint http://127.0.0.1:4318, or set telemetry.otel_endpoint in ~/.vtcode/vtcode.config.yaml.'
  if (address === undefined)
    throw new AgentError('VT_CONFIG_INVALID', '--endpoint has no address, and telemetry.otel_endpoint is not set.', {
      hint,
    })
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new AgentError('VT_CONFIG_INVALID', `'${address.slice(0, 200)}' is no address of a collector.`, { hint })
  if (url.username !== '' || url.password !== '')
    throw new AgentError('VT_CONFIG_INVALID', 'The address of a collector holds no user and no password.', { hint })
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url
}

/** Sends a document in pieces, as fast as the collector takes it. Throws VT_EXPORT_REFUSED with what it said. */
export async function sendSpans(url: URL, pieces: AsyncIterable<string>, io: Io): Promise<void> {
  const refused = (why: string) => new AgentError('VT_EXPORT_REFUSED', `${url.origin} did not take the spans: ${why}.`)
  const source = pieces[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await source.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
  using limit = deadline(patience_ms, io.signal)
  const headers = { 'content-type': 'application/json', 'user-agent': `vtcode/${version}` }
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
    redirect: 'error',
    signal: limit.signal,
  }
  let reply: Response
  let said: string
  try {
    reply = await fetch(url, init)
    said = (await reply.text()).slice(0, 64 * 1024)
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw refused(messageOf((error as { cause?: unknown }).cause ?? error))
  }
  if (!reply.ok) throw refused(`status ${reply.status}${said.trim() === '' ? '' : `, ${said.trim().slice(0, 300)}`}`)
  const rejected = rejectedIn(said)
  if (rejected !== undefined) say(io, 'warning', `The collector left spans out: ${rejected}`)
}

/** What a collector says that it left out of what it took otherwise. */
function rejectedIn(text: string): string | undefined {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown }
    }
    const spans = Number(partialSuccess?.rejectedSpans ?? 0)
    return spans > 0 ? `${spans}, ${JSON.stringify(partialSuccess?.errorMessage ?? '')}` : undefined
  } catch {
    return undefined
  }
}
