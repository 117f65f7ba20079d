import { startDeadline } from '../../../core/system/index.js'
import { programFile } from '../../../core/index.js'
import { createWorker } from '../../lib/base/index.js'
import { readBareText, measureMarkup } from './bare_text.js'
import type { PageReading } from './page_reading.js'
import type { PageJob } from './worker.js'

// Larger pages exceed the time limit of the reader.
const MAX_PAGE = { characters: 600_000, elements: 10_000, depth: 400 }
const ORDINARY_PAGE = { characters: 300_000, elements: 2500 }

// V8 calls its built-in functions more slowly in a heap of less than 2 GB, which adds half of the time to a page. So
// the thread of ordinary pages gets 2 GB and its growth is limited from outside; heavy pages get a small heap.
const script = programFile('plugins/unified_search/web/worker.js')
const quick = createWorker<PageJob, PageReading>(script, { heap_mb: 2048, growth_mb: 64 })
const small = createWorker<PageJob, PageReading>(script, { heap_mb: 48 })

/**
 * Reads a page as Markdown within limits of size, depth, time and memory, or else as plain text. Rejects only when
 * `signal` aborts.
 */
export async function readHtmlPage(html: string, url: string, ms: number, signal: AbortSignal): Promise<PageReading> {
  const { elements, depth } = measureMarkup(html)
  if (html.length > MAX_PAGE.characters || elements > MAX_PAGE.elements || depth > MAX_PAGE.depth)
    return readBareText(html)
  const read = html.length > ORDINARY_PAGE.characters || elements > ORDINARY_PAGE.elements ? small : quick
  using limit = startDeadline(ms, signal)
  try {
    const reading = await read({ html, url }, limit.signal)
    return reading.markdown.trim() ? reading : readBareText(html)
  } catch {
    signal.throwIfAborted()
    return readBareText(html)
  }
}
