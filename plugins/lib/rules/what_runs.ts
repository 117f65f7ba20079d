import type { Call, JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import { propertiesOf } from '../../../core/registry/index.js'
import { canonicalJson } from '../../../core/trust/index.js'

/** What of a call that runs a command says how its answer is given and how long somebody waits, and nothing about what runs. */
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

/**
 * Every property of a call that has a part in what it does, in one order whatever the spelling: what an answer of a person is about, and
 * by what a refused call is known again.
 */
export function listEffectiveInput({ input }: Call, slot: SlotInfo): [name: string, value: unknown][] {
  const properties = (slot.input.properties ?? {}) as Record<string, JsonObject>
  const left = propertiesOf(slot, 'command').length > 0 ? PRESENTATION_PROPERTIES : []
  return Object.entries(input)
    .filter(
      ([name, value]) => !left.includes(name) && canonicalJson(value) !== canonicalJson(properties[name]?.default),
    )
    .map(([name, value]): [string, unknown] => [name, value])
    .sort(([a], [b]) => (a < b ? -1 : 1))
}
