import { omitUndefined, fail, VtError, type Call, type JsonObject, type Result } from '../../../core/shapes/index.js'
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
import { createNextRead, createFileAnswer, formatPosition } from './answer.js'
import { sliceBytes } from './bytes.js'
import { hasPdfHeader, detectImageType, readImageFacts, IMAGE_LIMITS, isImageName } from './image.js'
import { indexLines, indexFileLines } from './lines.js'
import { toFileOffset, hashText, readPage, openFileText } from './page.js'
import { WHOLE_FILE, parseWantedPart, type ReadInput, type WantedPart } from './request.js'
import { takeFirstLines } from './first_lines.js'
import { addNotes, explainShownText } from './shown_notes.js'

type Bytes = Extract<WantedPart, { by: 'bytes' }>
type Lines = Extract<WantedPart, { by: 'lines' }>

export type { ReadInput }
/** Workspace and session of a read. */
export interface ReadContext {
  workspace: Workspace
  signal: AbortSignal
  reads: Pick<Reads, 'remember'>
  /** Reads pages of a PDF, if a reader is available. */
  pdf?: (call: Call<ReadInput>, file: Handle) => Promise<Result>
}

/** Reads a whole file, a page of its lines, or a range of its bytes. */
export async function readFile(call: Call<ReadInput>, place: ReadContext): Promise<Result> {
  const want = parseWantedPart(call)
  await using file = await openFile(call, place)
  return await read(call, file, want, place)
}

async function read(call: Call<ReadInput>, file: Handle, want: WantedPart, place: ReadContext): Promise<Result> {
  if (want.by === 'bytes') return readBytes(call, file, want, place)
  const head = await file.read(0, HEAD_BYTES)
  if (place.pdf && (want.by === 'pages' || want === WHOLE_FILE) && hasPdfHeader(head)) return place.pdf(call, file)
  if (want.by === 'pages')
    return fail('VT_FILE_PDF', `'${file.path}' has no pages: it is not a PDF.`, { next: createNextRead(call, {}) })
  const form = detectTextForm(head)
  const looks = detectImageType(head) !== undefined && (form.binary || decodeBytes(head, 'utf-8').lossy)
  if (looks || (form.binary && isImageName(file.path))) return readImage(call, file, place)
  if (form.binary) return refuseBinary(call)
  if (want.by === 'lines') return readLines(call, file, form, want, place)
  return file.stat.bytes > want.size
    ? readStart(call, file, form, want.size, place)
    : readLines(call, file, form, WHOLE_FILE, place)
}

async function readLines(
  call: Call<ReadInput>,
  file: Handle,
  form: TextForm,
  want: Lines,
  { signal, reads }: ReadContext,
): Promise<Result> {
  const text = await openFileText(file, form)
  const { source, from, whole } = text
  const index = whole ? await indexLines(source, from, signal) : await indexFileLines(file.stat, source, from, signal)
  const { total } = index
  const { first, size, max } = want
  if (first > Math.max(1, total)) return refuseOffset(call, file, want, total)
  const asked = Math.min(total, size === undefined ? total : first + size - 1)
  const page = await readPage(source, index, first, asked, max)
  const { text: content, lossy } = decodeBytes(page.bytes, 'utf-8')
  const hash = hashText(text, index)
  reads.remember(file.resolved, { stat: file.stat, ...omitUndefined({ hash, bytes: whole }) })

  const next = page.cut
    ? createNextRead(call, { offset_bytes: await toFileOffset(text, form, page.end) })
    : createNextRead(call, createNextRange(call.input, page.last, size))
  const output = {
    content,
    encoding: form.encoding,
    truncated: page.cut || page.last < asked,
    start_line: first,
    end_line: page.last,
    total_lines: total,
    ...omitUndefined({ hash }),
    ...((lossy || text.lossy) && { lossy: true }),
    eol: index.eol,
    bom: form.bom > 0,
  }
  const hasMore = page.cut || page.last < total
  const range = `lines ${first}-${page.last} of ${total}`
  const answer = createFileAnswer(file, output, range, hasMore ? next : undefined)
  if (want !== WHOLE_FILE) return answer
  // Without a range the value is whole, and the text is its beginning.
  const wide = (byte: number) => form.bom + 2 * page.bytes.toString('utf8', 0, byte).length
  const shown = takeFirstLines(page.bytes, (byte) => (form.encoding === 'utf-8' ? text.from + byte : wide(byte)))
  if (shown.text === content) return answer
  const more = `[lines 1-${shown.lines} of ${total}; next offset_lines=${shown.lines + 1}]`
  const tail = shown.lines < page.last ? more : formatPosition(range, hasMore ? next : undefined)
  return { ...answer, text: addNotes(shown.text, [explainShownText(shown.text, file.stat.bytes), tail]) }
}

