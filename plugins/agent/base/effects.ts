import type { Effect, JsonObject, PreparedCall, SlotInfo } from '../../../core/shapes/index.js'
import { shortLine } from '../../../core/text/index.js'
import { patchedPaths } from '../../../core/input/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { canonicalJson } from '../../../core/trust/index.js'
import type { CallTraits } from './components.js'
import type { CallPart } from './types.js'

/** What a call means, however it is spelt: its slot and its input in the words of the slot. Of what leads to no slot neither is known. */
export interface Meaning {
  slot?: SlotInfo
  input: Readonly<JsonObject>
  /** The call, for the kernel to make. */
  prepared?: PreparedCall
}

/** Of a call that leads to no slot nothing is known, so that it may do anything. */
const anything: readonly Effect[] = ['read', 'write', 'exec', 'net', 'ask']

/** An agent that is started has a conversation of its own: others may be started beside it. */
const startsAgent = 'agents/spawn'

/** The worst a call can do, and whether others may run beside it: none beside a tool of the conversation, whose state it reads and changes. */
export function traitsOfCall(found: PreparedCall | undefined): CallTraits {
  const effects = found?.effects ?? anything
  return {
    effects,
    parallel_safe:
      isQuiet(effects) &&
      !effects.includes('ask') &&
      (found?.slot.audience === undefined || found.slot.slot === startsAgent),
  }
}
export const isQuiet = (effects: readonly Effect[]): boolean => !effects.includes('write') && !effects.includes('exec')

/** The same call under whatever name, with the same data in whatever order of its keys. */
export const callIdentity = ({ name }: CallPart, { slot, input }: Meaning): string =>
  `${slot?.slot ?? name} ${canonicalJson(input)}`

const known = new WeakMap<CallPart, Promise<Meaning>>()

/** What a call of the conversation means, asked of the kernel once. */
export function meaningOf(kernel: Kernel, call: CallPart): Promise<Meaning> {
  const there =
    known.get(call) ??
    kernel
      .resolve(call.name, call.input)
      .then((prepared) =>
        prepared
          ? { slot: prepared.slot, input: prepared.input, prepared }
          : { input: (call.input ?? {}) as JsonObject },
      )
  known.set(call, there)
  return there
}

/** The same of all calls of some messages, by call_id. */
export async function meaningsIn(kernel: Kernel, calls: readonly CallPart[]): Promise<ReadonlyMap<string, Meaning>> {
  return new Map(await Promise.all(calls.map(async (call) => [call.call_id, await meaningOf(kernel, call)] as const)))
}

/** What a call is about, on one line: the files or the command, else the first text of its input. */
export function subjectOf({ input: { action: _, ...input } }: Meaning): string {
  const { path, destination, command } = input
  const named = [path, destination, command, [...new Set(patchedPaths(input).map((one) => one.path))]]
    .flat()
    .filter((word) => typeof word === 'string')
  const text = named.length > 0 ? named.join(' ') : Object.values(input).find((value) => typeof value === 'string')
  return shortLine(String(text ?? ''), 200)
}
