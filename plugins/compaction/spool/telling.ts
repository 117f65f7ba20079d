import { redact, visible, type Context } from '../../../core/index.js'

/** How much of a file is looked through, in bytes, a piece at a time; and how many lines are enough. */
const most = { file: 8 * 1024 * 1024, piece: 1024 * 1024, lines: 64, line: 400 }
/** Lines that are shown with one that tells: what stands before it and what explains it. */
const around = { before: 1, behind: 2 }

/** What programs write when something went wrong, and no word of a file that is merely called so. */
const compilers = /\berror(?:\[\w+\])?(?: [A-Z]+\d+)?:|\bERROR\b|^E {2,}|\bFAIL(?:ED|URE)?\b|\bpanic(?:ked)?\b/u
const others =
  /\bTraceback\b|\b[A-Z]\w*(?:Error|Exception)\b|\bfatal:|\bFATAL\b|\bundefined reference\b|\bSegmentation fault\b|^not ok\b|[✗✘❌]|\*\*\* |\bexit(?:ed)? (?:with )?(?:code|status):? [1-9]/u
const telling = new RegExp(`${compilers.source}|${others.source}`, 'gmu')
/** Of these bytes each line that tells holds some: most of what programs write holds none, and is not read as text. */
const signs = [
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
/** Counts of nothing. */
const nothing = /\b(?:0|no) (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed): 0\b/i

interface Line {
  number: number
  text: string
  tells: boolean
}

/**
 * The lines of a file that look as if they told of an error, with their neighbours and numbers, within `room` bytes; nothing where there are
 * none, or none that is not in `shown` already. The first come first: what follows an error often follows from it.
 */
export async function tellingLines(
  { workspace }: Context,
  path: string,
  room: number,
  shown: (line: string) => boolean,
): Promise<string> {
  const found = new Map<number, Line>()
  let rest: Buffer = Buffer.alloc(0)
  let [number, tells] = [1, 0]
  for (let at = 0; at < most.file && tells < most.lines; at += most.piece) {
    const bytes = await workspace.read(path, { offset: at, length: most.piece })
    const whole = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    const end = bytes.length < most.piece ? whole.length : whole.lastIndexOf(10) + 1
    const lines = whole.subarray(0, end)
    if (signs.some((sign) => lines.includes(sign))) {
      const text = lines.toString('utf8')
      for (const { index } of text.matchAll(telling))
        if (tells < most.lines && note(found, text, index, number, shown)) tells++
    }
    if (bytes.length < most.piece) break
    number += lineBreaks(lines, end)
    // A line without an end is not looked at whole.
    rest = end === 0 ? Buffer.alloc(0) : whole.subarray(end)
  }
  return written(
    [...found.values()].sort((a, b) => a.number - b.number),
    room,
  )
}

/** Takes up the line at this place and its neighbours; `false` where it tells nothing new. */
function note(
  found: Map<number, Line>,
  text: string,
  at: number,
  first: number,
  shown: (line: string) => boolean,
): boolean {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const line = lineAt(text, start)
  const number = first + lineBreaks(text, start)
  if (found.get(number)?.tells || nothing.test(line) || shown(line)) return false
  let from = start
  let before = 0
  for (; before < around.before && from > 0; before++) from = text.lastIndexOf('\n', from - 2) + 1
  for (let index = -before; index <= around.behind && from < text.length; index++) {
    const tells = index === 0 || found.get(number + index)?.tells === true
    found.set(number + index, { number: number + index, text: lineAt(text, from), tells })
    const next = text.indexOf('\n', from)
    if (next < 0) break
    from = next + 1
  }
  return true
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return text.slice(start, Math.min(end < 0 ? text.length : end, start + most.line)).replace(/\r$/, '')
}

function lineBreaks(text: string | Buffer, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}

function written(lines: readonly Line[], room: number): string {
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