/** Refuses to read past the end, with the last page as the next call. */
function refuseOffset(call: Call<ReadInput>, { path }: Handle, { first, size = 400 }: Lines, total: number): Result {
  const next = createNextRead(call, { offset_lines: Math.max(1, total - size + 1), page_size_lines: size })
  return fail('VT_FILE_OFFSET', `Line ${first} is past the end: '${path}' has ${pluralize(total, 'line')}.`, {
    details: { total_lines: total },
    next,
  })
}

/** Returns the range that continues a read after its last line. */
function createNextRange({ page_size_lines, end_line, max_bytes }: ReadInput, last: number, size?: number): JsonObject {
  const ends = end_line === undefined || last < end_line
  const range = ends ? omitUndefined({ page_size_lines, end_line }) : { page_size_lines: Math.min(size!, 20_000) }
  return { offset_lines: last + 1, ...range, ...omitUndefined({ max_bytes }) }
}

/** Reads the first bytes of a text that is longer than requested. */
async function readStart(
  call: Call<ReadInput>,
  file: Handle,
  { encoding, bom }: TextForm,
  size: number,
  { reads }: ReadContext,
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
  { reads }: ReadContext,
): Promise<Result> {
  const { bytes: total } = file.stat
  if (offset > 0 && offset >= total) {
    const next = createNextRead(call, { offset_bytes: Math.max(0, total - size), page_size_bytes: size })
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

/** A range of bytes as in the answer. */
interface Piece {
  content: string
  offset_bytes: number
  bytes_returned: number
  [member: string]: unknown
}

function pieceAnswer(call: Call<ReadInput>, file: Handle, size: number, piece: Piece): Result {
  const end = piece.offset_bytes + piece.bytes_returned
  const next =
    end < file.stat.bytes
      ? createNextRead(call, { offset_bytes: end, page_size_bytes: Math.min(size, 524_288) })
      : undefined
  return createFileAnswer(file, piece, `bytes ${piece.offset_bytes}-${end - 1} of ${file.stat.bytes}`, next)
}

async function readImage(call: Call<ReadInput>, file: Handle, { reads }: ReadContext): Promise<Result> {
  // One byte more than the limit is enough to refuse an image.
  const bytes = await file.read(0, Math.min(file.stat.bytes, IMAGE_LIMITS.bytes + 1))
  const facts =
    file.stat.bytes > IMAGE_LIMITS.bytes
      ? `it has ${file.stat.bytes} bytes, and at most ${IMAGE_LIMITS.bytes} are shown`
      : readImageFacts(bytes)
  if (typeof facts === 'string')
    return fail('VT_FILE_IMAGE', `'${call.input.path}' cannot be shown as an image: ${facts}.`, {
      next: createNextRead(call, { offset_bytes: 0, page_size_bytes: HEAD_BYTES }),
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
    ...createFileAnswer(file, output, ''),
    text: `[${mime_type}, ${width} × ${height} points, ${bytes.length} bytes]`,
    content: [{ type: 'image', data: bytes.toString('base64'), mimeType: mime_type }],
  }
}

const refuseBinary = (call: Call<ReadInput>): Result =>
  fail('VT_FILE_BINARY', `'${call.input.path}' is not text.`, {
    next: createNextRead(call, { offset_bytes: 0, page_size_bytes: HEAD_BYTES }),
  })

async function openFile({ input: { path } }: Call<ReadInput>, { workspace }: ReadContext): Promise<Handle> {
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
