import type { JsonObject } from '../shapes/index.js'

/** A part of an `alias` block: how the input of one tool becomes the input of another, and its answer an answer of the one. */
export interface AliasPart {
  to?: string
  pass?: string[]
  rename?: Record<string, string>
  set?: JsonObject
  default?: JsonObject
  cases?: Record<string, Record<string, AliasPart>>
  output?: JsonObject
}

/** Every slot that an `alias` block can lead to. */
export function targetsOf(alias: JsonObject): string[] {
  const { to, cases } = alias as AliasPart
  const deeper = Object.values(cases ?? {}).flatMap((values) =>
    Object.values(values).flatMap((part) => targetsOf(part as JsonObject)),
  )
  return [...new Set([...(to === undefined ? [] : [to]), ...deeper])]
}
