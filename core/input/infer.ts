import { problem, renderTexts, type Effect, type JsonObject, type Notice, type Schema } from '../shapes/index.js'
import { findModulePath } from '../system/index.js'
import { findNearest } from '../text/index.js'
import { foldKey, type Slot, type Tool } from '../registry/index.js'
import { compile, type Check } from '../schema/index.js'

export interface Inferred {
  slot: Slot
  raw: JsonObject
  /** VT_ACTION_DEPRECATED, if a retired word was used. */
  notices?: Notice[]
}

/**
 * Finds the action of a tool that an input means, and fills in its presets. Texts name only actions that `isReachable`
 * accepts. Throws VT_ACTION_MISSING, VT_ACTION_UNKNOWN.
 */
export async function inferAction(tool: Tool, raw: JsonObject, isReachable: SlotFilter): Promise<Inferred> {
  const key = Object.keys(raw).find((name) => foldKey(name) === 'action')
  const { [key ?? '']: word, ...rest } = raw
  const declared = typeof word === 'string' && word.trim() !== '' ? word.trim() : undefined
  const slot = declared === undefined ? await decideAction(tool, rest, isReachable) : tool.words.get(foldKey(declared))
  if (slot) return { slot, raw: await applyPresets(slot, rest, declared) }
  return (await resolveRetiredWord(tool, declared!, rest)) ?? throwUnknownAction(tool, declared!, isReachable)
}

type SlotFilter = (slot: Slot) => boolean

/** Finds the action that replaced a retired word, and drops fields that the action does not know. */
async function resolveRetiredWord(tool: Tool, word: string, raw: JsonObject): Promise<Inferred | undefined> {
  for (const slot of tool.actions.values()) {
    for (const former of slot.primary.manifest.infer?.former ?? []) {
      if (foldKey(former.word) !== foldKey(word) || (former.when && !(await isMatch(former.when, tool.view(raw)))))
        continue
      const knows = (name: string) => slot.shape.open || slot.shape.names.has(foldKey(name))
      const kept = Object.entries(raw).filter(([name]) => knows(name))
      const dropped = Object.keys(raw)
        .filter((name) => !knows(name))
        .map((name) => `'${name}'`)
      const ignored = dropped.length > 0 ? ` Ignored: ${dropped.join(', ').slice(0, 200)}.` : ''
      const { message } = renderTexts('VT_ACTION_DEPRECATED', {
        tool: tool.name,
        action: word,
        instead: slot.info.slot,
        ignored,
      })!
      return {
        slot,
        raw: await applyPresets(slot, Object.fromEntries(kept), word),
        notices: [{ code: 'VT_ACTION_DEPRECATED', message }],
      }
    }
  }
  return undefined
}

function throwUnknownAction(tool: Tool, word: string, isReachable: SlotFilter): never {
  const known = [...tool.actions].flatMap(([action, slot]) => (isReachable(slot) ? [action] : []))
  const like = findNearest(word, known)
  const example = (like && tool.actions.get(like)?.example) || ''
  throw problem('VT_ACTION_UNKNOWN', { tool: tool.name, action: word, known: known.join(', ') || 'none', example })
}

async function decideAction(tool: Tool, raw: JsonObject, isReachable: SlotFilter): Promise<Slot> {
  const view = tool.view(raw)
  for (const rule of ['when', 'otherwise'] as const) {
    const decided: Slot[] = []
    for (const slot of tool.actions.values()) {
      const schema = slot.primary.manifest.infer?.[rule]
      if (schema && (await isMatch(schema, view))) decided.push(slot)
    }
    if (decided.length === 1) return decided[0]!
    if (decided.length > 1) throw createMissingError(tool, decided.filter(isReachable))
  }
  throw createMissingError(tool, [...tool.actions.values()].filter(isReachable))
}

function createMissingError(tool: Tool, candidates: Slot[]): Error {
  const names = candidates.map((slot) => slot.info.action).join(', ')
  const examples = candidates
    .slice(0, 3)
    .map((slot) => slot.example)
    .join(' ')
  return problem('VT_ACTION_MISSING', { tool: tool.name, candidates: names || 'none', example: examples })
}

/** Fills in the presets of an action's manifest; they see the caller's word as `action`. */
async function applyPresets(slot: Slot, raw: JsonObject, word: string | undefined): Promise<JsonObject> {
  const rules = slot.primary.manifest.infer?.presets ?? []
  if (rules.length === 0) return raw
  const view = { ...slot.tool.view(raw), ...(word !== undefined && { action: word.toLowerCase() }) }
  let result = raw
  for (const { when, set } of rules) if (await isMatch(when, view)) result = { ...set, ...result }
  return result
}

/**
 * Returns the effects of a call: none if the manifest of the slot's only module declares this input harmless. A
 * manifest cannot remove effects of its adapter.
 */
export async function findEffects({ info, primary, chain }: Slot, input: JsonObject): Promise<readonly Effect[]> {
  const { effectless } = primary.manifest
  return effectless &&
    chain.length === 1 &&
    findModulePath(primary.manifest) !== undefined &&
    (await isMatch(effectless, input))
    ? []
    : info.effects
}

const checks = new WeakMap<Schema, Promise<Check>>()

async function isMatch(schema: Schema, value: JsonObject): Promise<boolean> {
  let check = checks.get(schema)
  if (!check) checks.set(schema, (check = compile(schema, 'infer')))
  return (await check)(value).length === 0
}
