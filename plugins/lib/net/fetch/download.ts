import { takeFirst } from './body.js'
import { sendRequest, type HttpAnswer } from './send_request.js'
import { webFailure } from './failure.js'
import { checkHost, readUrl } from './guard.js'
import { toHost } from './hosts.js'
import type { WebSettings } from './settings.js'

const MAX_REDIRECTS = 5

interface HopOptions {
  signal: AbortSignal
  /** Refuses a hop by throwing, before it is opened. */
  check?: (url: URL) => void
}

/**
 * Downloads a file unchanged under the rules of every request: host and addresses of each hop are checked. Throws
 * VT_WEB_*.
 */
export async function download(
  from: string,
  { max_bytes, ...hops }: HopOptions & { max_bytes: number },
  settings: WebSettings,
): Promise<Buffer> {
  const { url, answer } = await openFinal(from, hops, settings)
  await using body = answer
  if (body.status !== 200) throw webFailure('VT_WEB_HTTP', `${toHost(url)} answers ${body.status} to ${url.href}.`)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body.body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > max_bytes) throw webFailure('VT_WEB_TOO_LARGE', `${url.href} is larger than ${max_bytes} bytes.`)
  }
  return Buffer.concat(chunks)
}

/** Returns the URL to which an address redirects in the end, with the same checks of each hop. Throws VT_WEB_*. */
export async function findFinalUrl(from: string, hops: HopOptions, settings: WebSettings): Promise<URL> {
  const { url, answer } = await openFinal(from, hops, settings)
  await answer[Symbol.asyncDispose]()
  return url
}

/** Follows redirects to the first other answer. A redirect from https to http is refused: others could change it. */
async function openFinal(
  from: string,
  { signal, check }: HopOptions,
  settings: WebSettings,
): Promise<{ url: URL; answer: HttpAnswer }> {
  let url = readUrl(from)
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    checkHost(url, settings)
    check?.(url)
    const answer = await sendRequest(url, { method: 'GET', headers: { accept: '*/*' }, signal }, settings)
    const location = takeFirst(answer.headers['location'])
    if (answer.status < 300 || answer.status >= 400 || location === undefined) return { url, answer }
    await answer[Symbol.asyncDispose]()
    const next = readUrl(location, url.href)
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw webFailure('VT_WEB_REDIRECTS', `${toHost(url)} redirects from https to ${next.origin}.`)
    url = next
  }
  throw webFailure('VT_WEB_REDIRECTS', `${from} redirects more than ${MAX_REDIRECTS} times.`)
}
