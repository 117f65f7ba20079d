import type { Contribution, SlotInfo } from '../shapes/index.js'
import { targetsOf } from './alias_targets.js'
import { foldKey } from './shape.js'

/** The tool's name as models decorate it: quotes and the prefixes of function-calling wires go. */
export const toolName = (name: string): string =>
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
/** What of a registry names are read from. */
export interface NamedSlots {
  readonly slots: ReadonlyMap<string, Slot>
  readonly tools: ReadonlyMap<string, { readonly words: ReadonlyMap<string, Slot> }>
  readonly routes: ReadonlyMap<string, string>
}

const known = new WeakMap<NamedSlots, ReadonlyMap<string, Spellings>>()

/** The names of a slot, as the manifests of a whole generation say them. */
export function spellingsOf(registry: NamedSlots, slot: string): Spellings {
  const there = known.get(registry) ?? collect(registry)
  known.set(registry, there)
  return there.get(slot) ?? { names: [slot], aliases: [] }
}

function collect(registry: NamedSlots): ReadonlyMap<string, Spellings> {
  const all = [...registry.slots.values()].map((slot) => ({ slot, ...ownNames(registry, slot) }))
  // A name that somebody else has taken opens nothing here, and still shuts what it was said of: no plugin lifts a rule by its name.
  const aliases = new Map(all.map(({ slot, lost }) => [slot.info.slot, new Set(lost)]))
  for (const { slot, names } of all) {
    // An alias with cases may lead to several slots; its name speaks about all of them.
    for (const target of targetsOf(slot.primary.manifest.alias ?? {}))
      aliases.set(target, new Set([...(aliases.get(target) ?? []), ...names]))
  }
  return new Map(
    all.map(({ slot: { info }, names }) => [
      info.slot,
      { names, aliases: [...(aliases.get(info.slot) ?? [])].filter((name) => !names.includes(name)) },
    ]),
  )
}

/** The names by which a slot is called, and those that its manifest says and another has. */
function ownNames(
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

/** A name without the decoration that a call may have too. */
export const undecorated = (name: string): string => toolName(name).toLowerCase().replace(/[- ]/g, '_')

/** Whether a limit or rule under this name speaks about the slot: any spelling of a tool speaks about what is behind it. */
export const concerns = (name: string, { names, aliases }: Spellings): boolean =>
  [name, undecorated(name)].some((one) => names.includes(one) || aliases.includes(one))

/** Whether a name is one of the slot's own, rather than that of an alias, which may stand for a part of it. */
export const isOwnName = (name: string, { names }: Spellings): boolean =>
  names.includes(name) || names.includes(undecorated(name))
