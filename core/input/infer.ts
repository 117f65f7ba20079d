import { problem, texts, type Effect, type JsonObject, type Notice, type Schema } from '../shapes/index.js'
import { moduleOf } from '../system/index.js'
import { nearest } from '../text/index.js'
import { foldKey, type Slot, type Tool } from '../registry/index.js'
import { compile, type Check } from '../schema/index.js'

export interface Inferred {
  slot: Slot
  raw: JsonObject
  /** That a retired word was used: VT_ACTION_DEPRECATED. */
  notices?: Notice[]
}

/** Which action of a tool an input means, and what that choice fills in; texts name the actions that are `reached`. Throws VT_ACTION_MISSING, VT_ACTION_UNKNOWN. */
export async function infer(tool: Tool, raw: JsonObject, reached: Reached): Promise<Inferred> {
  const key = Object.keys(raw).find((name) => foldKey(name) === 'action')
  const { [key ?? '']: word, ...rest } = raw
  const declared = typeof word === 'string' && word.trim() !== '' ? word.trim() : undefined
  const slot = declared === undefined ? await decide(tool, rest, reached) : tool.words.get(foldKey(declared))
  if (slot) return { slot, raw: await preset(slot, rest, declared) }
  return (await retired(tool, declared!, rest)) ?? unknownAction(tool, declared!, reached)
}

type Reached = (slot: Slot) => boolean

/** The action that took the place of a retired word, with the fields that it knows: who still says the word knew others. */
async function retired(tool: Tool, word: string, raw: JsonObject): Promise<Inferred | undefined> {
  for (const slot of tool.actions.values()) {
    for (const former of slot.primary.manifest.infer?.former ?? []) {
      if (foldKey(former.word) !== foldKey(word) || (former.when && !(await holds(former.when, tool.view(raw)))))
        continue
      const knows = (name: string) => slot.shape.open || slot.shape.names.has(foldKey(name))
      const kept = Object.entries(raw).filter(([name]) => knows(name))
      const dropped = Object.keys(raw)
        .filter((name) => !knows(name))
        .map((name) => `'${name}'`)
      const ignored = dropped.length > 0 ? ` Ignored: ${dropped.join(', ').slice(0, 200)}.` : ''
      const { message } = texts('VT_ACTION_DEPRECATED', {
        tool: tool.name,
        action: word,
        instead: slot.info.slot,
        ignored,
      })!
      return {
        slot,
        raw: await preset(slot, Object.fromEntries(kept), word),
        notices: [{ code: 'VT_ACTION_DEPRECATED', message }],
      }
    }
  }
  return undefined
}

function unknownAction(tool: Tool, word: string, reached: Reached): never {
  const known = [...tool.actions].flatMap(([action, slot]) => (reached(slot) ? [action] : []))
  const like = nearest(word, known)
  const example = (like && tool.actions.get(like)?.example) || ''
  throw problem('VT_ACTION_UNKNOWN', { tool: tool.name, action: word, known: known.join(', ') || 'none', example })
}

async function decide(tool: Tool, raw: JsonObject, reached: Reached): Promise<Slot> {
  const view = tool.view(raw)
  for (const rule of ['when', 'otherwise'] as const) {
    const decided: Slot[] = []
    for (const slot of tool.actions.values()) {
      const schema = slot.primary.manifest.infer?.[rule]
      if (schema && (await holds(schema, view))) decided.push(slot)
    }
    if (decided.length === 1) return decided[0]!
    if (decided.length > 1) throw missing(tool, decided.filter(reached))
  }
  throw missing(tool, [...tool.actions.values()].filter(reached))
}

function missing(tool: Tool, candidates: Slot[]): Error {
  const names = candidates.map((slot) => slot.info.action).join(', ')
  const examples = candidates
    .slice(0, 3)
    .map((slot) => slot.example)
    .join(' ')
  return problem('VT_ACTION_MISSING', { tool: tool.name, candidates: names || 'none', example: examples })
}

/** The values an action's manifest fills in for this input: presets see the caller's word under `action`. */
async function preset(slot: Slot, raw: JsonObject, word: string | undefined): Promise<JsonObject> {
  const rules = slot.primary.manifest.infer?.presets ?? []
  if (rules.length === 0) return raw
  const view = { ...slot.tool.view(raw), ...(word !== undefined && { action: word.toLowerCase() }) }
  let result = raw
  for (const { when, set } of rules) if (await holds(when, view)) result = { ...set, ...result }
  return result
}

/** What a call can do at worst: nothing where the slot's only plugin says so of this input. What an adapter says of all that it runs, no manifest takes back. */
export async function effectsIn({ info, primary, chain }: Slot, input: JsonObject): Promise<readonly Effect[]> {
  const { effectless } = primary.manifest
  return effectless &&
    chain.length === 1 &&
    moduleOf(primary.manifest) !== undefined &&
    (await holds(effectless, input))
    ? []
    : info.effects
}

const checks = new WeakMap<Schema, Promise<Check>>()

async function holds(schema: Schema, value: JsonObject): Promise<boolean> {
  let check = checks.get(schema)
  if (!check) checks.set(schema, (check = compile(schema, 'infer')))
  return (await check)(value).length === 0
}
