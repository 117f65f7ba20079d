import type { Effect, JsonObject, PreparedCall, SlotInfo } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { listPatchedPaths } from '../../../core/input/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'
import type { CallTraits } from './components.js'
import type { CallPart } from './types.js'

/**
 * The resolution of a call: its slot, and its input with the parameter names of the slot. Both are unknown if no slot
 * has the name.
 */
export interface CallMeaning {
  slot?: SlotInfo
  input: Readonly<JsonObject>
  /** The resolved call, ready for the kernel. */
  prepared?: PreparedCall
}

/** The effects of a call without a slot: nothing is known about it. */
const ALL_EFFECTS: readonly Effect[] = ['read', 'write', 'exec', 'net', 'ask']

/** The slot that starts an agent. Several agents may start in parallel, since each has its own conversation. */
const SPAWN_SLOT = 'agents/spawn'

/**
 * Returns the possible effects of a call, and whether it may run in parallel. Tools of the conversation run alone:
 * they change its state.
 */
export function describeTraits(found: PreparedCall | undefined): CallTraits {
  // A script that may do nothing itself may call everything.
  const effects = found && !(found.slot.runs_calls && isQuiet(found.effects)) ? found.effects : ALL_EFFECTS
  return {
    effects,
    parallel_safe:
      isQuiet(effects) &&
      !effects.includes('ask') &&
      (found?.slot.audience === undefined || found.slot.slot === SPAWN_SLOT),
  }
}
export const isQuiet = (effects: readonly Effect[]): boolean => !effects.includes('write') && !effects.includes('exec')

/** Returns a text that is equal for equal calls, independent of aliases and of the order of keys. */
export const toCallIdentity = ({ name }: CallPart, { slot, input }: CallMeaning): string =>
  `${slot?.slot ?? name} ${toCanonicalJson(input)}`

const resolvedCalls = new WeakMap<CallPart, Promise<CallMeaning>>()

/** Resolves a call of the conversation; the kernel is asked once for each call. */
export function resolveCall(kernel: Kernel, call: CallPart): Promise<CallMeaning> {
  const pending =
    resolvedCalls.get(call) ??
    kernel
      .resolve(call.name, call.input)
      .then((prepared) =>
        prepared
          ? { slot: prepared.slot, input: prepared.input, prepared }
          : { input: (call.input ?? {}) as JsonObject },
      )
  resolvedCalls.set(call, pending)
  return pending
}

/** Resolves calls; returns them by call_id. */
export async function resolveCalls(
  kernel: Kernel,
  calls: readonly CallPart[],
): Promise<ReadonlyMap<string, CallMeaning>> {
  return new Map(await Promise.all(calls.map(async (call) => [call.call_id, await resolveCall(kernel, call)] as const)))
}

/** Describes the subject of a call on one line: the files or the command, else the first text of its input. */
export function describeSubject({ input: { action: _, ...input } }: CallMeaning): string {
  const { path, destination, command } = input
  const subjects = [path, destination, command, [...new Set(listPatchedPaths(input).map((one) => one.path))]]
    .flat()
    .filter((word) => typeof word === 'string')
  const text =
    subjects.length > 0 ? subjects.join(' ') : Object.values(input).find((value) => typeof value === 'string')
  return truncateLine(String(text ?? ''), 200)
}
