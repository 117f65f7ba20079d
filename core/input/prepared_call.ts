import {
  deepFreeze,
  type Effect,
  type JsonObject,
  type PreparedCall,
  type Settings,
  type SlotInfo,
} from '../shapes/index.js'
import type { Reader, Registry } from '../registry/index.js'
import { replaceDefaultMode } from './default_mode.js'
import { findEffects } from './infer.js'
import { requireAudience, resolve, normalizeInput, type CallTarget } from './resolve.js'

/** A requested call: a name with an input, or a prepared call. */
export interface CallRequest {
  readonly tool: string
  readonly sent: unknown
  readonly prepared?: PreparedCall | undefined
}
interface Preparation extends CallRequest {
  readonly registry: Registry
  readonly target: CallTarget
}

let readPreparation: (call: PreparedCall) => Preparation | undefined

class ResolvedCall implements PreparedCall {
  readonly slot: SlotInfo
  declare readonly alias?: string
  readonly #preparation: Preparation

  constructor(
    preparation: Preparation,
    readonly effects: readonly Effect[],
    readonly input: JsonObject,
  ) {
    const { slot, alias } = preparation.target
    this.slot = slot.info
    if (alias) this.alias = alias.slot.info.slot
    this.#preparation = preparation
    Object.freeze(this)
  }

  static {
    readPreparation = (call) => (#preparation in call ? call.#preparation : undefined)
  }
}

/** The arguments of a call: a prepared call and options, or a name, an input and options. */
export type CallArguments<Options> = [call: string | PreparedCall, input?: unknown, options?: Options | undefined]

export function readRequest<Options>(...args: CallArguments<Options>): CallRequest & { options: Options | undefined } {
  const [call, second, third] = args
  const prepared = typeof call === 'object' && call !== null ? readPreparation(call) : undefined
  // Any other value as a name leads to no tool.
  if (!prepared) return { tool: call as string, sent: second, options: third }
  const { tool, sent } = prepared
  return { tool, sent, prepared: call as PreparedCall, options: second as Options | undefined }
}

/** Resolves a call for later. Contract: never rejects; returns nothing where the call leads to no slot. */
export async function prepareCall(registry: Registry, request: CallRequest): Promise<PreparedCall | undefined> {
  const { tool, sent, prepared } = request
  if (prepared && readPreparation(prepared)?.registry === registry) return prepared
  try {
    const target = await resolve(registry, tool, sent)
    const { slot, raw } = target
    const preparation = { tool, sent, registry, target: { ...target, raw: deepFreeze(raw) } }
    try {
      const { given, input } = await normalizeInput(slot, raw)
      return new ResolvedCall(preparation, await findEffects(slot, input), given)
    } catch {
      return new ResolvedCall(preparation, slot.info.effects, raw)
    }
  } catch {
    return undefined
  }
}

/**
 * Returns the target of a call, which a call prepared for the same generation holds, in a mode that the settings allow.
 * Throws as `resolve` does.
 */
export async function resolveRequest(
  { registry, settings }: { registry: Registry; settings: Settings },
  request: CallRequest,
  reader: Reader,
): Promise<CallTarget> {
  const { tool, sent, prepared } = request
  const known = prepared && readPreparation(prepared)
  if (known?.registry !== registry) return replaceDefaultMode(await resolve(registry, tool, sent, reader), settings)
  for (const slots of known.target.restricted ?? []) requireAudience(slots, reader)
  return replaceDefaultMode(known.target, settings)
}
