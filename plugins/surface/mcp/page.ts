import { toText } from '../../../core/text/index.js'
const PAGE_SIZE = 200

/** Returns a part of a long list. The cursor is an index; a list that has shrunk meanwhile ends early without error. */
export function slicePage<T>(
  items: readonly T[],
  cursor: string | undefined,
): { items: T[]; nextCursor?: string } | undefined {
  const from = cursor === undefined ? 0 : Number(/^[1-9]\d{0,6}$/.exec(cursor)?.[0])
  if (Number.isNaN(from)) return undefined
  const to = from + PAGE_SIZE
  return { items: items.slice(from, to), ...(to < items.length && { nextCursor: toText(to) }) }
}
