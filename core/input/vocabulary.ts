import { isObject, type Failure, type JsonObject, type Next, type Result } from '../shapes/index.js'
import { toText } from '../text/index.js'
import {
  foldKey,
  isShown,
  findOwnToolName,
  canReach,
  type AliasPart,
  type Reader,
  type Registry,
  type Slot,
} from '../registry/index.js'
import type { Workspace } from '../workspace/index.js'
import { translateInput } from './alias.js'
import { confine } from './normalize.js'

/** The names of tools and fields that a reader knows. */
export interface Vocabulary {
  /** Returns the name of a slot, or of its tool alone; nothing where the reader has no such tool. */
  slot(id: string, alone?: boolean): string | undefined
  /** Returns the name of a field of the called tool; nothing where the reader has none for it. */
  field(name: string): string | undefined
  /** Returns the call of a slot with an input; nothing where no name of the reader can express all of it. */
  call(id: string, input: JsonObject): Next | undefined
}

/** `{slot:tool/action}`, `{tool:tool/action}` for the tool alone, or `{field:name}` of the called tool. */
const MARK = /\{(slot|tool|field):([a-z][a-z0-9_]*(?:\/[a-z0-9_]+)?)\}/g

/**
 * Renders a template for a reader. Removes a sentence that names something the reader does not have, and a line that is
 * then empty.
 */
export function renderTemplate(text: string, words: Vocabulary): string {
  if (text.search(MARK) < 0) return text
  // A foreign text may repeat a name any number of times.
  const known = new Map<string, string | undefined>()
  const findName = (mark: string, kind: string, id: string): string | undefined => {
    if (!known.has(mark)) known.set(mark, kind === 'field' ? words.field(id) : words.slot(id, kind === 'tool'))
    return known.get(mark)
  }
  const render = (sentence: string): string[] => {
    let complete = true
    const rendered = sentence.replace(MARK, (mark, kind: string, id: string) => {
      const name = findName(mark, kind, id)
      complete &&= name !== undefined
      return name ?? ''
    })
    return complete ? [rendered] : []
  }
  const lines = text.split('\n').map((line) => line.split(/(?<=\.) /).flatMap(render))
  return lines.flatMap((sentences) => (sentences.length > 0 ? [sentences.join(' ')] : [])).join('\n')
}

