import { isAscii } from 'node:buffer'

export interface CutText {
  text: string
  cut: boolean
}

/** Returns the first `limit` code points of a text. */
export function cut(text: string, limit: number): CutText {
  // A text has at least as many UTF-16 units as code points.
  if (text.length <= limit) return { text, cut: false }
  const points = Array.from(text.slice(0, 2 * limit + 2))
  return points.length <= limit ? { text, cut: false } : { text: `${points.slice(0, limit - 1).join('')}…`, cut: true }
}

/**
 * Returns at most `limit` code points of a line around the byte `at`. `more` marks a line that continues before or
 * after these bytes.
 */
export function excerpt(line: Buffer, at: number, limit: number, more: { front: boolean; back: boolean }): CutText {
  if (line.length <= limit && !more.front && !more.back) return { text: line.toString(), cut: false }
  // Bytes from the middle of a line may begin or end within a code point.
  const from = more.front ? findCodePointStart(line, 3) : 0
  const points = Array.from(
    line.toString('utf8', from, more.back ? findCodePointStart(line, line.length - 1) : line.length),
  )
  if (!more.front && !more.back && points.length <= limit) return { text: points.join(''), cut: false }
  const here = countCodePoints(line.subarray(from, at))
  const lead = Math.floor(limit / 5)
  const start = !more.front && here <= limit - lead ? 0 : Math.max(0, here - lead)
  const front = more.front || start > 0 ? '…' : ''
  const room = limit - front.length
  const rest = points.slice(start)
  const back = more.back || rest.length > room
  return { text: front + (back ? `${rest.slice(0, room - 1).join('')}…` : rest.join('')), cut: true }
}

/** Counts the code points of UTF-8 bytes. */
export function countCodePoints(bytes: Buffer): number {
  if (isAscii(bytes)) return bytes.length
  let count = 0
  for (let at = 0; at < bytes.length; at++) if ((bytes[at]! & 0xc0) !== 0x80) count++
  return count
}

/** Returns the nearest start of a code point at or before `at`. */
function findCodePointStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start--
  return start
}
