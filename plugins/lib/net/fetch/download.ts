import { takeFirst } from './body.js'
import { sendRequest } from './send_request.js'
import { webFailure } from './failure.js'
import { checkHost, readUrl } from './guard.js'
import { toHost } from './hosts.js'
import type { WebSettings } from './settings.js'

const maxRedirects = 5

/**
 * Downloads a file unchanged under the rules of every request: host and addresses of each hop are checked. Throws
 * VT_WEB_*.
 */
export async function download(
  from: string,
  { max_bytes, signal }: { max_bytes: number; signal: AbortSignal },
  settings: WebSettings,
): Promise<Buffer> {
  let url = readUrl(from)
  for (let hop = 0; hop <= maxRedirects; hop++) {
    checkHost(url, settings)
    await using answer = await sendRequest(url, { method: 'GET', headers: { accept: '*/*' }, signal }, settings)
    const location = takeFirst(answer.headers['location'])
    if (answer.status >= 300 && answer.status < 400 && location !== undefined) {
      url = readUrl(location, url.href)
      continue
    }
    if (answer.status !== 200)
      throw webFailure('VT_WEB_HTTP', `${toHost(url)} answers ${answer.status} to ${url.href}.`)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > max_bytes) throw webFailure('VT_WEB_TOO_LARGE', `${url.href} is larger than ${max_bytes} bytes.`)
    }
    return Buffer.concat(chunks)
  }
  throw webFailure('VT_WEB_REDIRECTS', `${from} redirects more than ${maxRedirects} times.`)
}
