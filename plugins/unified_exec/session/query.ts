import type { Context } from '../../../core/index.js'
import { createSlotError, trimEndChars } from '../../lib/base/index.js'
import { tail as lastOf, lines, runProgram } from '../../lib/process/index.js'
import { findRipgrep } from '../../lib/search/index.js'
import { plainText } from '../output/text.js'
import { chunks, type StreamSource } from './source.js'

/** Characters shown of one line. */
const longestLine = 2000
/** Sources up to this size are searched as they are shown, larger ones as they came. */
const cleanable = 16 * 1024 * 1024

/** The first and the last lines of a source; head and tail that meet show the text once. */
export async function ends(
  source: StreamSource,
  head: number,
  tail: number,
): Promise<{ output: string; total_lines: number; omitted: number }> {
  const first: string[] = []
  const last: string[] = []
  let total = 0
  const take = (line: Buffer): void => {
    total += 1
    if (first.length < head) first.push(shown(line))
    else if (tail > 0) {
      last.push(shown(line))
      if (last.length > tail) last.shift()
    }
  }
  const reader = lines(take)
  let terminated = true
  for await (const chunk of chunks(source)) {
    void reader.take(chunk)
    terminated = chunk[chunk.length - 1] === 10
  }
  reader.end()

  const omitted = total - first.length - last.length
  const note = omitted > 0 ? [`[… ${omitted} lines omitted …]`] : []
  const all = [...first, ...note, ...last]
  const output = all.length === 0 ? '' : all.join('\n') + (terminated || (omitted > 0 && last.length === 0) ? '\n' : '')
  return { output, total_lines: total, omitted }
}

function shown(line: Buffer): string {
  const text = plainText(trimEndChars(line.toString(), '\r'))
  return text.length > longestLine ? `${text.slice(0, longestLine - 1)}…` : text
}

export interface QueryMatches {
  matches: { line_number: number; text: string }[]
  matched_count: number
  total_lines: number
}

export interface StreamQuery {
  query: string
  literal: boolean
  most: number
}

/** The lines of a source that match, found by ripgrep. Errors: VT_SEARCH_PATTERN, VT_SEARCH_ENGINE_MISSING, VT_CALL_ABORTED. */
export async function searched(
  source: StreamSource,
  { query, literal, most }: StreamQuery,
  { signal }: Context,
): Promise<QueryMatches> {
  const input = await wholeOf(source)
  const matches: QueryMatches['matches'] = []
  let matched_count = 0
  const take = (line: Buffer): void => {
    matched_count += 1
    if (matches.length >= most) return
    const border = line.indexOf(':')
    matches.push({ line_number: Number(line.toString('latin1', 0, border)), text: shown(line.subarray(border + 1)) })
  }
  const file = await findRipgrep()
  const shape = ['--no-config', '--color=never', '--no-heading', '--no-filename', '--line-number', '--text', '--crlf']
  const args = [...shape, ...(literal ? ['-F'] : []), '-e', query, '-']
  const reader = lines(take)
  const complaint = lastOf()
  const ended =
    file && (await runProgram({ file, args, cwd: '/', input }, { signal, seconds: 30 }, reader.take, complaint.take))
  if (!ended) throw createSlotError('VT_SEARCH_ENGINE_MISSING', 'ripgrep, which searches in logs, cannot be started.')
  if (ended.exit_code === undefined && !ended.timed_out)
    throw createSlotError(
      'VT_SEARCH_ENGINE_MISSING',
      'ripgrep, which searches in logs, was ended by a signal before it was through.',
      { retryable: true },
    )
  reader.end()
  if (ended.exit_code === 2) {
    throw createSlotError(
      'VT_SEARCH_PATTERN',
      `The pattern '${query.slice(0, 100)}' is no regular expression: ${reason(complaint.text())}.`,
    )
  }
  return { matches, matched_count, total_lines: linesIn(input) }
}

const reason = (text: string): string => (/error: (.*)/.exec(text)?.[1] ?? text.split('\n')[0] ?? '').slice(0, 150)

async function wholeOf(source: StreamSource): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunks(source)) parts.push(chunk)
  const whole = Buffer.concat(parts)
  const needsCleaning = whole.length <= cleanable && (whole.includes(0x1b) || whole.includes(0x0d))
  return needsCleaning ? Buffer.from(plainText(whole.toString())) : whole
}

function linesIn(bytes: Buffer): number {
  let newlines = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) newlines++
  return newlines + (bytes.length > 0 && bytes[bytes.length - 1] !== 10 ? 1 : 0)
}
