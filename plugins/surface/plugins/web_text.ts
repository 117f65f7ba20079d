import { deadline } from '../../../core/base/index.js'
import { VtError } from '../../../core/index.js'
import { download, hostOf, networkFailure, type WebSettings } from '../../lib/net/index.js'
import type { Starting } from './started.js'

const seconds = 30

/** A text of the web, by the rules of every request. Throws VT_WEB_*. */
export async function webText(url: URL, most: number, { kernel, io }: Starting): Promise<string> {
  using limit = deadline(seconds * 1_000, io.signal)
  try {
    return (await download(url.href, { max_bytes: most, signal: limit.signal }, kernel.settings['web'] as unknown as WebSettings)).toString('utf8')
  } catch (error) {
    throw error instanceof VtError ? error : networkFailure(error, hostOf(url))
  }
}
