import { isObject, type Failure, type JsonObject, type Next, type Result } from '../shapes/index.js'
import { toText } from '../text/index.js'
import {
  foldKey,
  isShown,
  ownName,
  reaches,
  type AliasPart,
  type Reader,
  type Registry,
  type Slot,
} from '../registry/index.js'
import type { Workspace } from '../workspace/index.js'
import { translate } from './alias.js'
import { confine } from './normalize.js'

/** The words of a reader: the names by which it knows tools and fields. */
export interface Words {
  /** Returns the name of a slot, or of its tool alone; nothing where the reader has no such tool. */
  slot(id: string, alone?: boolean): string | undefined
  /** Returns the name of a field of what was called; nothing where the reader has none that means it. */
  field(name: string): string | undefined
  /** Returns the call of a slot with an input; nothing where no name of the reader can say all of it. */
  call(id: string, input: JsonObject): Next | undefined
}

/** `{slot:tool/action}`, `{tool:tool/action}` for the tool alone, or `{field:name}` of what was called. */
const MARK = /\{(slot|tool|field):([a-z][a-z0-9_]*(?:\/[a-z0-9_]+)?)\}/g

/**
 * Renders a template in these words.
 * Leaves out a sentence that names what its reader does not have, and a line that is then empty.
 */
export function speak(text: string, words: Words): string {
  if (text.search(MARK) < 0) return text
  // A text of others may repeat a name as often as it likes.
  const known = new Map<string, string | undefined>()
  const nameOf = (mark: string, kind: string, id: string): string | undefined => {
    if (!known.has(mark)) known.set(mark, kind === 'field' ? words.field(id) : words.slot(id, kind === 'tool'))
    return known.get(mark)
  }
  const render = (sentence: string): string[] => {
    let complete = true
    const rendered = sentence.replace(MARK, (mark, kind: string, id: string) => {
      const name = nameOf(mark, kind, id)
      complete &&= name !== undefined
      return name ?? ''
    })
    return complete ? [rendered] : []
  }
  const lines = text.split('\n').map((line) => line.split(/(?<=\.) /).flatMap(render))
  return lines.flatMap((sentences) => (sentences.length > 0 ? [sentences.join(' ')] : [])).join('\n')
}

/** The own names of slots. */
export const plainWords: Words = {
  slot(id, alone) {
    const [tool = '', action] = id.split('/')
    return alone || action === undefined ? tool : `${tool} ${action}`
  },
  field: (name) => name,
  call(id, input) {
    const [tool = '', action] = id.split('/')
    return { tool, input: { ...(action !== undefined && { action }), ...input } }
  },
}
/** Renders a template for a person who reads it outside of a call. */
export const plainly = (text: string): string => speak(text, plainWords)

/** Returns the words of the dialect of a call, else those shown to its reader. Computed with the first text. */
export function wordsFor(registry: Registry, called: Called | undefined, reader: Reader = {}): Words {
  let made: Pick<Words, 'slot' | 'call'> | undefined
  const words = () => (made ??= slotWords(registry, called, reader))
  return {
    slot: (id, alone) => words().slot(id, alone),
    call: (id, input) => words().call(id, input),
    field: (name) => fieldOf(called, name),
  }
}

/** What was called, and the name that stood for it. */
interface Called {
  slot: Slot
  alias?: { slot: Slot; part: AliasPart }
}

/** A caller by an alias or by a forwarding tool can give no field that only the target has. */
function fieldOf(called: Called | undefined, name: string): string | undefined {
  if (!called) return name
  const { slot, alias } = called
  if (!alias) return slot.shape.open || slot.shape.names.has(foldKey(name)) ? name : undefined
  const own = Object.entries(alias.part.rename ?? {}).find(([, theirs]) => theirs === name)?.[0]
  return own ?? (alias.slot.primary.manifest.input === undefined || alias.part.pass?.includes(name) ? name : undefined)
}

