import { toText } from '../../../core/text/index.js'
const PAGE = 200

/** A part of a long list. The cursor is a place in it; a list that shrank meanwhile ends early, it never fails. */
export function page<T>(
  items: readonly T[],
  cursor: string | undefined,
): { items: T[]; nextCursor?: string } | undefined {
  const from = cursor === undefined ? 0 : Number(/^[1-9]\d{0,6}$/.exec(cursor)?.[0])
  if (Number.isNaN(from)) return undefined
  const to = from + PAGE
  return { items: items.slice(from, to), ...(to < items.length && { nextCursor: toText(to) }) }
}
