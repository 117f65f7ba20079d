import type { Code, Contribution, JsonObject, State, Values } from '../shapes/index.js'
import { findNearest } from '../text/index.js'

/** A part of an `alias` block: converts the input of one tool into that of another, and the answer back. */
export interface AliasPart {
  to?: string
  pass?: string[]
  rename?: Record<string, string>
  set?: JsonObject
  default?: JsonObject
  cases?: Record<string, Record<string, AliasPart>>
  output?: JsonObject
}

/** Lists every slot that an `alias` block can lead to. */
export function listAliasTargets(alias: JsonObject): string[] {
  const { to, cases } = alias as AliasPart
  const deeper = Object.values(cases ?? {}).flatMap((values) =>
    Object.values(values).flatMap((part) => listAliasTargets(part as JsonObject)),
  )
  return [...new Set([...(to === undefined ? [] : [to]), ...deeper])]
}

/** Returns why an alias cannot be used: it leads to another alias, or to a slot that does not exist. */
export function findAliasFault(
  { id, manifest }: Contribution,
  slots: ReadonlyMap<string, { primary: Contribution }>,
  claims: ReadonlyMap<string, readonly Contribution[]>,
): [state: State, code: Code, values: Values] | undefined {
  for (const slot of listAliasTargets(manifest.alias ?? {})) {
    const { alias } = (slots.get(slot)?.primary ?? claims.get(slot)?.[0])?.manifest ?? {}
    if (alias) {
      const names = listAliasTargets(alias).join(' or ')
      const problem = `${id} leads to ${slot}, which is an alias itself. Name ${names} in \`to\`.`
      return ['invalid', 'VT_MANIFEST_INVALID', { problem }]
    }
    if (slots.has(slot)) continue
    const like = findNearest(slot, slots.keys())
    return ['inactive', 'VT_SLOT_UNKNOWN', { id, role: 'an alias', slot, nearest: like ? `; nearest: ${like}` : '' }]
  }
  return undefined
}
