import {
  createDiagnostic,
  type ContributionInfo,
  type Diagnostic,
  type RightsScope,
  type Settings,
  type SlotInfo,
} from '../shapes/index.js'
import { findNearest, compileWildcard } from '../text/index.js'
import { effectWords, isEffect, isFamily, ruleFamilies } from './families.js'
import { isOwnName, normalizeName, type NamedSlots } from './spellings.js'

/** Prefix of every tool of a server: `mcp__`, the name of the server, `__`. */
const server = /^mcp__[\w-]+?__/

/** Returns whether a glob is about the tools of a named server, and the slot belongs to another one or to none. */
export function isOfOtherServer(name: string, { group }: Pick<SlotInfo, 'group'>): boolean {
  const start = name.indexOf('*')
  return start >= 0 && server.test(name.slice(0, start)) && !(group !== undefined && name.startsWith(`${group}__`))
}

/**
 * Returns whether an allow rule may use this name. A glob may cover the actions of one tool or the tools of one server,
 * but never tools of a future plugin.
 */
export const canAllow = (name: string): boolean =>
  !name.includes('*') ||
  /^\w+\/\*$/.test(name) ||
  (server.test(name) && server.exec(name)![0].length <= name.indexOf('*'))

type NamedRegistry = NamedSlots & { readonly infos: readonly ContributionInfo[] }

/**
 * Reports names in limits and rules that no slot has, because they would not deny anything, and names that cover one
 * spelling only.
 */
export function checkPolicyNames(
  { policy, automation }: Pick<Settings, 'policy' | 'automation'>,
  registry: NamedRegistry,
  only: readonly RightsScope[] = [],
): Diagnostic[] {
  let made: ReturnType<typeof indexNames> | undefined
  const byName = () => (made ??= indexNames(registry))
  const constraints = Object.keys(policy.constraints).map((name): Mention => ({ name, opens: false, allows: false }))
  const rules = [
    ...listRuleMentions(policy.deny, false),
    ...listRuleMentions(policy.ask, false),
    ...listRuleMentions(policy.allow, true),
    ...listRuleMentions(automation.full_auto.allowed_tools, true),
    ...only.flatMap(({ tools }) => listScopeMentions(tools)),
  ]
  const diagnostics = [...constraints, ...rules].flatMap((mention) => {
    const { name, allows } = mention
    if (isEffect(name) || isFamily(name)) return []
    if (allows && !canAllow(name)) return [createNoMatchDiagnostic(mention, byName())]
    const slots = findMeantSlots(mention, byName())
    if (slots.length > 0) return reportOneSpelling(mention, slots)
    return isPendingServerName(name, registry) ? [] : [createUnknownDiagnostic(mention, byName())]
  })
  return [...new Map(diagnostics.map((one) => [one.message, one])).values()]
}

/** Returns the first name of a scope that leads to no slot. */
export function findUnknownName(
  names: readonly string[],
  registry: NamedRegistry,
): { name: string; nearest: string } | undefined {
  const byName = indexNames(registry)
  const leadsNowhere = (mention: Mention): boolean =>
    !isEffect(mention.name) &&
    !isFamily(mention.name) &&
    findMeantSlots(mention, byName).length === 0 &&
    !isPendingServerName(mention.name, registry)
  const found = listScopeMentions(names).find(leadsNowhere)
  return found && { name: found.name, nearest: suggestName(found.name, byName) }
}

type NamesOfSlots = ReadonlyMap<string, SlotInfo[]>

/** Maps every name to the slots that have it. */
function indexNames({ slots }: NamedRegistry): Map<string, SlotInfo[]> {
  const byName = new Map<string, SlotInfo[]>()
  for (const { info } of slots.values())
    for (const name of [...info.names, ...info.aliases]) byName.set(name, [...(byName.get(name) ?? []), info])
  return byName
}

/** Lists the names of a scope; `Except(…)` contains denied names. */
const listScopeMentions = (names: readonly string[] = []): Mention[] =>
  names.flatMap(
    (name) =>
      parseExcept(name)?.map((one): Mention => ({ name: one, opens: false, allows: false })) ?? [
        { name, opens: true, allows: false },
      ],
  )

/** Parses the names in `Except(…)`. */
export const parseExcept = (name: string): string[] | undefined =>
  /^Except\((.*)\)$/
    .exec(name)?.[1]!
    .split(',')
    .map((one) => one.trim())

