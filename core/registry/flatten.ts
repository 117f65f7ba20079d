import type { JsonObject, Schema } from '../shapes/index.js'

/** What one action says of its input. */
export interface ActionInput {
  action: string
  properties: Readonly<Record<string, Schema>>
}

const MAX_TEXTS = 3
const NOT_SHOWN = /^(?:x-|default$)/

/**
 * One flat schema for all actions of a tool, as a model sees it. Where actions differ about a property it says only what all of
 * them say, so that it never forbids what one of them takes; each action checks its own input in full. What not all actions take says which do.
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
    [...byName].map(([name, variants]) => [name, alike(variants, !tagged || variants.length === parts.length)]),
  )
}

function alike(variants: readonly { action: string; schema: Schema }[], everywhere: boolean): Schema {
  const [first, ...others] = variants.map(({ schema }) => schema)
  const same = (key: string, text = JSON.stringify(first![key])) =>
    others.every((other) => JSON.stringify(other[key]) === text)
  const shared = Object.entries(first!).filter(
    ([key]) => key !== 'description' && !NOT_SHOWN.test(key) && (others.length === 0 || same(key)),
  )
  const description = describe(variants, everywhere)
  return { ...Object.fromEntries(shared), ...(description && { description }) }
}

/** One text for all, or each with the actions that mean it; many different ones are left to the description of the tool. */
function describe(variants: readonly { action: string; schema: Schema }[], everywhere: boolean): string | undefined {
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
