import { deadline } from '../../../core/system/index.js'
import { programFile } from '../../../core/index.js'
import { createWorker } from '../../lib/base/index.js'
import { bareText, markupShape } from './bare.js'
import type { PageReading } from './reading.js'
import type { PageJob } from './worker.js'

// Beyond these nothing is gained by trying.
const most = { characters: 600_000, elements: 10_000, depth: 400 }
const ordinary = { characters: 300_000, elements: 2500 }

// V8 calls its built-in functions the slow way in a heap of less than 2 GB, which makes a page cost half as much again. So the thread for ordinary
// pages may have that much and is watched from outside instead, and pages that are known to be heavy go to a small heap.
const script = programFile('plugins/unified_search/web/worker.js')
const quick = createWorker<PageJob, PageReading>(script, { heap_mb: 2048, growth_mb: 64 })
const small = createWorker<PageJob, PageReading>(script, { heap_mb: 48 })

/** A page as Markdown, read within limits of size, depth, time and memory; beyond them its bare text. Rejects only when `signal` aborts. */
export async function readable(html: string, url: string, ms: number, signal: AbortSignal): Promise<PageReading> {
  const { elements, depth } = markupShape(html)
  if (html.length > most.characters || elements > most.elements || depth > most.depth) return bareText(html)
  const read = html.length > ordinary.characters || elements > ordinary.elements ? small : quick
  using limit = deadline(ms, signal)
  try {
    const reading = await read({ html, url }, limit.signal)
    return reading.markdown.trim() ? reading : bareText(html)
  } catch {
    signal.throwIfAborted()
    return bareText(html)
  }
}
