import type { JsonObject } from '../shapes/index.js'

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
