import type { Call, Compactor, Context, JsonObject, Result, Success } from '../../core/index.js'
import { writeSpool as keep, SPOOL_FOLDER } from '../lib/state/index.js'
import { findErrorLines } from './spool/error_lines.js'

// Results of these slots are pages; truncating them would block reading the next page.
const PAGED_SLOTS = [
  'unified_file/read',
  'unified_exec/inspect',
  'load_skill',
  'load_skill_resource',
  'unified_search/skill',
]

/**
 * Writes text over the limit to a spool file. The text then shows its beginning, its end, its size and the file, or why
 * no file could be written. A spool file that the slot wrote is named and not written again: it holds the whole.
 */
const spool: Compactor = (result, call, context) => {
  const {
    output,
    context: { dynamic },
  } = context.settings
  const earlier = dynamic.enabled ? dynamic.tool_output_threshold : 0
  const limit = Math.min(output.max_text_bytes, earlier || Infinity)
  if (!result.ok || result.text === undefined || PAGED_SLOTS.includes(call.slot)) return result
  if (result.text.length <= limit / 3 || Buffer.byteLength(result.text) <= limit) return result
  return truncate({ ...result, text: result.text }, call, context, limit)
}
export default spool

async function truncate(
  result: Success & { text: string },
  call: Call,
  context: Context,
  limit: number,
): Promise<Result> {
  // The end of a command's output shows its result.
  const head_share = 'exit_code' in result.output ? 1 / 4 : 3 / 4
  const files = await findSpoolFiles(result.output, context)
  let lost: string | undefined
  if (files.length === 0) {
    const path = await keep(context, call.slot, result.text).catch(
      (error: NodeJS.ErrnoException) =>
        void (lost = error.code === 'ENOSPC' ? 'the disk is full' : (error.code ?? error.message)),
    )
    if (path !== undefined) files.push({ path, bytes: Buffer.byteLength(result.text) })
  }
  if (lost !== undefined || !('exit_code' in result.output))
    return { ...result, text: formatTruncated(result.text, limit, { files, head_share, lost }) }
  // A model needs the errors in the middle first.
  const ends = formatTruncated(result.text, limit, { files, head_share })
  const errorLines = await collectErrorLines(files, Math.floor(limit * ERROR_SHARE), ends, context)
  return {
    ...result,
    text: errorLines === '' ? ends : formatTruncated(result.text, limit, { files, head_share, errorLines }),
  }
}

/** The share of the limit for lines with errors. */
const ERROR_SHARE = 0.35

/** Returns the lines with errors in the files that the text does not show. */
async function collectErrorLines(
  files: readonly SpoolFile[],
  room: number,
  shown: string,
  context: Context,
): Promise<string> {
  let errorLines = ''
  for (const { path } of [...files].reverse()) {
    const name = files.length > 1 ? `${path}:\n` : ''
    const lines = await findErrorLines(context, path, room - Buffer.byteLength(errorLines + name), (line) =>
      shown.includes(line),
    ).catch(() => '')
    if (lines !== '') errorLines += name + lines
  }
  return errorLines
}

interface SpoolFile {
  path: string
  bytes: number
}

/** Returns the spool files that a slot wrote, with their sizes. */
async function findSpoolFiles(
  { spool_path, stderr_spool_path }: JsonObject,
  { workspace }: Context,
): Promise<SpoolFile[]> {
  const paths = [spool_path, stderr_spool_path].filter(
    (path) => typeof path === 'string' && path.startsWith(`${SPOOL_FOLDER}/`),
  ) as string[]
  const stats = await Promise.all(paths.map(async (path) => ({ path, bytes: (await workspace.stat(path))?.bytes })))
  return stats.flatMap(({ path, bytes }) => (bytes === undefined ? [] : [{ path, bytes }]))
}

function formatTruncated(
  text: string,
  limit: number,
  {
    files,
    head_share,
    errorLines = '',
    lost,
  }: { files: readonly SpoolFile[]; head_share: number; errorLines?: string; lost?: string | undefined },
): string {
  const bytes = Buffer.from(text)
  const whole = lost === undefined ? files.reduce((sum, { bytes }) => sum + bytes, 0) : bytes.length
  const where = files.map(({ path, bytes }) => (files.length > 1 ? `${path} (${bytes} bytes)` : path)).join(' and ')
  const kept =
    lost === undefined
      ? `the whole text is in ${where}`
      : `no spool file could be written (${lost}); request less at once`
  const errors = errorLines === '' ? '' : `Lines in it that look like errors, by their numbers:\n${errorLines}`
  const note = (left: number): string => `\n… ${left} of ${whole} bytes left out; ${kept}\n${errors}…`
  const room = Math.max(0, limit - Buffer.byteLength(note(whole)))
  const head = endAtLine(decodeStart(bytes.subarray(0, Math.floor(room * head_share))))
  const tail = startAtLine(decodeEnd(bytes.subarray(bytes.length - Math.floor(room * (1 - head_share)))))
  return head + note(Math.max(0, whole - Buffer.byteLength(head) - Buffer.byteLength(tail))) + tail
}

// A cut may split a character. A streaming decoder drops the half at the end; continuation bytes mark it at the start.
const decodeStart = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
const decodeEnd = (bytes: Buffer): string =>
  bytes.subarray(bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString()

// Whole lines read better, unless the lines are so long that little would be left.
const endAtLine = (text: string): string =>
  text.slice(0, text.lastIndexOf('\n') > text.length / 2 ? text.lastIndexOf('\n') : undefined)
const startAtLine = (text: string): string => {
  const at = text.indexOf('\n')
  return at >= 0 && at < text.length / 2 ? text.slice(at) : text
}
