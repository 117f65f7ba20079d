import { isObject, toText, type Schema } from '../base/index.js'
import { compile } from '../schema/index.js'

/**
 * Why no input that `input` takes can fit a schema: where that can be told from the two. Contract: `undefined` where some input may fit, or it
 * cannot be told; never rejects.
 */
export async function neverHolds(schema: Schema, input: Schema): Promise<string | undefined> {
  return impossible(schema, input, 'the input')
}

async function impossible(schema: unknown, taken: unknown, name: string): Promise<string | undefined> {
  if (schema === false) return `${name} may not be there`
  if (!isObject(schema)) return undefined
  return (await byChoice(schema, taken, name)) ?? byRange(schema, name) ?? (await byProperties(schema, taken, name)) ?? (await byParts(schema, taken, name))
}

/** Values are named, and none of them is one that the property takes. */
async function byChoice(schema: Schema, taken: unknown, name: string): Promise<string | undefined> {
  const { type, enum: choices } = schema
  const values = 'const' in schema ? [schema['const']] : Array.isArray(choices) ? (choices as unknown[]) : undefined
  if (values) {
    const fits = async (rule: unknown) => (isObject(rule) ? (await compile(rule, 'infer').catch(() => () => []))  : () => [])
    const [asked, takes] = [await fits(without(schema)), await fits(taken)]
    return values.some((value) => asked(value).length === 0 && takes(value).length === 0) ? undefined : `${name} is never ${values.slice(0, 3).map((value) => JSON.stringify(value)).join(' or ') || 'anything'}`
  }
  const [wanted, given] = [typesOf(type), typesOf(isObject(taken) ? taken['type'] : undefined)]
  const meets = !wanted || !given || wanted.some((one) => given.includes(one) || (one === 'number' && given.includes('integer')) || (one === 'integer' && given.includes('number')))
  return meets ? undefined : `${name} is never of the type ${wanted!.join(' or ')}`
}

const typesOf = (type: unknown): unknown[] | undefined => (type === undefined ? undefined : [type].flat())
const without = ({ enum: _, const: __, ...rest }: Schema): Schema => rest

const bounds = [['minimum', 'maximum'], ['minLength', 'maxLength'], ['minItems', 'maxItems'], ['minProperties', 'maxProperties']] as const
function byRange(schema: Schema, name: string): string | undefined {
  const crossed = bounds.find(([least, most]) => Number(schema[least]) > Number(schema[most]))
  return crossed && `${name} cannot have ${crossed[0]} ${toText(schema[crossed[0]])} and ${crossed[1]} ${toText(schema[crossed[1]])}`
}

/** A property has to be there, and cannot be. */
async function byProperties({ required, properties, additionalProperties }: Schema, taken: unknown, name: string): Promise<string | undefined> {
  if (!Array.isArray(required)) return undefined
  const [asked, given] = [isObject(properties) ? properties : {}, isObject(taken) && isObject(taken['properties']) ? taken['properties'] : {}]
  const isClosed = isObject(taken) && taken['additionalProperties'] === false
  for (const one of required as string[]) {
    const place = `'${one}'${name === 'the input' ? '' : ` of ${name}`}`
    if (isClosed && !Object.hasOwn(given, one)) return `${place} is no property of the input, and a call with it is refused`
    if (additionalProperties === false && !Object.hasOwn(asked, one)) return `${place} has to be there and may not be`
    const why = await impossible(asked[one], given[one], place)
    if (why !== undefined) return why
  }
  return undefined
}

async function byParts({ allOf, anyOf, oneOf, not, required = [] }: Schema, taken: unknown, name: string): Promise<string | undefined> {
  for (const part of [allOf].flat()) {
    const why = part === undefined ? undefined : await impossible(part, taken, name)
    if (why !== undefined) return why
  }
  for (const parts of [anyOf, oneOf]) {
    if (!Array.isArray(parts)) continue
    const whys = await Promise.all(parts.map((part) => impossible(part, taken, name)))
    if (whys.every((why) => why !== undefined)) return whys.join(', and ') || `${name} fits none of nothing`
  }
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return `${name} may be nothing at all`
  const forbidden = isObject(not) && Object.keys(not).join() === 'required' && Array.isArray(not['required']) ? (not['required'] as string[]) : []
  const all = forbidden.length > 0 && forbidden.every((one) => (required as string[]).includes(one))
  return all ? `'${forbidden.join("', '")}' has to be there and may not be` : undefined
}
