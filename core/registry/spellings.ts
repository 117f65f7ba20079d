import { nearest, report, type Contribution, type Diagnostic, type Effect, type JsonObject, type Settings, type SlotInfo } from '../base/index.js'
import { targetsOf } from './alias_targets.js'
import { foldKey } from './shape.js'

/** The tool's name as models decorate it: quotes and the prefixes of function-calling wires go. */
export const toolName = (name: string): string =>
  name.trim().replace(/^(["'`])(.*)\1$/s, '$2').replace(/^(functions\.|tools\.|mcp__vtcode__)+/, '')

/** The names of one slot: its own, and those of aliases that lead to it. */
export type Spellings = Pick<SlotInfo, 'names' | 'aliases'>

interface Slot {
  readonly info: SlotInfo
  readonly primary: Contribution
}
/** What of a registry names are read from. */
interface Named {
  readonly slots: ReadonlyMap<string, Slot>
  readonly tools: ReadonlyMap<string, { readonly words: ReadonlyMap<string, Slot> }>
  readonly routes: ReadonlyMap<string, string>
}

const known = new WeakMap<Named, ReadonlyMap<string, Spellings>>()

/** The names of a slot, as the manifests of a whole generation say them. */
export function spellingsOf(registry: Named, slot: string): Spellings {
  const there = known.get(registry) ?? collect(registry)
  known.set(registry, there)
  return there.get(slot) ?? { names: [slot], aliases: [] }
}

function collect(registry: Named): ReadonlyMap<string, Spellings> {
  const all = [...registry.slots.values()].map((slot) => ({ slot, ...ownNames(registry, slot) }))
  // A name that somebody else has taken opens nothing here, and still shuts what it was said of: no plugin lifts a rule by its name.
  const aliases = new Map(all.map(({ slot, lost }) => [slot.info.slot, new Set(lost)]))
  for (const { slot, names } of all) {
    // An alias with cases may lead to several slots; its name speaks about all of them.
    for (const target of targetsOf(slot.primary.manifest.alias ?? {})) aliases.set(target, new Set([...(aliases.get(target) ?? []), ...names]))
  }
  return new Map(all.map(({ slot: { info }, names }) => [info.slot, { names, aliases: [...(aliases.get(info.slot) ?? [])].filter((name) => !names.includes(name)) }]))
}

/** The names by which a slot is called, and those that its manifest says and another has. */
function ownNames({ slots, tools, routes }: Named, { info: { slot, tool, action }, primary: { manifest } }: Slot): { names: string[]; lost: string[] } {
  const routed = [...(action === undefined ? [] : [`${tool}_${action}`]), ...(manifest.aliases ?? [])]
  const words = new Map((manifest.infer?.synonyms ?? []).map((word) => [`${tool}/${word}`, word]))
  const leads = (name: string) => routes.get(name) === slot && !slots.has(name) && !tools.has(name)
  const means = (word: string) => tools.get(tool)?.words.get(foldKey(word))?.info.slot === slot
  const names = new Set([slot, tool, ...routed.filter(leads), ...[...words].flatMap(([name, word]) => (means(word) ? [name] : []))])
  return { names: [...names], lost: [...routed, ...words.keys()].filter((name) => !names.has(name)) }
}

/** A name without the decoration that a call may have too. */
const undecorated = (name: string): string => toolName(name).toLowerCase().replace(/[- ]/g, '_')

/** Whether a limit or rule under this name speaks about the slot: any spelling of a tool speaks about what is behind it. */
export const concerns = (name: string, { names, aliases }: Spellings): boolean =>
  [name, undecorated(name)].some((one) => names.includes(one) || aliases.includes(one))

/** Whether a name is one of the slot's own, rather than that of an alias, which may stand for a part of it. */
export const isOwnName = (name: string, { names }: Spellings): boolean => names.includes(name) || names.includes(undecorated(name))

const effects: readonly string[] = ['read', 'write', 'exec', 'net', 'ask'] satisfies Effect[]

/** What deserves a word about the names in limits and rules: one that nobody serves leaves open what was meant to be shut, and some hold for one spelling only. */
export function policyNames({ policy, automation }: Settings, registry: Named): Diagnostic[] {
  const byName = new Map<string, SlotInfo[]>()
  for (const { info } of registry.slots.values()) for (const name of [...info.names, ...info.aliases]) byName.set(name, [...(byName.get(name) ?? []), info])
  const behind = (name: string) => [...new Set([name, undecorated(name)].flatMap((one) => byName.get(one) ?? []))]
  const constraints = Object.keys(policy['constraints'] as object).map((name): Mention => ({ name, opens: false }))
  const { allowed_tools = [] } = ((automation as JsonObject | undefined)?.['full_auto'] ?? {}) as { allowed_tools?: Entry[] }
  const rules = [...rulesIn(policy['deny'], false), ...rulesIn(policy['ask'], false), ...rulesIn(policy['allow'], true)]
  const all = [...constraints, ...rules.filter(({ name }) => !effects.includes(name) && !name.startsWith('mcp__'))]
  const diagnostics = all.flatMap((named) => {
    const slots = behind(named.name)
    return slots.length === 0 ? unknown(named, [...byName.keys()]) : oneSpelling(named, slots)
  })
  // What full-auto may do unasked names tools that may come later; a name too many opens nothing.
  diagnostics.push(...rulesIn(allowed_tools, true).flatMap((named) => oneSpelling(named, behind(named.name))))
  return [...new Map(diagnostics.map((one) => [one.message, one])).values()]
}

type Entry = string | { rule: string }
interface Mention {
  name: string
  /** Does it allow something, rather than take it away? */
  opens: boolean
  /** The property of the input that it speaks about. */
  property?: string
}

function rulesIn(entries: unknown, opens: boolean): Mention[] {
  const texts = ([entries ?? []].flat() as Entry[]).map((entry) => (typeof entry === 'string' ? entry : entry.rule).trim())
  return texts.flatMap((text) => {
    const left = /^Except\((.*)\)$/.exec(text)?.[1]
    if (left !== undefined) return left.split(/,\s*/).flatMap((name) => rulesIn([name.trim()], true))
    const [, name, property] = /^([a-z][a-z0-9_]*(?:\/[a-z0-9_]+)?)(?:\(([\w.-]+):.*\))?$/s.exec(text) ?? []
    return name === undefined ? [] : [{ name, opens, ...(property !== undefined && { property }) }]
  })
}

function unknown({ name }: Mention, known: readonly string[]): Diagnostic[] {
  const like = nearest(name, [...known, ...effects])
  return [report('VT_POLICY_UNKNOWN_TOOL', { name, nearest: like ? `; nearest: ${like}` : '' }, [], 'warning')]
}

/** What allows an alias allows calls by that name only: the alias may stand for a part of the slot. A property of the alias is none of the slot. */
function oneSpelling({ name, opens, property }: Mention, infos: readonly SlotInfo[]): Diagnostic[] {
  const behind = infos.filter((info) => !isOwnName(name, info))
  if (behind.length === 0) return []
  const slots = behind.map(({ slot }) => slot).join(', ')
  const strange = property !== undefined && !behind.some(({ input }) => Object.hasOwn((input['properties'] ?? {}) as object, property))
  if (strange) return [report('VT_POLICY_ONE_SPELLING', { name: `${name}(${property}:…)`, reason: `'${property}' is no property of ${slots}, so it meets no call`, slots }, [], 'warning')]
  return opens ? [report('VT_POLICY_ONE_SPELLING', { name, reason: `what it opens holds for calls by this name only, not for ${slots}`, slots }, [], 'warning')] : []
}
