import type { Schema } from '../shapes/index.js'

/** The right of a workspace to a setting: the nearest `x-workspace` of the schema, and whether the user agreed to the value. */
export interface WorkspaceRule {
  may: 'free' | 'tighten' | 'trusted' | 'own'
  agreed: boolean
}
export type WorkspaceObjection = 'VT_CONFIG_OWN_ONLY' | 'VT_CONFIG_CONSENT' | 'VT_CONFIG_LOOSENS'

/** Why a workspace may not set `value` where the user's own layers set `own`. */
export function workspaceObjection(
  node: Schema,
  value: unknown,
  own: unknown,
  { may, agreed }: WorkspaceRule,
): WorkspaceObjection | undefined {
  if (may === 'own') return 'VT_CONFIG_OWN_ONLY'
  if (may === 'tighten') return tightens(node, own, value) ? undefined : 'VT_CONFIG_LOOSENS'
  if (may === 'free' || (Object.hasOwn(node, 'x-free-value') && node['x-free-value'] === value)) return undefined
  if (!agreed) return 'VT_CONFIG_CONSENT'
  if (node['x-merge'] === 'by-name' && retakes(value, own)) return 'VT_CONFIG_OWN_ONLY'
  // What the user has set may be a restriction: no consent to a workspace lifts it, and `null` adds nothing that could be agreed to.
  return (node['x-keeps-own'] === true || value === null) && own !== undefined ? 'VT_CONFIG_OWN_ONLY' : undefined
}

/** Whether a list would replace an entry of the user's own by one of its name. */
function retakes(value: unknown, own: unknown): boolean {
  const names = (list: unknown) => (Array.isArray(list) ? list.map((item: { name?: unknown }) => item.name) : [])
  const taken = new Set(names(own))
  return names(value).some((name) => taken.has(name))
}

/** Whether `after` is as strict as `before`, or stricter. Values without an order never are. */
export function tightens(node: Schema, before: unknown, after: unknown): boolean {
  if (after === null) return false
  if (same(before, after)) return true
  const way = node['x-tightens']
  const order = node['enum'] as unknown[] | undefined
  if (order) return order.includes(after) && (before === undefined || order.indexOf(after) <= order.indexOf(before))
  if (typeof after === 'boolean') return String(after) === (way ?? 'false')
  if (typeof after === 'number') {
    // The absence of a limit is the loosest value.
    const rank = (value: unknown) =>
      value === undefined || value === node['x-unlimited'] ? Infinity : (value as number)
    return way === 'higher' ? before === undefined || after >= (before as number) : rank(after) <= rank(before)
  }
  if (!Array.isArray(after)) return false
  const list = before as unknown[] | undefined
  if (way === 'shorter') return list === undefined || after.every(among(list))
  return way === 'longer' && (node['x-merge'] === 'concat' || (list ?? []).every(among(after)))
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
/** Whether an item is in a list: each is turned to text once, for a list may have thousands. */
export function among(list: readonly unknown[]): (item: unknown) => boolean {
  const texts = new Set(list.map((item) => JSON.stringify(item)))
  return (item) => texts.has(JSON.stringify(item))
}
