import { toText } from '../text/index.js'
import type { JsonObject, Result, Success } from '../shapes/index.js'
import type { AliasPart, Slot } from '../registry/index.js'
import { reshape } from './reshape.js'

/**
 * Translates a call of an alias into the slot and input of its target. Cases are chosen by the value of a property
 * (`$present`, `$absent` if it has no case of its own) and merged over the common part. The choosing property is
 * dropped unless passed. A default may have the property's name in the alias or in the target. `defaults` are the
 * names, in the target, of values that the caller did not give. Pure.
 */
export function translateInput(
  alias: JsonObject,
  given: JsonObject,
  whole: boolean,
): { to: string; input: JsonObject; part: AliasPart; defaults: string[] } {
  const common = alias as AliasPart
  const { part, choosing } = chooseCase(common, { ...common.default, ...given })
  const findTarget = (name: string): string | undefined =>
    part.rename?.[name] ?? (part.pass?.includes(name) || (whole && !choosing.has(name)) ? name : undefined)
  const passed: JsonObject = {}
  for (const [name, value] of Object.entries(given)) {
    const target = findTarget(name)
    if (target !== undefined) passed[target] = value
  }
  const sure = { ...passed, ...part.set }
  const absent: JsonObject = {}
  for (const [name, value] of Object.entries(part.default ?? {})) {
    const target = findTarget(name) ?? (choosing.has(name) ? undefined : name)
    if (target !== undefined && !Object.hasOwn(sure, target)) absent[target] = value
  }
  return { to: part.to ?? '', input: { ...absent, ...sure }, part, defaults: Object.keys(absent) }
}

function chooseCase(part: AliasPart, given: JsonObject): { part: AliasPart; choosing: Set<string> } {
  const choosing = new Set<string>()
  let chosen: AliasPart = part
  for (const [property, values] of Object.entries(part.cases ?? {})) {
    const value = given[property]
    const key = value === undefined ? '$absent' : Object.hasOwn(values, toText(value)) ? toText(value) : '$present'
    choosing.add(property)
    const more = Object.hasOwn(values, key) ? chooseCase(values[key]!, given) : undefined
    if (!more) continue
    for (const name of more.choosing) choosing.add(name)
    chosen = {
      ...chosen,
      ...more.part,
      pass: [...(chosen.pass ?? []), ...(more.part.pass ?? [])],
      rename: { ...chosen.rename, ...more.part.rename },
      set: { ...chosen.set, ...more.part.set },
      default: { ...chosen.default, ...more.part.default },
      ...((chosen.output || more.part.output) && { output: { ...chosen.output, ...more.part.output } }),
    }
  }
  return { part: chosen, choosing }
}

/**
 * Returns the part of an alias that shapes the answer. A format from a constraint or a default counts like a given one.
 */
export function findAnswerPart(
  { primary }: Slot,
  part: AliasPart,
  given: JsonObject,
  { response_format }: JsonObject,
): AliasPart {
  const block = primary.manifest.alias as AliasPart
  const formats = block.cases?.['response_format']
  if (!formats || given['response_format'] !== undefined || !Object.hasOwn(formats, toText(response_format)))
    return part
  return chooseCase(block, { ...given, response_format }).part
}

/**
 * Translates the target's answer for the alias: the output by its template, fields in texts by their names in the
 * alias.
 */
export function translateAnswer(part: AliasPart, result: Result, input: JsonObject): Result {
  if (!result.ok)
    return { ...result, error: { ...result.error, message: replaceFieldNames(part, result.error.message) } }
  const template = part.output
  const rendered = result.text === undefined ? {} : { text: translateContinuation(part, result.text, result.output) }
  if (!template) return { ...result, ...rendered }
  const { $text, ...shape } = template
  const answer = { output: result.output, text: rendered.text, input }
  const text = $text === undefined ? rendered.text : reshape($text, answer)
  const { text: _, ...rest } = result
  return {
    ...rest,
    output: reshape(shape, answer) as JsonObject,
    ...(typeof text === 'string' && { text }),
  } satisfies Success
}

/** Replaces quoted field names in a text by those of the alias. */
export function replaceFieldNames({ rename = {} }: AliasPart, text: string): string {
  let named = text
  for (const [ours, theirs] of Object.entries(rename)) named = named.replaceAll(`'${theirs}'`, `'${ours}'`)
  return named
}

/**
 * Replaces the field in "continue with …" at the end of a cut text by that of the alias, or removes it; likewise
 * removes advice such as "(count=exact counts all)".
 */
function translateContinuation({ rename = {}, pass = [] }: AliasPart, text: string, { next }: JsonObject): string {
  if (next === undefined) return text
  const at = text.lastIndexOf('\n') + 1
  const last = text
    .slice(at)
    .replace(/ \((\w+)=\w+ [^)]*\)/, (whole, field: string) => (pass.includes(field) ? whole : ''))
    .replace(/(?:; )?\b((?:continue with|next) )(\w+)(=\d+)/, (whole, how: string, field: string, value: string) => {
      const own =
        Object.entries(rename).find(([, theirs]) => theirs === field)?.[0] ?? (pass.includes(field) ? field : undefined)
      return own === undefined ? '' : whole.replace(`${how}${field}${value}`, `${how}${own}${value}`)
    })
  return text.slice(0, at) + last
}
