import type { Context } from '../../../core/index.js'
import { createSlotError, trimEndChars } from '../../lib/base/index.js'
import { createTail, createLineReader, runProgram } from '../../lib/process/index.js'
import { findRipgrep } from '../../lib/search/index.js'
import { toPlainText } from '../output/text.js'
import { readChunks, type StreamSource } from './source.js'

/** Characters shown of one line. */
const MAX_LINE_CHARS = 2000
/** Sources up to this size are searched without escape sequences; larger ones raw. */
const MAX_CLEANED_BYTES = 16 * 1024 * 1024

/** Reads the first and last lines of a source; if they meet, the text is shown once. */
export async function readEnds(
  source: StreamSource,
  head: number,
  tail: number,
): Promise<{ output: string; total_lines: number; omitted: number }> {
  const first: string[] = []
  const last: string[] = []
  let total = 0
  const take = (line: Buffer): void => {
    total += 1
    if (first.length < head) first.push(toShownLine(line))
    else if (tail > 0) {
      last.push(toShownLine(line))
      if (last.length > tail) last.shift()
    }
  }
  const reader = createLineReader(take)
  let terminated = true
  for await (const chunk of readChunks(source)) {
    void reader.take(chunk)
    terminated = chunk[chunk.length - 1] === 10
  }
  reader.end()

  const omitted = total - first.length - last.length
  const note = omitted > 0 ? [`[… ${omitted} lines omitted …]`] : []
  const all = [...first, ...note, ...last]
  // The note is a whole line.
  const endsWithNote = omitted > 0 && last.length === 0
  const output = all.length === 0 ? '' : all.join('\n') + (terminated || endsWithNote ? '\n' : '')
  return { output, total_lines: total, omitted }
}

function toShownLine(line: Buffer): string {
  const text = toPlainText(trimEndChars(line.toString(), '\r'))
  return text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS - 1)}…` : text
}

export interface QueryMatches {
  matches: { line_number: number; text: string }[]
  matched_count: number
  total_lines: number
}

export interface StreamQuery {
  query: string
  literal: boolean
  limit: number
}

/**
 * Searches the lines of a source with ripgrep. Errors: VT_SEARCH_PATTERN, VT_SEARCH_TIMEOUT, VT_SEARCH_ENGINE_MISSING,
 * VT_CALL_ABORTED.
 */
export async function searchSource(
  source: StreamSource,
  { query, literal, limit }: StreamQuery,
  { signal, host }: Context,
): Promise<QueryMatches> {
  const input = await readWhole(source)
  const matches: QueryMatches['matches'] = []
  let matched_count = 0
  const take = (line: Buffer): void => {
    matched_count += 1
    if (matches.length >= limit) return
    const border = line.indexOf(':')
    matches.push({
      line_number: Number(line.toString('latin1', 0, border)),
      text: toShownLine(line.subarray(border + 1)),
    })
  }
  const file = await findRipgrep()
  const seconds = host.timeouts.engine / 1000
  const options = ['--no-config', '--color=never', '--no-heading', '--no-filename', '--line-number', '--text', '--crlf']
  const args = [...options, ...(literal ? ['-F'] : []), '-e', query, '-']
  const reader = createLineReader(take)
  const stderrTail = createTail()
  const result =
    file &&
    (await runProgram({ file, args, cwd: '/', input, hot: true }, { signal, seconds }, reader.take, stderrTail.take))
  if (!result) throw createSlotError('VT_SEARCH_ENGINE_MISSING', 'ripgrep, which searches logs, cannot be started.')
  // Partial matches would look like the full count.
  if (result.timed_out)
    throw createSlotError(
      'VT_SEARCH_TIMEOUT',
      `The query '${query.slice(0, 100)}' did not finish within ${seconds} s.`,
      {
        retryable: true,
      },
    )
  if (result.exit_code === undefined)
    throw createSlotError(
      'VT_SEARCH_ENGINE_MISSING',
      'ripgrep, which searches logs, was ended by a signal before it finished.',
      { retryable: true },
    )
  reader.end()
  if (result.exit_code === 2) {
    throw createSlotError(
      'VT_SEARCH_PATTERN',
      `The pattern '${query.slice(0, 100)}' is not a valid regular expression: ${parseReason(stderrTail.text())}.`,
    )
  }
  return { matches, matched_count, total_lines: countLines(input) }
}

const parseReason = (text: string): string => (/error: (.*)/.exec(text)?.[1] ?? text.split('\n')[0] ?? '').slice(0, 150)

async function readWhole(source: StreamSource): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of readChunks(source)) parts.push(chunk)
  const whole = Buffer.concat(parts)
  const needsCleaning = whole.length <= MAX_CLEANED_BYTES && (whole.includes(0x1b) || whole.includes(0x0d))
  return needsCleaning ? Buffer.from(toPlainText(whole.toString())) : whole
}

function countLines(bytes: Buffer): number {
  let newlines = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) newlines++
  return newlines + (bytes.length > 0 && bytes[bytes.length - 1] !== 10 ? 1 : 0)
}
