import type { JsonObject, Schema } from '../base/index.js'

/** What one action says of its input. */
export interface ActionInput {
  action: string
  properties: Readonly<Record<string, Schema>>
  defs: JsonObject | undefined
}

const MAX_TEXTS = 3
const NOT_SHOWN = /^(?:x-|default$)/

/**
 * One flat schema for all actions of a tool, as a model sees it. Where actions differ about a property it says only what all of
 * them say, so that it never forbids what one of them takes; each action checks its own input in full.
 */
export function flatten(parts: readonly ActionInput[]): Schema {
  const byName = new Map<string, { action: string; schema: Schema }[]>()
  for (const { action, properties, defs } of parts) {
    for (const [name, schema] of Object.entries(properties)) {
      if (!byName.has(name)) byName.set(name, [])
      byName.get(name)!.push({ action, schema: defs ? qualified(schema, action) : schema })
    }
  }
  const properties: JsonObject = { action: { type: 'string', enum: parts.map(({ action }) => action) } }
  for (const [name, variants] of byName) properties[name] = alike(variants)
  const $defs = Object.fromEntries(
    parts.flatMap(({ action, defs = {} }) => Object.entries(defs).map(([name, def]): [string, unknown] => [`${action}.${name}`, qualified(def, action)])),
  )
  return { type: 'object', properties, additionalProperties: false, ...(Object.keys($defs).length > 0 && { $defs }) }
}

/** References lead to the definitions of their own action. */
function qualified<T>(schema: T, action: string): T {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"#/$defs/${action}.`))
}

function alike(variants: readonly { action: string; schema: Schema }[]): Schema {
  const [first, ...others] = variants.map(({ schema }) => schema)
  const same = (key: string, text = JSON.stringify(first![key])) => others.every((other) => JSON.stringify(other[key]) === text)
  const shared = Object.entries(first!).filter(([key]) => key !== 'description' && !NOT_SHOWN.test(key) && (others.length === 0 || same(key)))
  const description = describe(variants)
  return { ...Object.fromEntries(shared), ...(description && { description }) }
}

/** One text for all, or each with the actions that mean it; many different ones are left to the description of the tool. */
function describe(variants: readonly { action: string; schema: Schema }[]): string | undefined {
  const texts = new Map<string, string[]>()
  for (const { action, schema } of variants) {
    const text = schema['description']
    if (typeof text === 'string') texts.set(text, [...(texts.get(text) ?? []), action])
  }
  if (texts.size === 1) return [...texts.keys()][0]
  return texts.size <= MAX_TEXTS ? [...texts].map(([text, actions]) => `${actions.join(', ')}: ${text}`).join(' ') : undefined
}