function findMeantSlots({ name, opens }: Mention, byName: NamesOfSlots): SlotInfo[] {
  const exact = [name, normalizeName(name)].flatMap((one) => byName.get(one) ?? [])
  if (exact.length > 0) return [...new Set(exact)]
  const matches = compileWildcard(name)
  const several = [...byName].flatMap(([one, infos]) =>
    infos.filter((info) => info.group === name || (matches(one) && !(opens && isOfOtherServer(name, info)))),
  )
  return [...new Set(several)]
}

/** Returns whether a server that has not listed its tools may still serve the name. */
function isPendingServerName(name: string, { infos, slots }: NamedRegistry): boolean {
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
  /** The entry permits something. */
  opens: boolean
  /** The entry allows calls that would be asked about or denied otherwise. */
  allows: boolean
  /** The property of the input that the entry covers. */
  property?: string
}

function listRuleMentions(entries: readonly Entry[], opens: boolean, allows = opens): Mention[] {
  const texts = entries.map((entry) => (typeof entry === 'string' ? entry : entry.rule).trim())
  return texts.flatMap((text) => {
    const left = parseExcept(text)
    if (left) return left.flatMap((name) => listRuleMentions([name], true, false))
    const [, name, property] = /^([^\s()]+)(?:\((?:([\w.-]+):)?.*\))?$/s.exec(text) ?? []
    return name === undefined ? [] : [{ name, opens, allows, ...(property !== undefined && { property }) }]
  })
}

const createUnknownDiagnostic = ({ name }: Mention, known: NamesOfSlots): Diagnostic =>
  createDiagnostic('VT_POLICY_UNKNOWN_TOOL', { name, nearest: suggestName(name, known) }, [], 'warning')

const createNoMatchDiagnostic = ({ name }: Mention, known: NamesOfSlots): Diagnostic =>
  createDiagnostic('VT_POLICY_NO_MATCH', { name, nearest: suggestName(name, known) }, [], 'warning')

/** Suggests the nearest name that covers something; for a glob, the nearest one that may allow. */
function suggestName(name: string, byName: NamesOfSlots): string {
  const known = [...byName.keys()]
  const servers = [
    ...new Set([...byName.values()].flat().flatMap(({ group }) => (group === undefined ? [] : [`${group}__`]))),
  ]
  const globs = [
    ...new Set([
      ...servers.map((one) => `${one}*`),
      ...known.flatMap((one) => (one.includes('/') ? [`${one.split('/')[0]}/*`] : [])),
    ]),
  ]
  const own = servers.find((one) => name.startsWith(one)) ?? server.exec(name)?.[0]
  const names = /^[A-Z]/.test(name) ? [...ruleFamilies, ...known] : [...known, ...effectWords]
  const elsewhere =
    own === undefined || servers.includes(own)
      ? []
      : servers.map((one) => `${one}${name.slice(own.length)}`).filter((one) => known.includes(one))
  const byServer = own && globs.find((one) => findNearest(own.slice(0, -2), [one.slice(0, -3)]))
  const like =
    findNearest(name, name.includes('*') ? globs : [...elsewhere, ...names]) ??
    byServer ??
    globs.find((one) => one.startsWith(name.replace(/\*.*$/, '')))
  return like === undefined ? '' : `; nearest: ${like}`
}

/**
 * Reports a rule that covers only calls by the name of an alias, because an alias may cover a part of its slot. A
 * property of the alias is unknown to the slot.
 */
function reportOneSpelling({ name, opens, property }: Mention, infos: readonly SlotInfo[]): Diagnostic[] {
  // A glob covers more than one name.
  const aliased = name.includes('*') ? [] : infos.filter((info) => !isOwnName(name, info) && info.group !== name)
  if (aliased.length === 0) return []
  const slots = aliased.map(({ slot }) => slot).join(', ')
  const strange =
    property !== undefined &&
    !aliased.some(({ input }) => Object.hasOwn((input['properties'] ?? {}) as object, property))
  if (strange)
    return [
      createDiagnostic(
        'VT_POLICY_ONE_SPELLING',
        {
          name: `${name}(${property}:…)`,
          reason: `'${property}' is not a property of ${slots}, so the rule matches no call`,
          slots,
        },
        [],
        'warning',
      ),
    ]
  return opens
    ? [
        createDiagnostic(
          'VT_POLICY_ONE_SPELLING',
          { name, reason: `the rule permits calls by this name only, not all calls of ${slots}`, slots },
          [],
          'warning',
        ),
      ]
    : []
}
