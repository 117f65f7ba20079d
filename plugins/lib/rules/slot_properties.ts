import type { JsonObject, SlotInfo } from '../../../core/base/index.js'

const known = new WeakMap<SlotInfo, Map<string, string[]>>()

/** The properties of a slot's input that have a format, themselves or as a list. */
export function propertiesOf(slot: SlotInfo, format: string): string[] {
  const formats = known.get(slot) ?? new Map<string, string[]>()
  known.set(slot, formats)
  const names = formats.get(format) ?? namesOf((slot.input.properties ?? {}) as Record<string, JsonObject>, format)
  formats.set(format, names)
  return names
}

const namesOf = (properties: Record<string, JsonObject>, format: string): string[] =>
  Object.keys(properties).filter((name) => formatOf(properties[name]) === format)

const formatOf = (property: JsonObject | undefined): unknown =>
  property?.format ?? (property?.items as JsonObject | undefined)?.format ??
  ((property?.anyOf ?? property?.oneOf) as JsonObject[] | undefined)?.map(formatOf).find((format) => format !== undefined)
