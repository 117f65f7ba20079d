import { inertJson, isObject, toText, type Failure, type JsonObject, type Next, type Result } from '../base/index.js'
import { foldKey, isShown, ownName, reaches, type AliasPart, type Reader, type Registry, type Slot } from '../registry/index.js'
import type { Workspace } from '../workspace/index.js'
import { translate } from './alias.js'
import { confine } from './normalize.js'

/** A slot as somebody calls it: the whole call, or its name alone where there is no input or the name cannot say all of it. */
interface Spoken {
  name: string
  input?: JsonObject
}
interface Saying {
  input?: JsonObject
  alone?: boolean
}
/** Somebody's words. */
export interface Words {
  /** A slot; nothing where it is not served to them. */
  slot(id: string, how: Saying): Spoken | undefined
  /** A field of what they called; nothing where it has none that means it. */
  field(name: string): string | undefined
}

/** What a text names: `{slot:tool/action}`, `{slot:tool/action {"field":"value"}}`, `{tool:tool/action}` for the tool alone, or `{field:name}` of what was called. */
const naming = /\{(slot|tool|field):([a-z][a-z0-9_]*(?:\/[a-z0-9_]+)?)/g
const longest = 8192
/** A text that names more is none of ours: what every name costs, others may not multiply. */
const mostNames = 32

/** A text with every tool that it names in these words; a clause about one that is not served is left out. */
export function speak(text: string, words: Words): string {
  if (!/\{(?:slot|tool|field):/.test(text) || text.length > longest) return text
  const named: (Spoken | undefined)[] = []
  let held = ''
  let at = 0
  let tried = 0
  for (const match of text.matchAll(naming)) {
    if (match.index < at) continue
    if (++tried > mostNames) return text
    const end = endOf(text, match.index + match[0].length)
    if (!end) continue
    named.push(match[1] === 'field' ? asField(words.field(match[2]!)) : words.slot(match[2]!, { ...(end.input && { input: end.input }), alone: match[1] === 'tool' }))
    held += `${text.slice(at, match.index)}\u0000${named.length - 1}\u0000`
    at = end.at
  }
  held += text.slice(at)
  const clauses = clausesOf(held)
  const left = clauses.filter((clause) => [...clause.matchAll(/\0(\d+)\0/g)].every(([, index]) => named[Number(index)] !== undefined))
  const spoken = left.length === clauses.length ? held : closed(left, clauses[0] === left[0])
  return spoken.replace(/\0(\d+)\0/g, (_, index: string) => asText(named[Number(index)]!))
}

/** Where a name ends, with the input that stands behind it; nothing where it is none after all. */
function endOf(text: string, from: number): { at: number; input?: JsonObject } | undefined {
  if (text[from] === '}') return { at: from + 1 }
  if (text.slice(from, from + 2) !== ' {') return undefined
  const end = closingBrace(text, from + 1)
  if (end === undefined || text[end] !== '}') return undefined
  try {
    return { at: end + 1, input: JSON.parse(text.slice(from + 1, end)) as JsonObject }
  } catch {
    return undefined
  }
}

/** The place behind the brace that closes the one at `from`; those in texts of JSON do not count. One pass: whose text it is, is not known. */
function closingBrace(text: string, from: number): number | undefined {
  const next = /[^"{}]*(?:"(?:[^"\\]|\\.)*"|([{}]))/sy
  next.lastIndex = from
  for (let depth = 0, found = next.exec(text); found; found = next.exec(text)) {
    depth += found[1] === '{' ? 1 : found[1] === '}' ? -1 : 0
    if (depth === 0) return next.lastIndex
  }
  return undefined
}

const clausesOf = (text: string): string[] => text.split(/(?<=[.;])\s+/)

/** The clauses that are left, as sentences. */
function closed(clauses: string[], whole: boolean): string {
  const text = clauses.join(' ').replace(/;$/, '.')
  return whole ? text : text.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

const asField = (name: string | undefined): Spoken | undefined => (name === undefined ? undefined : { name })
const asText = ({ name, input }: Spoken): string => (input ? `${name} ${inertJson(JSON.stringify(input))}` : name)

/** A slot by its own name. */
export const plainWords: Words = {
  slot(id, { input, alone }) {
    const [tool = '', action] = id.split('/')
    if (alone) return { name: tool }
    return input ? { name: tool, input: { ...(action !== undefined && { action }), ...input } } : { name: [tool, action].filter(Boolean).join(' ') }
  },
  field: (name) => name,
}
/** A text for whoever reads it outside of a call. */
export const plainly = (text: string): string => speak(text, plainWords)

/** The words of a caller: those of the dialect that they called by, else what is shown to them; nothing for what is not left to them. Worked out when a text first needs them. */
export function wordsFor(registry: Registry, called: Called | undefined, reader: Reader = {}): Words {
  let slot: Words['slot'] | undefined
  return { slot: (id, how) => (slot ??= slotWords(registry, called, reader))(id, how), field: (name) => fieldOf(called, name) }
}

/** What was called, and the name that stood for it. */
interface Called {
  slot: Slot
  alias?: { slot: Slot; part: AliasPart }
}

/** Who called by an alias, or a tool that calls others, can give no field that only the target has. */
function fieldOf(called: Called | undefined, name: string): string | undefined {
  if (!called) return name
  const { slot, alias } = called
  if (!alias) return slot.shape.open || slot.shape.names.has(foldKey(name)) ? name : undefined
  const own = Object.entries(alias.part.rename ?? {}).find(([, theirs]) => theirs === name)?.[0]
  return own ?? (alias.slot.primary.manifest.input === undefined || alias.part.pass?.includes(name) ? name : undefined)
}

function slotWords(registry: Registry, called: Called | undefined, reader: Reader): Words['slot'] {
  const shown = (slot: Slot) => isShown(registry, reader, slot)
  const dialects = [called?.alias?.slot.primary.manifest.dialect ?? []].flat()
  const named: Words['slot'] = (id, how) => {
    const split = ownName(registry, reader.apart, registry.slots.get(id)!)
    if (split === undefined) return plainWords.slot(id, how)
    return { name: split, ...(how.input && !how.alone && { input: how.input }) }
  }
  return (id, how) => {
    const slot = registry.slots.get(id)
    if (!slot || slot.refusal || !reaches(registry, reader, slot)) return undefined
    const spoken = dialects.length > 0 ? byAlias(registry, id, how, (alias) => [alias.primary.manifest.dialect ?? []].flat().some((one) => dialects.includes(one))) : undefined
    if (spoken !== undefined) return spoken
    if (shown(slot)) return named(id, how)
    // Who calls by a name that is not shown knows the others too.
    const knows = called && !called.alias && !shown(called.slot)
    return byAlias(registry, id, how, shown) ?? (knows ? named(id, how) : undefined)
  }
}

/** The alias that says most of a call; its name alone where it cannot say all of the input, or needs more. */
function byAlias({ slots }: Registry, id: string, { input, alone }: Saying, wanted: (alias: Slot) => boolean): Spoken | undefined {
  const found: (Spoken & { rank: number })[] = []
  for (const alias of slots.values()) {
    const block = alias.primary.manifest.alias
    if (!block || alias.refusal || !wanted(alias)) continue
    const whole = alias.primary.manifest.input === undefined
    const back = Object.fromEntries(Object.entries((block['rename'] ?? {}) as Record<string, string>).map(([theirs, ours]) => [ours, theirs]))
    const given = Object.fromEntries(Object.entries(input ?? {}).map(([name, value]) => [back[name] ?? name, value]))
    const intended = translate(block, given, whole)
    if (intended.to !== id) continue
    const says = Object.entries(input ?? {}).every(([name, value]) => intended.input[name] === value) && Object.entries(given).every(([name, value]) => takesWord(alias.info, name, value))
    const needs = ((alias.info.input['required'] ?? []) as string[]).every((name) => name in given)
    const name = alias.info.slot.replace('/', ' ')
    found.push({ name, ...(input && !alone && says && needs && { input: given }), rank: Number(says) * 2 + Number(needs) })
  }
  return found.sort((a, b) => b.rank - a.rank)[0]
}

/** Whether a value is among those that a property names, where it names any. */
function takesWord({ input }: Slot['info'], name: string, value: unknown): boolean {
  const { enum: known } = ((input['properties'] ?? {}) as Record<string, { enum?: unknown[] } | undefined>)[name] ?? {}
  return known === undefined || known.includes(value)
}

/** A failure with its hint in these words. Messages and notices quote names and texts of others, so they are no templates and stay as they are. */
export function worded(result: Result, words: Words): Result {
  if (result.ok) return result
  const { error } = result
  const { say } = error.details ?? {}
  const details = typeof say === 'string' ? { details: { ...error.details, say: speak(say, words) } } : {}
  return { ...result, error: { ...error, hint: speak(error.hint, words), ...details } } satisfies Failure
}

/** An answer whose next call is one that its reader can make, in these words; it has none where there is no such call. Without words it stays as it is. */
export function nextFor(result: Result, registry: Registry, workspace: Workspace, reader: Reader, words?: Words): Result {
  const owner: { next?: unknown } = result.ok ? result.output : result.error
  if (!isCall(owner.next)) return result
  const { next: said, ...rest } = owner as { next: Next }
  const next = leadsOut(said, registry, workspace) ? undefined : reworded(said, registry, reader, words)
  const whole = next ? { ...owner, next } : withoutNext(rest)
  return (result.ok ? { ...result, output: whole } : { ...result, error: whole }) as Result
}

/** No clause of a hint speaks of a next call where none is left. */
const withoutNext = (rest: { hint?: unknown }): object =>
  typeof rest.hint === 'string' && rest.hint.includes('`next`') ? { ...rest, hint: closed(clausesOf(rest.hint).filter((clause) => !clause.includes('`next`')), true) } : rest

const isCall = (value: unknown): value is Next => isObject(value) && typeof value['tool'] === 'string' && isObject(value['input'])

/** Whether a call names a place outside of the workspace, or none at all: nobody can make it. */
function leadsOut({ tool, input }: Next, { slots }: Registry, workspace: Workspace): boolean {
  const slot = slots.get(`${tool}/${toText(input['action'])}`) ?? slots.get(tool)
  try {
    if (slot) confine(input, slot.shape, workspace)
    return false
  } catch {
    return true
  }
}

function reworded(next: Next, registry: Registry, reader: Reader, words: Words | undefined): Next | undefined {
  const { action, ...input } = next.input
  const acts = registry.slots.get(`${next.tool}/${toText(action)}`)
  const slot = acts ?? registry.slots.get(next.tool)
  if (!slot) return next
  if (!reaches(registry, reader, slot)) return undefined
  // What is in a vocabulary already stays there.
  if (!words || slot.primary.manifest.alias) return next
  const spoken = words.slot(slot.info.slot, { input: acts ? input : next.input })
  return spoken?.input && { tool: spoken.name, input: spoken.input }
}
