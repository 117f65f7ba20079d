import type { JsonObject, Next } from '../../../core/shapes/index.js'
import { parseNextCall } from './next_call.js'
import { takeFitting } from './notices.js'

/** The call whose value is shown, if known: without a next call in the value, it is the one to continue. */
export interface ShownCall {
  next?: Next
  /** Schema of its input. */
  schema?: JsonObject | undefined
  /** The file with the whole text. */
  spool_path?: string | undefined
}

/** Lists that are continued by `skip`. */
const SKIPPED_LISTS = ['matches', 'rewrites', 'findings']

/** Returns the shown part of a paged value with the call that continues after its last item. */
export function continueValue(whole: JsonObject, shown: JsonObject, call: ShownCall): JsonObject {
  const list = Object.keys(whole).find((name) => countLeft(whole, shown, name) > 0)
  if (list === undefined) return shown
  if (typeof whole['page'] === 'number') return { ...shown, ...continueByPage(whole, shown, list, call) }
  return SKIPPED_LISTS.includes(list) ? { ...shown, ...continueBySkip(whole, shown, list, call) } : shown
}

const takesField = ({ schema }: ShownCall, next: Next, name: string): boolean =>
  name in next.input || (schema?.['properties'] as JsonObject | undefined)?.[name] !== undefined

const countLeft = (whole: JsonObject, shown: JsonObject, name: string): number => {
  const [items, kept] = [whole[name], shown[name]]
  return Array.isArray(items) && Array.isArray(kept) ? items.length - kept.length : 0
}

function continueBySkip(whole: JsonObject, shown: JsonObject, list: string, call: ShownCall): { next?: Next } {
  const { next } = call
  const given = parseNextCall(whole['next'])
  const skip = given?.input['skip']
  if (given && typeof skip === 'number') return withField(given, { skip: skip - countLeft(whole, shown, list) })
  if (!next || !takesField(call, next, 'skip')) return {}
  const before = typeof next.input['skip'] === 'number' ? next.input['skip'] : 0
  return withField(next, { skip: before + (shown[list] as unknown[]).length })
}

/** Makes the page smaller, so that whole pages of the new size end with the last shown item. */
function continueByPage(whole: JsonObject, shown: JsonObject, list: string, call: ShownCall): JsonObject {
  const items = shown[list] as unknown[]
  const [page, per_page, total] = [whole['page'], whole['per_page'], whole['total']].map(Number)
  const next = parseNextCall(whole['next']) ?? call.next
  const smaller = shrinkPage(page!, per_page!, items.length)
  if (!next || !smaller) return {}
  const field = takesField(call, next, 'per_page') ? 'per_page' : 'max_results'
  const [here, size] = [smaller.page, smaller.per_page]
  return {
    [list]: items.slice(0, size),
    ...smaller,
    has_more: true,
    message: `Page ${here} of ${Math.ceil(total! / size)} (${total} in all). Next: ${field}=${size}, page=${here + 1}.`,
    ...withField(next, { [field]: size, page: here + 1 }),
  }
}

/**
 * Returns the largest page of at most `most` items that begins where a page begins; `undefined` if there is none. Pages
 * of its size end exactly before its items and after them.
 */
function shrinkPage(page: number, per_page: number, most: number): { page: number; per_page: number } | undefined {
  const start = (page - 1) * per_page
  let size = most
  while (size > 0 && start % size !== 0) size--
  return size > 0 ? { page: start / size + 1, per_page: size } : undefined
}

/** Returns the shown part of a value with the call that continues its cut `content`, if the position is known. */
export function continueContent(whole: JsonObject, shown: JsonObject, { next }: ShownCall): JsonObject {
  const [content, cut] = [whole['content'], shown['content']]
  if (typeof content !== 'string' || typeof cut !== 'string' || content === cut) return shown
  const mark = cut.lastIndexOf('… (')
  const head = cut.slice(0, mark)
  const lineEnd = head.lastIndexOf('\n') + 1
  const first = whole['start_line']
  const given = parseNextCall(whole['next'])
  if (typeof first === 'number' && lineEnd > 0 && (given || next)) {
    const kept = head.slice(0, lineEnd)
    const last = first + kept.split('\n').length - 2
    const left = `… (${content.length - kept.length} of ${content.length} characters left out)`
    const place = { content: kept + left, end_line: last, has_more: true }
    return { ...shown, ...place, ...withField(given ?? next!, { offset_lines: last + 1 }, 'offset_bytes') }
  }
  const at = given?.input['offset_bytes']
  if (!given || typeof at !== 'number' || (whole['encoding'] ?? 'utf-8') !== 'utf-8') return shown
  return { ...shown, ...withField(given, { offset_bytes: at - Buffer.byteLength(content.slice(head.length)) }) }
}

/** Sets fields of a next call, at its end, where a reader looks for the continuation. */
function withField({ tool, input }: Next, fields: JsonObject, dropped = ''): { next: Next } {
  const rest = Object.entries(input).filter(([name]) => name !== dropped && !(name in fields))
  return { next: { tool, input: { ...Object.fromEntries(rest), ...fields } } }
}

/** Returns the items of a page. One that is too large for an answer becomes smaller, and so do those after it. */
export function fitPage<Item>(
  all: Item[],
  page: number,
  per_page: number,
): { items: Item[]; page: number; per_page: number } {
  const items = takeFitting(all)
  const smaller = items.length < all.length ? shrinkPage(page, per_page, items.length) : undefined
  return { items: items.slice(0, smaller?.per_page), ...(smaller ?? { page, per_page }) }
}
