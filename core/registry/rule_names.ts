import {
  report,
  type ContributionInfo,
  type Diagnostic,
  type RightsLeft,
  type Settings,
  type SlotInfo,
} from '../shapes/index.js'
import { nearest, wildcard } from '../text/index.js'
import { effectWords, isEffect, isFamily, ruleFamilies } from './families.js'
import { isOwnName, undecorated, type NamedSlots } from './spellings.js'

/** Every tool of a server is called by this, the name of the server, and its own. */
const server = /^mcp__[\w-]+?__/
export const isOfServer = (slot: string): boolean => server.test(slot)

/** Whether an allow rule may name tools by a glob: the actions of one tool, or tools of one server. What nobody has thought of stays shut. */
export const mayAllow = (name: string): boolean =>
  !name.includes('*') ||
  /^\w+\/\*$/.test(name) ||
  (server.test(name) && server.exec(name)![0].length <= name.indexOf('*'))

type Known = NamedSlots & { readonly infos: readonly ContributionInfo[] }

/** What deserves a word about the names in limits and rules: one that nobody serves leaves open what was meant to be shut, and some hold for one spelling only. */
export function policyNames(
  { policy, automation }: Pick<Settings, 'policy' | 'automation'>,
  registry: Known,
  only: readonly RightsLeft[] = [],
): Diagnostic[] {
  let made: ReturnType<typeof namesIn> | undefined
  const byName = () => (made ??= namesIn(registry))
  const constraints = Object.keys(policy.constraints).map((name): Mention => ({ name, opens: false, allows: false }))
  const rules = [
    ...rulesIn(policy.deny, false),
    ...rulesIn(policy.ask, false),
    ...rulesIn(policy.allow, true),
    ...rulesIn(automation.full_auto.allowed_tools, true),
    ...only.flatMap(({ tools }) => leftIn(tools)),
  ]
  const diagnostics = [...constraints, ...rules].flatMap((mention) => {
    const { name, allows } = mention
    if (isEffect(name) || isFamily(name)) return []
    if (allows && !mayAllow(name)) return [idle(mention, byName())]
    const slots = slotsBehind(name, byName())
    if (slots.length > 0) return oneSpelling(mention, slots)
    return isLater(name, registry) ? [] : [unknown(mention, [...byName().keys()])]
  })
  return [...new Map(diagnostics.map((one) => [one.message, one])).values()]
}

/** The first of the names that are left which leads to nothing. */
export function unknownName(names: readonly string[], registry: Known): { name: string; nearest: string } | undefined {
  const byName = namesIn(registry)
  const leadsNowhere = ({ name }: Mention): boolean =>
    !isEffect(name) && !isFamily(name) && slotsBehind(name, byName).length === 0 && !isLater(name, registry)
  const found = leftIn(names).find(leadsNowhere)
  return found && { name: found.name, nearest: suggested(found.name, [...byName.keys()]) }
}

/** Every name of a slot, with the slots that have it. */
function namesIn({ slots }: Known): Map<string, SlotInfo[]> {
  const byName = new Map<string, SlotInfo[]>()
  for (const { info } of slots.values())
    for (const name of [...info.names, ...info.aliases]) byName.set(name, [...(byName.get(name) ?? []), info])
  return byName
}

/** The names of what is left: a rule `Except(…)` takes away those in it. */
const leftIn = (names: readonly string[] = []): Mention[] =>
  names.flatMap(
    (name) =>
      exceptedBy(name)?.map((one): Mention => ({ name: one, opens: false, allows: false })) ?? [
        { name, opens: true, allows: false },
      ],
  )

/** The names in `Except(…)`. */
export const exceptedBy = (name: string): string[] | undefined =>
  /^Except\((.*)\)$/
    .exec(name)?.[1]!
    .split(',')
    .map((one) => one.trim())

function slotsBehind(name: string, byName: ReadonlyMap<string, SlotInfo[]>): SlotInfo[] {
  const exact = [name, undecorated(name)].flatMap((one) => byName.get(one) ?? [])
  const matches = name.includes('*') ? wildcard(name) : (one: string) => one.startsWith(`${name}__`)
  const several = exact.length > 0 ? [] : [...byName].flatMap(([one, infos]) => (matches(one) ? infos : []))
  return [...new Set([...exact, ...several])]
}

