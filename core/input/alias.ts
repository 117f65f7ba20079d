import { toText } from '../text/index.js'
import type { JsonObject, Result, Success } from '../shapes/index.js'
import type { AliasPart, Slot } from '../registry/index.js'
import { reshape } from './reshape.js'

/**
 * The slot and input that a call to an alias means. Cases are chosen by a property's value (`$present`, `$absent` where it has none of
 * its own) and merged over the common part; the choosing property is dropped unless passed. Pure.
 */
export function translate(
  alias: JsonObject,
  given: JsonObject,
  whole: boolean,
): { to: string; input: JsonObject; part: AliasPart } {
  const { part, choosing } = choose(alias as AliasPart, given)
  const renamed = part.rename ?? {}
  const input: JsonObject = { ...part.default }
  for (const [name, value] of Object.entries(given)) {
    const target = renamed[name] ?? (part.pass?.includes(name) || (whole && !choosing.has(name)) ? name : undefined)
    if (target !== undefined) input[target] = value
  }
  return { to: part.to ?? '', input: { ...input, ...part.set }, part }
}

function choose(part: AliasPart, given: JsonObject): { part: AliasPart; choosing: Set<string> } {
  const choosing = new Set<string>()
  let chosen: AliasPart = part
  for (const [property, values] of Object.entries(part.cases ?? {})) {
    const value = given[property]
    const key = value === undefined ? '$absent' : Object.hasOwn(values, toText(value)) ? toText(value) : '$present'
    choosing.add(property)
    const more = Object.hasOwn(values, key) ? choose(values[key]!, given) : undefined
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

/** The part of an alias that shapes an answer: a format that only a constraint or a default chose counts like one that was given. */
export function partFor(
  { primary }: Slot,
  part: AliasPart,
  given: JsonObject,
  { response_format }: JsonObject,
): AliasPart {
  const block = primary.manifest.alias as AliasPart
  const formats = block.cases?.['response_format']
  if (!formats || given['response_format'] !== undefined || !Object.hasOwn(formats, toText(response_format)))
    return part
  return choose(block, { ...given, response_format }).part
}

/** The target's answer in the words of the alias: the output by its template, the fields of texts by their own names. */
export function answerAs(part: AliasPart, result: Result, input: JsonObject): Result {
  if (!result.ok) return { ...result, error: { ...result.error, message: ownNames(part, result.error.message) } }
  const template = part.output
  const said = result.text === undefined ? {} : { text: continued(part, result.text, result.output) }
  if (!template) return { ...result, ...said }
  const { $text, ...shape } = template
  const answer = { output: result.output, text: said.text, input }
  const text = $text === undefined ? said.text : reshape($text, answer)
  const { text: _, ...rest } = result
  return {
    ...rest,
    output: reshape(shape, answer) as JsonObject,
    ...(typeof text === 'string' && { text }),
  } satisfies Success
}

/** A text that quotes fields, with the names that the alias has for them. */
export function ownNames({ rename = {} }: AliasPart, text: string): string {
  let named = text
  for (const [ours, theirs] of Object.entries(rename)) named = named.replaceAll(`'${theirs}'`, `'${ours}'`)
  return named
}

/** The last line of a text that was cut says with which field to continue: the alias says it with its own, or not at all. */
function continued({ rename = {}, pass = [] }: AliasPart, text: string, { next }: JsonObject): string {
  if (next === undefined) return text
  const at = text.lastIndexOf('\n') + 1
  const last = text
    .slice(at)
    .replace(/(?:; )?\b((?:continue with|next) )(\w+)(=\d+)/, (whole, how: string, field: string, value: string) => {
      const own =
        Object.entries(rename).find(([, theirs]) => theirs === field)?.[0] ?? (pass.includes(field) ? field : undefined)
      return own === undefined ? '' : whole.replace(`${how}${field}${value}`, `${how}${own}${value}`)
    })
  return text.slice(0, at) + last
}
