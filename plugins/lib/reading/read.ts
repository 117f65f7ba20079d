import { definedOnly, fail, VtError, type Call, type JsonObject, type Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import {
  cutAtCodePoint,
  decodeBytes,
  HEAD_BYTES,
  nextCall,
  pluralize,
  detectTextForm,
  shortenHash,
  type TextForm,
} from '../base/index.js'
import { createListCall, createMissingPathError, type Reads } from '../files/index.js'
import { again, fileAnswer } from './answer.js'
import { sliceBytes } from './bytes.js'
import { holdsPdf, imageType, lookAtImage, mostOfImage, namesImage } from './image.js'
import { indexLines, keptIndex } from './lines.js'
import { fileOffset, hashOfText, pageOf, fileText } from './page.js'
import { everything, wanted, type ReadInput, type WantedPart } from './request.js'
import { firstLines } from './shown.js'

type Bytes = Extract<WantedPart, { by: 'bytes' }>
type Lines = Extract<WantedPart, { by: 'lines' }>

export type { ReadInput }
/** Where a file is read, and who is told of what was seen of it. */
export interface ReadPlace {
  workspace: Workspace
  signal: AbortSignal
  reads: Pick<Reads, 'remember'>
  /** Reads pages of a PDF, where somebody can. */
  pdf?: (call: Call<ReadInput>, file: Handle) => Promise<Result>
}

/** The whole of a file, a page of its lines, or a range of its bytes. */
export async function readFile(call: Call<ReadInput>, place: ReadPlace): Promise<Result> {
  const want = wanted(call)
  await using file = await open(call, place)
  return await read(call, file, want, place)
}

async function read(call: Call<ReadInput>, file: Handle, want: WantedPart, place: ReadPlace): Promise<Result> {
  if (want.by === 'bytes') return readBytes(call, file, want, place)
  const head = await file.read(0, HEAD_BYTES)
  if (place.pdf && (want.by === 'pages' || want === everything) && holdsPdf(head)) return place.pdf(call, file)
  if (want.by === 'pages')
    return fail('VT_FILE_PDF', `'${file.path}' has no pages: it is no PDF.`, { next: again(call, {}) })
  const form = detectTextForm(head)
  const looks = imageType(head) !== undefined && (form.binary || decodeBytes(head, 'utf-8').lossy)
  if (looks || (form.binary && namesImage(file.path))) return readImage(call, file, place)
  if (form.binary) return refuseBinary(call)
  if (want.by === 'lines') return readLines(call, file, form, want, place)
  return file.stat.bytes > want.size
    ? readStart(call, file, form, want.size, place)
    : readLines(call, file, form, everything, place)
}

async function readLines(
  call: Call<ReadInput>,
  file: Handle,
  form: TextForm,
  want: Lines,
  { signal, reads }: ReadPlace,
): Promise<Result> {
  const text = await fileText(file, form)
  const { source, from, whole } = text
  const index = whole ? await indexLines(source, from, signal) : await keptIndex(file.stat, source, from, signal)
  const { total } = index
  const { first, size, max } = want
  if (first > Math.max(1, total)) {
    const next = again(call, { offset_lines: Math.max(1, total - (size ?? 400) + 1), page_size_lines: size ?? 400 })
    return fail('VT_FILE_OFFSET', `Line ${first} is past the end: '${file.path}' has ${pluralize(total, 'line')}.`, {
      details: { total_lines: total },
      next,
    })
  }
  const asked = Math.min(total, size === undefined ? total : first + size - 1)
  const page = await pageOf(source, index, first, asked, max)
  const { text: content, lossy } = decodeBytes(page.bytes, 'utf-8')
  const hash = hashOfText(text, index)
  reads.remember(file.resolved, { stat: file.stat, ...definedOnly({ hash, bytes: whole }) })

  const next = page.cut
    ? again(call, { offset_bytes: await fileOffset(text, form, page.end) })
    : again(call, linesAfter(call.input, page.last, size))
  const output = {
    content,
    encoding: form.encoding,
    truncated: page.cut || page.last < asked,
    start_line: first,
    end_line: page.last,
    total_lines: total,
    ...definedOnly({ hash }),
    ...((lossy || text.lossy) && { lossy: true }),
    eol: index.eol,
    bom: form.bom > 0,
  }
  const hasMore = page.cut || page.last < total
  const answer = fileAnswer(file, output, `lines ${first}-${page.last} of ${total}`, hasMore ? next : undefined)
  if (want !== everything) return answer
  // Without a range the value is whole; its text is the beginning.
  const wide = (byte: number) => form.bom + 2 * page.bytes.toString('utf8', 0, byte).length
  const shown = firstLines(page.bytes, (byte) => (form.encoding === 'utf-8' ? text.from + byte : wide(byte)))
  const more = `[lines 1-${shown.lines} of ${total}; next offset_lines=${shown.lines + 1}]`
  return { ...answer, text: shown.text + (shown.lines < page.last ? more : answer.text!.slice(content.length)) }
}

/** The range that continues a read after its last line. */
function linesAfter({ page_size_lines, end_line, max_bytes }: ReadInput, last: number, size?: number): JsonObject {
  const ends = end_line === undefined || last < end_line
  const range = ends ? definedOnly({ page_size_lines, end_line }) : { page_size_lines: Math.min(size!, 20_000) }
  return { offset_lines: last + 1, ...range, ...definedOnly({ max_bytes }) }
}

/** The first bytes of a text that is longer than asked for. */
async function readStart(
  call: Call<ReadInput>,
  file: Handle,
  { encoding, bom }: TextForm,
  size: number,
  { reads }: ReadPlace,
): Promise<Result> {
  const bytes = await file.read(0, size + 4)
  const cut = cutAtCodePoint(bytes, size, encoding)
  const { text: content, lossy } = decodeBytes(cut.subarray(bom), encoding)
  reads.remember(file.resolved, { stat: file.stat })
  const piece = {
    content,
    encoding,
    truncated: true,
    offset_bytes: 0,
    bytes_returned: cut.length,
    ...(lossy && { lossy }),
  }
  return pieceAnswer(call, file, size, piece)
}

async function readBytes(
  call: Call<ReadInput>,
  file: Handle,
  { offset, size }: Bytes,
  { reads }: ReadPlace,
): Promise<Result> {
  const { bytes: total } = file.stat
  if (offset > 0 && offset >= total) {
    const next = again(call, { offset_bytes: Math.max(0, total - size), page_size_bytes: size })
    return fail('VT_FILE_OFFSET', `Byte ${offset} is past the end: '${file.path}' has ${total} bytes.`, {
      details: { size_bytes: total },
      next,
    })
  }
  const slice = await sliceBytes(file, offset, size)
  reads.remember(file.resolved, { stat: file.stat })
  const content_kind = slice.encoding === 'utf-8' ? 'text' : 'bytes'
  return pieceAnswer(call, file, size, { ...slice, content_kind, truncated: false })
}

/** A range of bytes in the terms of the answer. */
interface Piece {
  content: string
  offset_bytes: number
  bytes_returned: number
  [member: string]: unknown
}

function pieceAnswer(call: Call<ReadInput>, file: Handle, size: number, piece: Piece): Result {
  const end = piece.offset_bytes + piece.bytes_returned
  const next =
    end < file.stat.bytes ? again(call, { offset_bytes: end, page_size_bytes: Math.min(size, 524_288) }) : undefined
  return fileAnswer(file, piece, `bytes ${piece.offset_bytes}-${end - 1} of ${file.stat.bytes}`, next)
}

async function readImage(call: Call<ReadInput>, file: Handle, { reads }: ReadPlace): Promise<Result> {
  // One byte more than an image may have is enough to refuse it.
  const bytes = await file.read(0, Math.min(file.stat.bytes, mostOfImage.bytes + 1))
  const facts =
    file.stat.bytes > mostOfImage.bytes
      ? `it has ${file.stat.bytes} bytes, and at most ${mostOfImage.bytes} are shown`
      : lookAtImage(bytes)
  if (typeof facts === 'string')
    return fail('VT_FILE_IMAGE', `'${call.input.path}' cannot be shown as an image: ${facts}.`, {
      next: again(call, { offset_bytes: 0, page_size_bytes: HEAD_BYTES }),
    })
  const { mime_type, width, height } = facts
  const hash = shortenHash(sha256(bytes))
  reads.remember(file.resolved, { hash, stat: file.stat })
  const output = {
    content: '',
    content_kind: 'image',
    encoding: 'base64',
    mime_type,
    width,
    height,
    truncated: false,
    hash,
  }
  return {
    ...fileAnswer(file, output, ''),
    text: `[${mime_type}, ${width} × ${height} points, ${bytes.length} bytes]`,
    content: [{ type: 'image', data: bytes.toString('base64'), mimeType: mime_type }],
  }
}

const refuseBinary = (call: Call<ReadInput>): Result =>
  fail('VT_FILE_BINARY', `'${call.input.path}' is not text.`, {
    next: again(call, { offset_bytes: 0, page_size_bytes: HEAD_BYTES }),
  })

async function open({ input: { path } }: Call<ReadInput>, { workspace }: ReadPlace): Promise<Handle> {
  try {
    return await workspace.openFile(path)
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    if (error.code === 'VT_PATH_IS_DIRECTORY') throw new VtError({ ...error.problem, next: createListCall(path) })
    if (error.code !== 'VT_PATH_NOT_FOUND') throw error
    const next = nextCall('inspect', { session_id: path })
    throw isSession(path) ? new VtError({ ...error.problem, next }) : await createMissingPathError(path, { workspace })
  }
}

const isSession = (path: string): boolean => /^run-[0-9a-f]{8}$/.test(path)
