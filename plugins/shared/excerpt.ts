/** Cutting text for people and models: at code points, with `…` where something is missing. */

export interface Excerpt {
  text: string
  cut: boolean
}

/** The first `limit` code points of a text. */
export function cut(text: string, limit: number): Excerpt {
  // A text has at least as many UTF-16 units as code points.
  if (text.length <= limit) return { text, cut: false }
  const points = Array.from(text.slice(0, 2 * limit + 2))
  return points.length <= limit ? { text, cut: false } : { text: `${points.slice(0, limit - 1).join('')}…`, cut: true }
}

/** At most `limit` code points of a line around the byte `at`. */
export function excerpt(line: Buffer, at: number, limit: number): Excerpt {
  if (line.length <= limit) return { text: line.toString(), cut: false }
  const from = at <= 4 * limit ? 0 : boundary(line, at - 4 * limit)
  const to = boundary(line, Math.min(line.length, at + 4 * limit))
  const points = Array.from(line.toString('utf8', from, to))
  if (from === 0 && to === line.length && points.length <= limit) return { text: points.join(''), cut: false }
  const here = codePoints(line.subarray(from, at))
  const lead = Math.floor(limit / 5)
  const start = from === 0 && here <= limit - lead ? 0 : Math.max(0, here - lead)
  const front = from > 0 || start > 0 ? '…' : ''
  const room = limit - front.length
  const rest = points.slice(start)
  const more = to < line.length || rest.length > room
  return { text: front + (more ? `${rest.slice(0, room - 1).join('')}…` : rest.join('')), cut: true }
}

/** How many code points UTF-8 bytes hold. */
export function codePoints(bytes: Buffer): number {
  let count = 0
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count++
  return count
}

/** The nearest start of a code point at or before `at`. */
function boundary(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start--
  return start
}
