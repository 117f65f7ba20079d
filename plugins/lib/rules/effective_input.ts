import type { Call, JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import { listPropertiesWithFormat } from '../../../core/registry/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'

/** Properties of a command call that only affect its result or waiting time. */
const PRESENTATION_PROPERTIES = [
  'action',
  'timeout_secs',
  'yield_time_ms',
  'rows',
  'cols',
  'session_id',
  'max_output_tokens',
  'response_format',
]

/** Returns all properties that affect what a call does, in one order, to compare approvals and refused calls. */
export function listEffectiveInput({ input }: Call, slot: SlotInfo): [name: string, value: unknown][] {
  const properties = (slot.input.properties ?? {}) as Record<string, JsonObject>
  const left = listPropertiesWithFormat(slot, 'command').length > 0 ? PRESENTATION_PROPERTIES : []
  return Object.entries(input)
    .filter(
      ([name, value]) => !left.includes(name) && toCanonicalJson(value) !== toCanonicalJson(properties[name]?.default),
    )
    .map(([name, value]): [string, unknown] => [name, value])
    .sort(([a], [b]) => (a < b ? -1 : 1))
}
