import { redact, visible, type Context } from '../../../core/index.js'

/** Limits of a search: bytes of a file and of one read, lines found, characters of a line. */
const LIMITS = { file: 8 * 1024 * 1024, piece: 1024 * 1024, lines: 64, line: 400 }
/** Lines shown before and after one with an error. */
const NEIGHBOURS = { before: 1, after: 2 }

/** Error messages of programs, but not files that only have such a name. */
const COMPILER_ERRORS = /\berror(?:\[\w+\])?(?: [A-Z]+\d+)?:|\bERROR\b|^E {2,}|\bFAIL(?:ED|URE)?\b|\bpanic(?:ked)?\b/u
const NAMED_ERRORS =
  /\bTraceback\b|\b[A-Z]\w*(?:Error|Exception)\b|\bfatal:|\bFATAL\b|\bundefined reference\b|\bSegmentation fault\b/u
const FAILED_RUNS = /^not ok\b|[✗✘❌]|\*\*\* |\bexit(?:ed)? (?:with )?(?:code|status):? [1-9]/u
const ERROR_PATTERN = new RegExp(`${COMPILER_ERRORS.source}|${NAMED_ERRORS.source}|${FAILED_RUNS.source}`, 'gmu')
/** Each line with an error holds one of these; most chunks hold none and are not decoded. */
const ERROR_SIGNS = [
  'rror',
  'ERROR',
  'E  ',
  'FAIL',
  'panic',
  'Traceback',
  'Exception',
  'fatal:',
  'FATAL',
  'undefined reference',
  'Segmentation fault',
  'not ok',
  '✗',
  '✘',
  '❌',
  '*** ',
  'exit',
].map((sign) => Buffer.from(sign))
/** Reports of zero errors. */
const ZERO_COUNTS = /\b(?:0|no) (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed): 0\b/i

interface Line {
  number: number
  text: string
  isError: boolean
}

/**
 * Returns the lines of a file that look like errors, with neighbours and numbers, within `room` bytes. Skips those that
 * `shown` has. The first errors come first, because later ones often follow from them.
 */
export async function findErrorLines(
  { workspace }: Context,
  path: string,
  room: number,
  shown: (line: string) => boolean,
): Promise<string> {
  const found = new Map<number, Line>()
  let rest: Buffer = Buffer.alloc(0)
  let [number, errors] = [1, 0]
  for (let at = 0; at < LIMITS.file && errors < LIMITS.lines; at += LIMITS.piece) {
    const bytes = await workspace.read(path, { offset: at, length: LIMITS.piece })
    const whole = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    const end = bytes.length < LIMITS.piece ? whole.length : whole.lastIndexOf(10) + 1
    const lines = whole.subarray(0, end)
    if (ERROR_SIGNS.some((sign) => lines.includes(sign))) {
      const text = lines.toString('utf8')
      for (const { index } of text.matchAll(ERROR_PATTERN))
        if (errors < LIMITS.lines && addLines(found, text, index, number, shown)) errors++
    }
    if (bytes.length < LIMITS.piece) break
    number += lineBreaks(lines, end)
    // An unfinished line waits for the next read.
    rest = end === 0 ? Buffer.alloc(0) : whole.subarray(end)
  }
  return formatLines(
    [...found.values()].sort((a, b) => a.number - b.number),
    room,
  )
}

/** Adds the line at this place and its neighbours; `false` if it has no new error. */
function addLines(
  found: Map<number, Line>,
  text: string,
  at: number,
  first: number,
  shown: (line: string) => boolean,
): boolean {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const line = readLine(text, start)
  const number = first + lineBreaks(text, start)
  if (found.get(number)?.isError || ZERO_COUNTS.test(line) || shown(line)) return false
  let from = start
  let before = 0
  for (; before < NEIGHBOURS.before && from > 0; before++) from = text.lastIndexOf('\n', from - 2) + 1
  for (let index = -before; index <= NEIGHBOURS.after && from < text.length; index++) {
    const isError = index === 0 || found.get(number + index)?.isError === true
    found.set(number + index, { number: number + index, text: readLine(text, from), isError: isError })
    const next = text.indexOf('\n', from)
    if (next < 0) break
    from = next + 1
  }
  return true
}

function readLine(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return text.slice(start, Math.min(end < 0 ? text.length : end, start + LIMITS.line)).replace(/\r$/, '')
}

function lineBreaks(text: string | Buffer, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}

function formatLines(lines: readonly Line[], room: number): string {
  let text = ''
  let last: number | undefined
  for (const { number, text: line } of lines) {
    const more = `${last !== undefined && number > last + 1 ? '…\n' : ''}${number}: ${visible(redact(line))}\n`
    if (Buffer.byteLength(text) + Buffer.byteLength(more) > room) break
    text += more
    last = number
  }
  return text
}