function slotWords(registry: Registry, called: Called | undefined, reader: Reader): Pick<Words, 'slot' | 'call'> {
  const shown = (slot: Slot) => isShown(registry, reader, slot)
  const dialects = dialectsOf(called?.alias?.slot)
  const isOfDialect = (slot: Slot) => dialectsOf(slot).some((one) => dialects.includes(one))
  // Who calls by a name that is not shown knows the others too.
  const knowsOwnNames = called !== undefined && !called.alias && !shown(called.slot)
  /** The alias by which the reader knows a slot, or its own name; nothing where it has neither. */
  const find = (id: string, input: JsonObject): Meant | 'own' | undefined => {
    const slot = registry.slots.get(id)
    if (!slot || slot.refusal || !reaches(registry, reader, slot)) return undefined
    const alias = byAlias(registry, id, input, isOfDialect)
    if (alias) return alias
    return shown(slot) ? 'own' : (byAlias(registry, id, input, shown) ?? (knowsOwnNames ? 'own' : undefined))
  }
  const split = (id: string) => ownName(registry, reader.splitReads, registry.slots.get(id)!)
  return {
    slot(id, alone) {
      const found = find(id, {})
      return found === 'own' ? (split(id) ?? plainWords.slot(id, alone)) : found?.name
    },
    call(id, input) {
      const found = find(id, input)
      if (found !== 'own') return found?.input && { tool: found.name, input: found.input }
      const name = split(id)
      return name === undefined ? plainWords.call(id, input) : { tool: name, input }
    },
  }
}

const dialectsOf = (slot?: Slot): string[] => [slot?.primary.manifest.dialect ?? []].flat()

/** An alias that stands for a slot; with the input in its words where it can say all of it. */
interface Meant {
  name: string
  input?: JsonObject
}

type Wanted = (alias: Slot) => boolean

/** Finds the alias that expresses most of a call; its name alone where it cannot express all of the input. */
function byAlias({ slots }: Registry, id: string, input: JsonObject, wanted: Wanted): Meant | undefined {
  const found: (Meant & { rank: number })[] = []
  for (const alias of slots.values()) {
    const block = alias.primary.manifest.alias
    if (!block || alias.refusal || !wanted(alias)) continue
    const whole = alias.primary.manifest.input === undefined
    const back = Object.fromEntries(
      Object.entries((block['rename'] ?? {}) as Record<string, string>).map(([theirs, ours]) => [ours, theirs]),
    )
    const given = Object.fromEntries(Object.entries(input).map(([name, value]) => [back[name] ?? name, value]))
    const intended = translate(block, given, whole)
    if (intended.to !== id) continue
    const keeps = Object.entries(input).every(([name, value]) => intended.input[name] === value)
    const says = keeps && Object.entries(given).every(([name, value]) => takesWord(alias.info, name, value))
    const needs = ((alias.info.input['required'] ?? []) as string[]).every((name) => name in given)
    const name = alias.info.slot.replace('/', ' ')
    found.push({ name, ...(says && needs && { input: given }), rank: Number(says) * 2 + Number(needs) })
  }
  return found.sort((a, b) => b.rank - a.rank)[0]
}

/** Whether a value is among those that a property names, where it names any. */
function takesWord({ input }: Slot['info'], name: string, value: unknown): boolean {
  const { enum: known } = ((input['properties'] ?? {}) as Record<string, { enum?: unknown[] } | undefined>)[name] ?? {}
  return known === undefined || known.includes(value)
}

/** Renders the hint of a failure. Messages and notices quote foreign texts, so they are no templates. */
export function worded(result: Result, words: Words): Result {
  if (result.ok) return result
  const { error } = result
  const { say } = error.details ?? {}
  const details = typeof say === 'string' ? { details: { ...error.details, say: speak(say, words) } } : {}
  return { ...result, error: { ...error, hint: speak(error.hint, words), ...details } } satisfies Failure
}

/** Keeps the next call of an answer where its reader can make it, in these words; else removes it. */
export function nextFor(
  result: Result,
  registry: Registry,
  workspace: Workspace,
  reader: Reader,
  words?: Words,
): Result {
  const owner: { next?: unknown } = result.ok ? result.output : result.error
  if (!isCall(owner.next)) return result
  const { next: said, ...rest } = owner as { next: Next }
  const next = leadsOut(said, registry, workspace) ? undefined : reworded(said, registry, reader, words)
  const whole = next ? { ...owner, next } : rest
  return (result.ok ? { ...result, output: whole } : { ...result, error: whole }) as Result
}

const isCall = (value: unknown): value is Next =>
  isObject(value) && typeof value['tool'] === 'string' && isObject(value['input'])

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
  return words.call(slot.info.slot, acts ? input : next.input)
}
