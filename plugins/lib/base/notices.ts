import { fail, VtError, type JsonObject, type Next, type Notice } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'

/** Limit of one serialised output in bytes. */
export const MAX_OUTPUT_BYTES = 2 * 1024 * 1024

/** Creates an error with a code of the slot. The manifest of the slot provides the hint. */
export const createSlotError = (
  code: string,
  message: string,
  extra: { hint?: string; retryable?: boolean; details?: JsonObject; next?: Next } = {},
): VtError => new VtError(fail(code, message, extra).error)

/** Number of items measured together. */
const MEASURE_BATCH = 64

/** Returns the first items that fit into `bytes` of JSON. */
export function takeFitting<T>(items: T[], bytes = MAX_OUTPUT_BYTES): T[] {
  let left = bytes
  for (let at = 0; at < items.length; at += MEASURE_BATCH) {
    const some = items.slice(at, at + MEASURE_BATCH)
    // The brackets and commas add one byte more than there are items.
    const size = Buffer.byteLength(JSON.stringify(some)) - 1
    if (size > left) return [...items.slice(0, at), ...takeWhileFitting(some, left)]
    left -= size
  }
  return items
}

function takeWhileFitting<T>(items: T[], bytes: number): T[] {
  let left = bytes
  const end = items.findIndex((item) => (left -= Buffer.byteLength(JSON.stringify(item)) + 1) < 0)
  return end < 0 ? items : items.slice(0, end)
}

export const notice = (code: string, message: string): Notice => ({ code, message })

/** Formats a count with its noun: `1 match`, `2 matches`. */
export const pluralize = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`

/** Lists the first names and counts the rest. */
export function formatNames(names: string[], limit = 20): string {
  const more = names.length > limit ? ` and ${names.length - limit} more` : ''
  return names.slice(0, limit).map(visibleLine).join(', ') + more
}

/** Returns the notices of a search. */
export function listSearchNotices(found: {
  incomplete: boolean
  complaints: string[]
  skipped?: string[]
  gone?: number
  fallback?: boolean
}): Notice[] {
  const { incomplete, complaints, skipped = [], gone = 0 } = found
  const all: Notice[] = []
  if (found.fallback)
    all.push(notice('VT_SEARCH_FALLBACK', 'ripgrep is missing or failed; a slower built-in search ran instead.'))
  if (incomplete)
    all.push(
      notice(
        'VT_SEARCH_INCOMPLETE',
        'The search stopped at its limit; the totals are lower bounds. Narrow path or globs.',
      ),
    )
  if (complaints.length > 0)
    all.push(notice('VT_SEARCH_PARTIAL', `Some files could not be searched: ${complaints.slice(0, 5).join('; ')}`))
  // The notice names no file, because the missing file may have been outside the scope.
  if (gone > 0)
    all.push(
      notice(
        'VT_SEARCH_PARTIAL',
        `${pluralize(gone, 'file')} changed or vanished during the search and ${gone === 1 ? 'is' : 'are'} left out.`,
      ),
    )
  if (skipped.length > 0)
    all.push(
      notice(
        'VT_SEARCH_SKIPPED',
        `${pluralize(skipped.length, 'file')} over 256 MiB not opened: ${formatNames(skipped)}`,
      ),
    )
  return all
}