/** A server that has not said yet what it offers, or could not be started, may still serve any name behind its own, or the one name that a manifest gives a tool of it. */
function isLater(name: string, { infos, slots }: Known): boolean {
  return infos.some(({ id, kind, slot }) => {
    const given = id.slice(id.lastIndexOf(':') + 1)
    if (kind === 'action' && slot === undefined && name === given) return true
    const own = `mcp__${given.replace(/[^A-Za-z0-9_-]/g, '_')}`
    if (slot !== undefined || (name !== own && !name.startsWith(`${own}__`))) return false
    // A server that lists its tools has shown all its names.
    return ![...slots.values()].some(({ info }) => info.names.some((one) => one.startsWith(`${own}__`)))
  })
}

type Entry = string | { rule: string }
interface Mention {
  name: string
  /** Does it leave something open, rather than take it away? */
  opens: boolean
  /** Does it give what would be asked about or denied? */
  allows: boolean
  /** The property of the input that it speaks about. */
  property?: string
}

function rulesIn(entries: readonly Entry[], opens: boolean, allows = opens): Mention[] {
  const texts = entries.map((entry) => (typeof entry === 'string' ? entry : entry.rule).trim())
  return texts.flatMap((text) => {
    const left = exceptedBy(text)
    if (left) return left.flatMap((name) => rulesIn([name], true, false))
    const [, name, property] = /^([^\s()]+)(?:\((?:([\w.-]+):)?.*\))?$/s.exec(text) ?? []
    return name === undefined ? [] : [{ name, opens, allows, ...(property !== undefined && { property }) }]
  })
}

const unknown = ({ name }: Mention, known: readonly string[]): Diagnostic =>
  report('VT_POLICY_UNKNOWN_TOOL', { name, nearest: suggested(name, known) }, [], 'warning')

const idle = ({ name }: Mention, known: ReadonlyMap<string, unknown>): Diagnostic =>
  report('VT_POLICY_NO_MATCH', { name, nearest: suggested(name, [...known.keys()]) }, [], 'warning')

/** The nearest name that would meet something; for a glob the nearest that allows. */
function suggested(name: string, known: readonly string[]): string {
  const servers = [...new Set(known.flatMap((one) => server.exec(one)?.[0] ?? []))]
  const globs = [
    ...new Set([
      ...servers.map((one) => `${one}*`),
      ...known.flatMap((one) => (one.includes('/') ? [`${one.split('/')[0]}/*`] : [])),
    ]),
  ]
  const own = server.exec(name)?.[0]
  const names = /^[A-Z]/.test(name) ? [...ruleFamilies, ...known] : [...known, ...effectWords]
  const elsewhere =
    own === undefined || servers.includes(own)
      ? []
      : servers.map((one) => `${one}${name.slice(own.length)}`).filter((one) => known.includes(one))
  const byServer = own && globs.find((one) => nearest(own.slice(0, -2), [one.slice(0, -3)]))
  const like =
    nearest(name, name.includes('*') ? globs : [...elsewhere, ...names]) ??
    byServer ??
    globs.find((one) => one.startsWith(name.replace(/\*.*$/, '')))
  return like === undefined ? '' : `; nearest: ${like}`
}

/** What allows an alias allows calls by that name only: the alias may stand for a part of the slot. A property of the alias is none of the slot. */
function oneSpelling({ name, opens, property }: Mention, infos: readonly SlotInfo[]): Diagnostic[] {
  // A glob is no spelling of one name.
  const behind = name.includes('*')
    ? []
    : infos.filter((info) => !isOwnName(name, info) && !info.names.some((one) => one.startsWith(`${name}__`)))
  if (behind.length === 0) return []
  const slots = behind.map(({ slot }) => slot).join(', ')
  const strange =
    property !== undefined &&
    !behind.some(({ input }) => Object.hasOwn((input['properties'] ?? {}) as object, property))
  if (strange)
    return [
      report(
        'VT_POLICY_ONE_SPELLING',
        {
          name: `${name}(${property}:…)`,
          reason: `'${property}' is no property of ${slots}, so it meets no call`,
          slots,
        },
        [],
        'warning',
      ),
    ]
  return opens
    ? [
        report(
          'VT_POLICY_ONE_SPELLING',
          { name, reason: `what it opens holds for calls by this name only, not for ${slots}`, slots },
          [],
          'warning',
        ),
      ]
    : []
}
