import { isObject, jsonSize, type JsonObject } from '../../../core/shapes/index.js'
import { visibleJson } from '../../../core/text/index.js'

/** A value of a few times the bytes that text may have is shown whole. */
const SMALL = 32 * 1024

/** What the spool writes into a text that it cut. */
const SPOOL_MARK = /\n… \d+ of \d+ bytes left out; the whole text is in /

/**
 * How many bytes of its value may be shown beside the text of a result, or in its place: as many as the text has where that was put
 * aside, else enough for all that the text shows.
 */
export function valueLimit(text: string): number {
  return SPOOL_MARK.test(text)
    ? Buffer.byteLength(text)
    : Math.max(SMALL, Buffer.byteLength(JSON.stringify(text)) + 1024)
}

/** A value as a model reads it in place of its text: all of it, or as much as the text showed. */
export const valueText = (value: JsonObject, limit = Infinity): string =>
  visibleJson(JSON.stringify(truncateValue(value, limit)))

/** A value in at most so many bytes of JSON: its long lists end earlier, its long texts are cut, and say so; the value itself where it is short enough. */
export function truncateValue(value: JsonObject, limit: number): JsonObject {
  // Most are so small that an estimate is enough.
  if (jsonSize(value) * 6 <= limit) return value
  let shown: JsonObject = value
  for (let room = limit; room > 0; room = Math.floor(room * 0.8)) {
    if (Buffer.byteLength(JSON.stringify(shown)) <= limit) return shown
    shown = truncateToSize(value, room) as JsonObject
  }
  return {}
}

/** A value of at most about this size. */
function truncateToSize(value: unknown, room: number): unknown {
  if (jsonSize(value) <= room) return value
  if (typeof value === 'string') return truncateString(value, room)
  if (Array.isArray(value)) return truncateList(value, room)
  return isObject(value) ? truncateMembers(value, room) : value
}

function truncateString(text: string, room: number): string {
  const head = text.slice(0, Math.max(0, room - 50)).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}… (${text.length - head.length} of ${text.length} characters left out)`
}

function truncateList(items: readonly unknown[], room: number): unknown[] {
  const taken: unknown[] = []
  let left = room - 2
  for (const item of items) {
    if ((left -= jsonSize(item) + 1) < 0) break
    taken.push(item)
  }
  return taken.length > 0 ? taken : [truncateToSize(items[0], room - 3)]
}

/** The small members whole, the large ones with an equal share of what is left. */
function truncateMembers(value: JsonObject, room: number): JsonObject {
  const sizes = Object.entries(value)
    .map(([name, member]) => ({ name, size: jsonSize(member) }))
    .sort((a, b) => a.size - b.size)
  const rooms = new Map<string, number>()
  let left = room - 2
  for (const [at, { name, size }] of sizes.entries()) {
    const share = Math.max(0, Math.floor((left - name.length - 4) / (sizes.length - at)))
    rooms.set(name, Math.min(size, share))
    left -= name.length + 4 + Math.min(size, share)
  }
  const cut = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, truncateToSize(member, rooms.get(name)!)]),
  )
  return typeof value['truncated'] === 'boolean' ? { ...cut, truncated: true } : cut
}