/** The slots' own names. */
export const plainVocabulary: Vocabulary = {
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
export const renderPlainText = (text: string): string => renderTemplate(text, plainVocabulary)

/** Creates the vocabulary of the dialect of a call, else that of its reader. Names are found with the first text. */
export function createVocabulary(registry: Registry, called: CalledSlot | undefined, reader: Reader = {}): Vocabulary {
  let made: Pick<Vocabulary, 'slot' | 'call'> | undefined
  const words = () => (made ??= createSlotNames(registry, called, reader))
  return {
    slot: (id, alone) => words().slot(id, alone),
    call: (id, input) => words().call(id, input),
    field: (name) => findFieldName(called, name),
  }
}

/** The called slot, and the alias of the call. */
interface CalledSlot {
  slot: Slot
  alias?: { slot: Slot; part: AliasPart }
}

/**
 * Returns the name of a field. A caller by an alias or a forwarding tool cannot use fields that only the target has.
 */
function findFieldName(called: CalledSlot | undefined, name: string): string | undefined {
  if (!called) return name
  const { slot, alias } = called
  if (!alias) return slot.shape.open || slot.shape.names.has(foldKey(name)) ? name : undefined
  const own = Object.entries(alias.part.rename ?? {}).find(([, theirs]) => theirs === name)?.[0]
  return own ?? (alias.slot.primary.manifest.input === undefined || alias.part.pass?.includes(name) ? name : undefined)
}

function createSlotNames(
  registry: Registry,
  called: CalledSlot | undefined,
  reader: Reader,
): Pick<Vocabulary, 'slot' | 'call'> {
  const isVisible = (slot: Slot) => isShown(registry, reader, slot)
  const dialects = listDialects(called?.alias?.slot)
  const isOfDialect = (slot: Slot) => listDialects(slot).some((one) => dialects.includes(one))
  // A caller by a hidden name knows the other hidden names too.
  const knowsOwnNames = called !== undefined && !called.alias && !isVisible(called.slot)
  /** Returns the alias by which the reader knows a slot, or `own` for its own name; nothing where it has neither. */
  const find = (id: string, input: JsonObject): AliasMatch | 'own' | undefined => {
    const slot = registry.slots.get(id)
    if (!slot || slot.refusal || !canReach(registry, reader, slot)) return undefined
    const alias = findAlias(registry, id, input, isOfDialect)
    if (alias) return alias
    return isVisible(slot) ? 'own' : (findAlias(registry, id, input, isVisible) ?? (knowsOwnNames ? 'own' : undefined))
  }
  const split = (id: string) => findOwnToolName(registry, reader.splitReads, registry.slots.get(id)!)
  return {
    slot(id, alone) {
      const found = find(id, {})
      return found === 'own' ? (split(id) ?? plainVocabulary.slot(id, alone)) : found?.name
    },
    call(id, input) {
      const found = find(id, input)
      if (found !== 'own') return found?.input && { tool: found.name, input: found.input }
      const name = split(id)
      return name === undefined ? plainVocabulary.call(id, input) : { tool: name, input }
    },
  }
}

const listDialects = (slot?: Slot): string[] => [slot?.primary.manifest.dialect ?? []].flat()

/** An alias of a slot; with an input if the alias can express all of it. */
interface AliasMatch {
  name: string
  input?: JsonObject
}

type AliasFilter = (alias: Slot) => boolean

/** Finds the alias that expresses most of a call; its name alone where it cannot express all of the input. */
function findAlias({ slots }: Registry, id: string, input: JsonObject, wanted: AliasFilter): AliasMatch | undefined {
  const found: (AliasMatch & { rank: number })[] = []
  for (const alias of slots.values()) {
    const block = alias.primary.manifest.alias
    if (!block || alias.refusal || !wanted(alias)) continue
    const whole = alias.primary.manifest.input === undefined
    const back = Object.fromEntries(
      Object.entries((block['rename'] ?? {}) as Record<string, string>).map(([theirs, ours]) => [ours, theirs]),
    )
    const given = Object.fromEntries(Object.entries(input).map(([name, value]) => [back[name] ?? name, value]))
    const intended = translateInput(block, given, whole)
    if (intended.to !== id) continue
    const keeps = Object.entries(input).every(([name, value]) => intended.input[name] === value)
    const says = keeps && Object.entries(given).every(([name, value]) => canTakeValue(alias.info, name, value))
    const needs = ((alias.info.input['required'] ?? []) as string[]).every((name) => name in given)
    const name = alias.info.slot.replace('/', ' ')
    found.push({ name, ...(says && needs && { input: given }), rank: Number(says) * 2 + Number(needs) })
  }
  return found.sort((a, b) => b.rank - a.rank)[0]
}

/** Returns whether a property accepts a value: any value if it has no enum. */
function canTakeValue({ input }: Slot['info'], name: string, value: unknown): boolean {
  const { enum: known } = ((input['properties'] ?? {}) as Record<string, { enum?: unknown[] } | undefined>)[name] ?? {}
  return known === undefined || known.includes(value)
}

/** Renders the hint of a failure. Messages and notices quote foreign texts, so they are no templates. */
export function renderHints(result: Result, words: Vocabulary): Result {
  if (result.ok) return result
  const { error } = result
  const { say } = error.details ?? {}
  const details = typeof say === 'string' ? { details: { ...error.details, say: renderTemplate(say, words) } } : {}
  return { ...result, error: { ...error, hint: renderTemplate(error.hint, words), ...details } } satisfies Failure
}

/** Keeps the next call of an answer where its reader can make it, in the reader's names; else removes it. */
export function translateNextCall(
  result: Result,
  registry: Registry,
  workspace: Workspace,
  reader: Reader,
  words?: Vocabulary,
): Result {
  const owner: { next?: unknown } = result.ok ? result.output : result.error
  if (!isCall(owner.next)) return result
  const { next: given, ...rest } = owner as { next: Next }
  const next = isOutsideWorkspace(given, registry, workspace)
    ? undefined
    : translateCall(given, registry, reader, words)
  const whole = next ? { ...owner, next } : rest
  return (result.ok ? { ...result, output: whole } : { ...result, error: whole }) as Result
}

const isCall = (value: unknown): value is Next =>
  isObject(value) && typeof value['tool'] === 'string' && isObject(value['input'])

/** Returns whether a call has a path outside of the workspace or an invalid one, so that it must fail. */
function isOutsideWorkspace({ tool, input }: Next, { slots }: Registry, workspace: Workspace): boolean {
  const slot = slots.get(`${tool}/${toText(input['action'])}`) ?? slots.get(tool)
  try {
    if (slot) confine(input, slot.shape, workspace)
    return false
  } catch {
    return true
  }
}

function translateCall(
  next: Next,
  registry: Registry,
  reader: Reader,
  words: Vocabulary | undefined,
): Next | undefined {
  const { action, ...input } = next.input
  const acts = registry.slots.get(`${next.tool}/${toText(action)}`)
  const slot = acts ?? registry.slots.get(next.tool)
  if (!slot) return next
  if (!canReach(registry, reader, slot)) return undefined
  // A call in the terms of a dialect stays unchanged.
  if (!words || slot.primary.manifest.alias) return next
  return words.call(slot.info.slot, acts ? input : next.input)
}
