import type { Schema } from '../shapes/index.js'

/** Right of a workspace to a setting: the nearest `x-workspace` of the schema, and the user's consent to the value. */
export interface WorkspaceRule {
  may: 'free' | 'tighten' | 'trusted' | 'own'
  consented: boolean
}
export type WorkspaceObjection = 'VT_CONFIG_OWN_ONLY' | 'VT_CONFIG_CONSENT' | 'VT_CONFIG_LOOSENS'

/** Returns the reason why a workspace may not set `value` if the user's own layers set `own`. */
export function findWorkspaceObjection(
  node: Schema,
  value: unknown,
  own: unknown,
  { may, consented }: WorkspaceRule,
): WorkspaceObjection | undefined {
  if (may === 'own') return 'VT_CONFIG_OWN_ONLY'
  if (may === 'tighten') return isAsStrict(node, own, value) ? undefined : 'VT_CONFIG_LOOSENS'
  if (may === 'free' || (Object.hasOwn(node, 'x-free-value') && node['x-free-value'] === value)) return undefined
  if (!consented) return 'VT_CONFIG_CONSENT'
  if (node['x-merge'] === 'by-name' && replacesOwnEntry(value, own)) return 'VT_CONFIG_OWN_ONLY'
  // A setting of the user may be a restriction: consent to a workspace does not lift it. `null` only removes a value,
  // so there is nothing to consent to.
  return (node['x-keeps-own'] === true || value === null) && own !== undefined ? 'VT_CONFIG_OWN_ONLY' : undefined
}

/** Returns whether a list would replace an entry of the user with the same name. */
function replacesOwnEntry(value: unknown, own: unknown): boolean {
  const names = (list: unknown) => (Array.isArray(list) ? list.map((item: { name?: unknown }) => item.name) : [])
  const taken = new Set(names(own))
  return names(value).some((name) => taken.has(name))
}

/** Returns whether `after` is as strict as `before`, or stricter; for values without an order only if equal. */
export function isAsStrict(node: Schema, before: unknown, after: unknown): boolean {
  if (after === null) return false
  if (isEqualJson(before, after)) return true
  const tightens = node['x-tightens']
  const order = node['enum'] as unknown[] | undefined
  if (order) return order.includes(after) && (before === undefined || order.indexOf(after) <= order.indexOf(before))
  if (typeof after === 'boolean') return String(after) === (tightens ?? 'false')
  if (typeof after === 'number') {
    // The absence of a limit is the loosest value.
    const rank = (value: unknown) =>
      value === undefined || value === node['x-unlimited'] ? Infinity : (value as number)
    return tightens === 'higher' ? before === undefined || after >= (before as number) : rank(after) <= rank(before)
  }
  if (!Array.isArray(after)) return false
  const list = before as unknown[] | undefined
  if (tightens === 'shorter') return list === undefined || after.every(createMembershipTest(list))
  return tightens === 'longer' && (node['x-merge'] === 'concat' || (list ?? []).every(createMembershipTest(after)))
}

export const isEqualJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
/** Creates a test for membership in a list, which may have thousands of items. */
export function createMembershipTest(list: readonly unknown[]): (item: unknown) => boolean {
  const texts = new Set(list.map((item) => JSON.stringify(item)))
  return (item) => texts.has(JSON.stringify(item))
}
