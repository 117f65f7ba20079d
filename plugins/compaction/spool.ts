import type { Call, Compactor, Context, JsonObject, Result, Success } from '../../core/index.js'
import { spool as keep, spoolFolder } from '../lib/state/index.js'
import { tellingLines } from './spool/telling.js'

// What these answer is a page already; cutting it once more would make reading on impossible.
const pages = ['unified_file/read', 'unified_exec/inspect', 'load_skill', 'load_skill_resource', 'unified_search/skill']

/**
 * Text over the limit goes to a file; the reader gets its beginning, its end, its size and where it is, or why it could not be kept: it is
 * cut in any case. How a file is read is called differently in each vocabulary. What a slot has put aside itself is named as it is and not
 * put aside once more: that file holds the whole, and the text only a part of it.
 */
const spool: Compactor = (result, call, context) => {
  const {
    output,
    context: { dynamic },
  } = context.settings
  const earlier = dynamic.enabled ? dynamic.tool_output_threshold : 0
  const limit = Math.min(output.max_text_bytes, earlier || Infinity)
  if (!result.ok || result.text === undefined || pages.includes(call.slot)) return result
  if (result.text.length <= limit / 3 || Buffer.byteLength(result.text) <= limit) return result
  return cutShort({ ...result, text: result.text }, call, context, limit)
}
export default spool

async function cutShort(
  result: Success & { text: string },
  call: Call,
  context: Context,
  limit: number,
): Promise<Result> {
  // Of a command the end says what came of it.
  const head_share = 'exit_code' in result.output ? 1 / 4 : 3 / 4
  const files = await filesOf(result.output, context)
  let lost: string | undefined
  if (files.length === 0) {
    const path = await keep(context, call.slot, result.text).catch(
      (error: NodeJS.ErrnoException) =>
        void (lost = error.code === 'ENOSPC' ? 'the disk is full' : (error.code ?? error.message)),
    )
    if (path !== undefined) files.push({ path, bytes: Buffer.byteLength(result.text) })
  }
  if (lost !== undefined || !('exit_code' in result.output))
    return { ...result, text: shortened(result.text, limit, { files, head_share, lost }) }
  // What went wrong in the middle is what a model looks for first.
  const ends = shortened(result.text, limit, { files, head_share })
  const told = await toldIn(files, Math.floor(limit * share), ends, context)
  return { ...result, text: told === '' ? ends : shortened(result.text, limit, { files, head_share, told }) }
}

/** Of the limit, what lines that tell of errors may take. */
const share = 0.35

/** The lines of the files that tell of errors and that a text does not show. */
async function toldIn(files: readonly Kept[], room: number, shown: string, context: Context): Promise<string> {
  let told = ''
  for (const { path } of [...files].reverse()) {
    const name = files.length > 1 ? `${path}:\n` : ''
    const lines = await tellingLines(context, path, room - Buffer.byteLength(told + name), (line) =>
      shown.includes(line),
    ).catch(() => '')
    if (lines !== '') told += name + lines
  }
  return told
}

interface Kept {
  path: string
  bytes: number
}

/** The files in which a slot has put aside what it answers, with their sizes. */
async function filesOf({ spool_path, stderr_spool_path }: JsonObject, { workspace }: Context): Promise<Kept[]> {
  const paths = [spool_path, stderr_spool_path].filter(
    (path) => typeof path === 'string' && path.startsWith(`${spoolFolder}/`),
  ) as string[]
  const stats = await Promise.all(paths.map(async (path) => ({ path, bytes: (await workspace.stat(path))?.bytes })))
  return stats.flatMap(({ path, bytes }) => (bytes === undefined ? [] : [{ path, bytes }]))
}

function shortened(
  text: string,
  limit: number,
  {
    files,
    head_share,
    told = '',
    lost,
  }: { files: readonly Kept[]; head_share: number; told?: string; lost?: string | undefined },
): string {
  const bytes = Buffer.from(text)
  const whole = lost === undefined ? files.reduce((sum, { bytes }) => sum + bytes, 0) : bytes.length
  const where = files.map(({ path, bytes }) => (files.length > 1 ? `${path} (${bytes} bytes)` : path)).join(' and ')
  const kept =
    lost === undefined ? `the whole text is in ${where}` : `they could not be kept (${lost}); ask for less at a time`
  const note = (left: number): string =>
    `\n… ${left} of ${whole} bytes left out; ${kept}\n${told === '' ? '' : `Lines in it that look like errors, by their numbers:\n${told}`}…`
  const room = Math.max(0, limit - Buffer.byteLength(note(whole)))
  const head = toLine(beginning(bytes.subarray(0, Math.floor(room * head_share))))
  const tail = fromLine(end(bytes.subarray(bytes.length - Math.floor(room * (1 - head_share)))))
  return head + note(Math.max(0, whole - Buffer.byteLength(head) - Buffer.byteLength(tail))) + tail
}

// A cut may leave half a character: a streaming decoder keeps it back, and at the start it shows by its continuation bytes.
const beginning = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
const end = (bytes: Buffer): string => bytes.subarray(bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString()

// Whole lines read better, unless the lines are so long that little would be left.
const toLine = (text: string): string =>
  text.slice(0, text.lastIndexOf('\n') > text.length / 2 ? text.lastIndexOf('\n') : undefined)
const fromLine = (text: string): string => {
  const at = text.indexOf('\n')
  return at >= 0 && at < text.length / 2 ? text.slice(at) : text
}
