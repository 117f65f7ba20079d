import { isObject, estimateJsonSize, type JsonObject } from '../../../core/shapes/index.js'
import { visibleJson } from '../../../core/text/index.js'

/** A value up to this size in bytes is shown whole. */
const SMALL = 32 * 1024

/** The mark that the spool writes into a text that it truncated. */
const SPOOL_MARK = /\n… \d+ of \d+ bytes left out; the whole text is in /

/**
 * Returns the byte limit for a value that is shown with a text or instead of it. The limit is the size of a text that
 * the spool truncated; otherwise everything that the text shows fits.
 */
export function valueLimit(text: string): number {
  return SPOOL_MARK.test(text)
    ? Buffer.byteLength(text)
    : Math.max(SMALL, Buffer.byteLength(JSON.stringify(text)) + 1024)
}

/** Formats a value for a model instead of its text: all of it, or as much as the text showed. */
export const valueText = (value: JsonObject, limit = Infinity): string =>
  visibleJson(JSON.stringify(truncateValue(value, limit)))

/**
 * Truncates a value to `limit` bytes of JSON: long lists end earlier, and long texts name what is left out. Returns a
 * short value unchanged.
 */
export function truncateValue(value: JsonObject, limit: number): JsonObject {
  // An estimate is enough for most values.
  if (estimateJsonSize(value) * 6 <= limit) return value
  let shown: JsonObject = value
  for (let room = limit; room > 0; room = Math.floor(room * 0.8)) {
    if (Buffer.byteLength(JSON.stringify(shown)) <= limit) return shown
    shown = truncateToSize(value, room) as JsonObject
  }
  return {}
}

/** Truncates a value to about `room` bytes. */
function truncateToSize(value: unknown, room: number): unknown {
  if (estimateJsonSize(value) <= room) return value
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
    if ((left -= estimateJsonSize(item) + 1) < 0) break
    taken.push(item)
  }
  return taken.length > 0 ? taken : [truncateToSize(items[0], room - 3)]
}

/** Keeps small members whole and shares the remaining room equally among large ones. */
function truncateMembers(value: JsonObject, room: number): JsonObject {
  const sizes = Object.entries(value)
    .map(([name, member]) => ({ name, size: estimateJsonSize(member) }))
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
