import {
  fail,
  ok,
  problem,
  programFile,
  type Call,
  type ContentBlock,
  type Handle,
  type Result,
} from '../../../core/index.js'
import { nextCall, pluralize, createWorker, WorkerError } from '../../lib/base/index.js'
import type { ReadInput } from '../../lib/reading/index.js'
import type { PdfJob, PdfPage, PdfReading } from './worker.js'

const MAX_PDF = { bytes: 32 * 1024 * 1024, pages: 20 }
const parse = createWorker<PdfJob, PdfReading>(programFile('plugins/unified_file/pdf/worker.js'), {
  heap_mb: 512,
  growth_mb: 100,
  seconds: 20,
})

/** Reads pages of a PDF: their text, and the pictures of scanned pages. */
export async function readPdf(call: Call<ReadInput>, file: Handle, signal: AbortSignal): Promise<Result> {
  const { first, last } = parseRange(call.input.pages)
  const { bytes } = file.stat
  if (bytes > MAX_PDF.bytes) return refuse(file, `it has ${bytes} bytes, and at most ${MAX_PDF.bytes} are read`)
  const reading = await parsePdf(
    { file: file.ref, bytes, first, last: Math.min(last, first + MAX_PDF.pages - 1) },
    signal,
  )
  if (typeof reading === 'string') return refuse(file, reading)
  if ('refused' in reading)
    return refuse(
      file,
      reading.refused === 'encrypted' ? 'it is encrypted and needs a password' : `it is broken (${reading.why})`,
    )
  const { total, pages } = reading
  const page = (pages: string) => nextCall('read', { ...call.given, pages })
  if (first > total) {
    return fail(
      'VT_FILE_OFFSET',
      `Page ${first} is past the end: '${file.path}' has ${pluralize(total, 'page', 'pages')}.`,
      {
        details: { page_count: total },
        next: page(`${Math.max(1, total - MAX_PDF.pages + 1)}-${total}`),
      },
    )
  }
  const end = first + pages.length - 1
  const asked = Math.min(last, total)
  const next = end < total ? page(`${end + 1}-${Math.min(total, end + MAX_PDF.pages)}`) : undefined
  const content = pages.map((one) => renderPage(one, total)).join('')
  const output = {
    path: file.path,
    content,
    content_kind: 'pdf',
    encoding: 'utf-8',
    page_count: total,
    start_page: first,
    end_page: end,
    truncated: end < asked && call.input.pages !== undefined,
    has_more: next !== undefined,
    size_bytes: bytes,
    ...(file.resolved !== file.path && { resolved_path: file.resolved }),
    ...(next && { next }),
  }
  const blocks = pages.flatMap(({ pictures }): ContentBlock[] =>
    pictures.map((picture) => ({ type: 'image', ...picture })),
  )
  const tail = next ? `[pages ${first}-${end} of ${total}; next pages=${String(next.input['pages'])}]` : ''
  return { ...ok(output, { text: content + tail }), ...(blocks.length > 0 && { content: blocks }) }
}

function parseRange(pages = '1-'): { first: number; last: number } {
  const [, from = '1', dash, to] = /^(\d+)(-)?(\d+)?$/.exec(pages) ?? []
  const [first, last] = [Number(from), to === undefined ? (dash ? Infinity : Number(from)) : Number(to)]
  if (first < 1 || last < first)
    throw problem('VT_INPUT_INVALID', {
      problem: `'pages' is '${pages}'; pages count from 1, and the last is not before the first.`,
    })
  return { first, last }
}

function renderPage({ number, text, pictures, left_out }: PdfPage, total: number): string {
  const images = pictures
    .map(({ mimeType, data }) => `[${mimeType}, ${Buffer.byteLength(data, 'base64')} bytes]\n`)
    .join('')
  const missing = left_out > 0 ? `[${pluralize(left_out, 'image', 'images')} that cannot be shown]\n` : ''
  const nothing = text.trim() === '' && images === '' && missing === '' ? '[no text]\n' : ''
  const lines = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `[page ${number} of ${total}]\n${lines}${images}${missing}${nothing}`
}

/** Parses a PDF; returns the reason as text if it fails. */
async function parsePdf(job: PdfJob, signal: AbortSignal): Promise<PdfReading | string> {
  try {
    return await parse(job, signal)
  } catch (error) {
    if (!(error instanceof WorkerError)) throw error
    const heavy = 'reading it takes more memory than allowed'
    return {
      slow: 'reading it takes longer than 20 s',
      heavy,
      ended: heavy,
      failed: `it is broken (${error.message})`,
    }[error.why]
  }
}

const refuse = (file: Handle, reason: string): Result =>
  fail('VT_FILE_PDF', `'${file.path}' cannot be read as a PDF: ${reason}.`)
