import type { Contribution, SlotInfo } from '../shapes/index.js'
import { listAliasTargets } from './alias_targets.js'
import { foldKey } from './shape.js'

/** Removes the decoration of models from a tool name: quotes and the prefixes of function-calling wires. */
export const stripDecoration = (name: string): string =>
  name
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .replace(/^(functions\.|tools\.|mcp__vtcode__)+/, '')

/** The names of one slot: its own, and those of aliases that lead to it. */
export type Spellings = Pick<SlotInfo, 'names' | 'aliases'>

interface Slot {
  readonly info: SlotInfo
  readonly primary: Contribution
}
/** The parts of a registry that define names. */
export interface NamedSlots {
  readonly slots: ReadonlyMap<string, Slot>
  readonly tools: ReadonlyMap<string, { readonly words: ReadonlyMap<string, Slot> }>
  readonly routes: ReadonlyMap<string, string>
}

const known = new WeakMap<NamedSlots, ReadonlyMap<string, Spellings>>()

/** Returns the names of a slot, from the manifests of a whole generation. */
export function findSpellings(registry: NamedSlots, slot: string): Spellings {
  const there = known.get(registry) ?? collectSpellings(registry)
  known.set(registry, there)
  return there.get(slot) ?? { names: [slot], aliases: [] }
}

function collectSpellings(registry: NamedSlots): ReadonlyMap<string, Spellings> {
  const all = [...registry.slots.values()].map((slot) => ({ slot, ...listOwnNames(registry, slot) }))
  // A name that another slot has permits nothing here but still denies, so no plugin lifts a rule by taking a name.
  const aliases = new Map(all.map(({ slot, lost }) => [slot.info.slot, new Set(lost)]))
  for (const { slot, names } of all) {
    // An alias with cases may lead to several slots; its name covers all of them.
    for (const target of listAliasTargets(slot.primary.manifest.alias ?? {}))
      aliases.set(target, new Set([...(aliases.get(target) ?? []), ...names]))
  }
  return new Map(
    all.map(({ slot: { info }, names }) => [
      info.slot,
      { names, aliases: [...(aliases.get(info.slot) ?? [])].filter((name) => !names.includes(name)) },
    ]),
  )
}

/** Lists the names by which a slot is called, and those of its manifest that another slot has. */
function listOwnNames(
  { slots, tools, routes }: NamedSlots,
  { info: { slot, tool, action }, primary: { manifest } }: Slot,
): { names: string[]; lost: string[] } {
  const routed = [...(action === undefined ? [] : [`${tool}_${action}`]), ...(manifest.aliases ?? [])]
  const words = new Map((manifest.infer?.synonyms ?? []).map((word) => [`${tool}/${word}`, word]))
  const leads = (name: string) => routes.get(name) === slot && !slots.has(name) && !tools.has(name)
  const means = (word: string) => tools.get(tool)?.words.get(foldKey(word))?.info.slot === slot
  const names = new Set([
    slot,
    tool,
    ...routed.filter(leads),
    ...[...words].flatMap(([name, word]) => (means(word) ? [name] : [])),
  ])
  return { names: [...names], lost: [...routed, ...words.keys()].filter((name) => !names.has(name)) }
}

/** Normalises a name: removes decoration, folds case, `-` and blanks. */
export const normalizeName = (name: string): string => stripDecoration(name).toLowerCase().replace(/[- ]/g, '_')

/** Returns whether a limit or rule with this name covers the slot, by any of its spellings. */
export const isSpelling = (name: string, { names, aliases }: Spellings): boolean =>
  [name, normalizeName(name)].some((one) => names.includes(one) || aliases.includes(one))

/** Returns whether a name is the slot's own. An alias, which may cover a part of the slot, does not count. */
export const isOwnName = (name: string, { names }: Spellings): boolean =>
  names.includes(name) || names.includes(normalizeName(name))
