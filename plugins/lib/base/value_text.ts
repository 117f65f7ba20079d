import { isObject, estimateJsonSize, type JsonObject } from '../../../core/shapes/index.js'
import { visibleJson } from '../../../core/text/index.js'
import { continueContent, continueValue, type ShownCall } from './value_pages.js'

/** A value up to this size in bytes is shown whole. */
const SMALL = 32 * 1024

/** The mark that the spool writes into a text that it truncated. */
const SPOOL_MARK = /\n… \d+ of \d+ bytes left out; the whole text is in (\S+)/

/**
 * Returns the byte limit for a value that is shown with a text or instead of it. The limit is the size of a text that
 * the spool truncated; otherwise everything that the text shows fits.
 */
function valueLimit(text: string): number {
  return SPOOL_MARK.test(text)
    ? Buffer.byteLength(text)
    : Math.max(SMALL, Buffer.byteLength(JSON.stringify(text)) + 1024)
}

/** Formats a value for a model instead of its text: as much as the text showed, or all of it. */
export const valueText = (value: JsonObject, text?: string, call?: ShownCall): string =>
  formatValue(truncateLikeText(value, text, call))

export const formatValue = (value: JsonObject): string => visibleJson(JSON.stringify(value))

/** Returns a value with as much as its text shows; of a text that the spool truncated, it names the file. */
export function truncateLikeText(value: JsonObject, text: string | undefined, call?: ShownCall): JsonObject {
  if (text === undefined) return value
  return truncateValue(value, valueLimit(text), { ...call, spool_path: SPOOL_MARK.exec(text)?.[1] })
}

/**
 * Truncates a value to `limit` bytes of JSON. `left_out` states what is missing, and `next` continues after what is
 * shown. Returns a short value unchanged.
 */
export function truncateValue(value: JsonObject, limit: number, call: ShownCall = {}): JsonObject {
  // An estimate is enough for most values.
  if (estimateJsonSize(value) * 6 <= limit) return value
  let shown: JsonObject = value
  for (let room = limit; room > 0; room = Math.floor(room * 0.8)) {
    if (Buffer.byteLength(JSON.stringify(shown)) <= limit) return shown
    shown = truncateToRoom(value, room, call)
  }
  return { left_out: 'Left out: all members, which are too long.' }
}

/** Truncates a value to about `room` bytes, and adds what is left out and the continuation. */
function truncateToRoom(value: JsonObject, room: number, call: ShownCall): JsonObject {
  const cuts = new Cuts('exit_code' in value ? 3 / 4 : 1 / 4)
  const members = continueContent(value, cuts.truncateMembers(value, room, ''), call)
  const { next, ...shown } = continueValue(value, members, call)
  return { ...shown, left_out: cuts.describe(value, shown, call.spool_path), ...(next !== undefined && { next }) }
}

/** Truncates the parts of one value and records what they lost. */
class Cuts {
  private readonly texts: string[] = []

  constructor(
    /** Part of the room for the end of a text: the end of a command's output shows its result. */
    private readonly tailShare: number,
  ) {}

  /** States in one sentence what is missing. */
  describe(whole: JsonObject, shown: JsonObject, spool_path: string | undefined): string {
    const lists = Object.entries(whole).flatMap(([name, items]) => {
      const kept = shown[name]
      return Array.isArray(items) && Array.isArray(kept) && kept.length < items.length
        ? [`${items.length - kept.length} of ${items.length} ${name}`]
        : []
    })
    const content = /… \((\d+ of \d+ characters) left out\)$/.exec(String(shown['content']))
    const all = [...lists, ...(content ? [`${content[1]} of content`] : []), ...this.texts].join(', ')
    return `Left out: ${all}.${spool_path === undefined ? '' : ` The whole text is in ${spool_path}.`}`
  }

  /** Keeps small members whole and shares the remaining room equally among large ones. */
  truncateMembers(value: JsonObject, room: number, place: string): JsonObject {
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
      Object.entries(value).map(([name, member]) => [
        name,
        this.truncateToSize(member, rooms.get(name)!, place === '' ? name : `${place}/${name}`),
      ]),
    )
    return typeof value['truncated'] === 'boolean' ? { ...cut, truncated: true } : cut
  }

  private truncateToSize(value: unknown, room: number, place: string): unknown {
    if (estimateJsonSize(value) <= room) return value
    if (typeof value === 'string') return this.truncateString(value, room, place)
    if (Array.isArray(value)) return this.truncateList(value, room, place)
    return isObject(value) ? this.truncateMembers(value, room, place) : value
  }

  /** Keeps both ends of a text. `content` keeps its beginning, which a next call continues. */
  private truncateString(text: string, room: number, place: string): string {
    const units = Math.max(0, room - 70)
    const tailUnits = place === 'content' ? 0 : Math.floor(units * this.tailShare)
    const head = text.slice(0, units - tailUnits).replace(/[\uD800-\uDBFF]$/, '')
    const tail = text.slice(text.length - tailUnits).replace(/^[\uDC00-\uDFFF]/, '')
    const left = `${text.length - head.length - tail.length} of ${text.length} characters`
    if (place !== 'content') this.texts.push(`${left} of ${place}`)
    return `${head}… (${left} left out)${tail === '' ? '' : ` …${tail}`}`
  }

  private truncateList(items: readonly unknown[], room: number, place: string): unknown[] {
    const taken: unknown[] = []
    let left = room - 2
    for (const item of items) {
      if ((left -= estimateJsonSize(item) + 1) < 0) break
      taken.push(item)
    }
    if (place.includes('/')) this.texts.push(`${items.length - taken.length} of ${items.length} ${place}`)
    return taken.length > 0 ? taken : [this.truncateToSize(items[0], room - 3, `${place}/0`)]
  }
}
