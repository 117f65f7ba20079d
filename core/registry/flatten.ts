import type { JsonObject, Schema } from '../shapes/index.js'

/** The input of one action. */
export interface ActionInput {
  action: string
  properties: Readonly<Record<string, Schema>>
}

const MAX_TEXTS = 3
const HIDDEN_KEYS = /^(?:x-|default$)/

/**
 * Merges the input of all actions of a tool into one flat schema, as a model sees it. Where actions differ about a
 * property, the schema keeps only their common part, so it never forbids a valid call; each action checks its own input
 * in full. A description names the actions if not all take the property.
 */
export function flatten(parts: readonly ActionInput[], tagged: boolean): JsonObject {
  const byName = new Map<string, { action: string; schema: Schema }[]>()
  for (const { action, properties } of parts) {
    for (const [name, schema] of Object.entries(properties)) {
      if (!byName.has(name)) byName.set(name, [])
      byName.get(name)!.push({ action, schema })
    }
  }
  return Object.fromEntries(
    [...byName].map(([name, variants]) => [name, mergeVariants(variants, !tagged || variants.length === parts.length)]),
  )
}

function mergeVariants(variants: readonly { action: string; schema: Schema }[], everywhere: boolean): Schema {
  const [first, ...others] = variants.map(({ schema }) => schema)
  const same = (key: string, text = JSON.stringify(first![key])) =>
    others.every((other) => JSON.stringify(other[key]) === text)
  const shared = Object.entries(first!).filter(
    ([key]) => key !== 'description' && !HIDDEN_KEYS.test(key) && (others.length === 0 || same(key)),
  )
  const description = describeVariants(variants, everywhere)
  return { ...Object.fromEntries(shared), ...(description && { description }) }
}

/**
 * Returns one text for all actions, or each text with its actions. Many different texts are left to the description of
 * the tool.
 */
function describeVariants(
  variants: readonly { action: string; schema: Schema }[],
  everywhere: boolean,
): string | undefined {
  const texts = new Map<string, string[]>()
  for (const { action, schema } of variants) {
    const text = typeof schema['description'] === 'string' ? schema['description'] : ''
    texts.set(text, [...(texts.get(text) ?? []), action])
  }
  const [only, ...more] = [...texts.keys()].filter((text) => text !== '')
  const actions = everywhere ? '' : variants.map(({ action }) => action).join(', ')
  if (only === undefined || more.length >= MAX_TEXTS) return actions || undefined
  if (more.length === 0) return actions ? `${actions}: ${only}` : only
  return [...texts].map(([text, who]) => `${who.join(', ')}${text && ': '}${text || '.'}`).join(' ')
}
