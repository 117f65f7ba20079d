import type { JsonObject } from '../../../core/shapes/index.js'
import { cutAtCodePoint } from '../base/index.js'
import { takeFirstLines } from './first_lines.js'
import { indexLines } from './lines.js'
import { createMemorySource, readPage } from './page.js'
import { parseWantedPart, WHOLE_FILE, type ReadInput } from './request.js'

/** The part of a text that a read names. */
export interface ReadPart {
  /** The place of `content` in the fields of the answer. */
  output: JsonObject & { content: string }
  /** The content for a model; without a range its first lines. */
  shown: string
  /** The shown place, with the field that continues. */
  range: string
}

/** Reads a part of a text in memory as `readFile` reads it from a file; `undefined` for pages of a PDF. */
export async function readTextPart(text: string, input: ReadInput): Promise<ReadPart | undefined> {
  const want = parseWantedPart({ input })
  if (want.by === 'pages') return undefined
  const bytes = Buffer.from(text)
  if (want.by !== 'lines') {
    const from = want.by === 'bytes' ? want.offset : 0
    const piece = cutAtCodePoint(bytes.subarray(from), want.size, 'utf-8')
    const content = piece.toString()
    const range = `bytes ${from}-${from + piece.length} of ${bytes.length}`
    return { output: { content, offset_bytes: from, bytes_returned: piece.length }, shown: content, range }
  }
  const source = createMemorySource(bytes)
  const index = await indexLines(source, 0, new AbortController().signal)
  const { total } = index
  const { first, size, max } = want
  const asked = Math.min(total, size === undefined ? total : first + size - 1)
  const page = await readPage(source, index, first, asked, max)
  const content = page.bytes.toString()
  const lines = want === WHOLE_FILE ? takeFirstLines(page.bytes, (byte) => byte) : undefined
  const shown = lines?.text ?? content
  const last = shown === content ? page.last : lines!.lines
  const more = last < total ? `; next offset_lines=${last + 1}` : ''
  return {
    output: { content, start_line: first, end_line: page.last, total_lines: total },
    shown,
    range: `lines ${first}-${last} of ${total}${more}`,
  }
}
