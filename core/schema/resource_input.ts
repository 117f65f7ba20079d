import type { Manifest, Schema } from '../shapes/index.js'

/** Returns the input of a resource or a prompt: its variables or arguments, each a text. */
export function buildResourceInput({ kind, template = '', arguments: texts = [] }: Manifest): Schema | undefined {
  if (kind !== 'resource' && kind !== 'prompt') return undefined
  const variables = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    required: true,
    description: undefined,
  }))
  const all = [...variables, ...texts]
  const properties = all.map(({ name, description }): [string, Schema] => [
    name,
    { type: 'string', ...(description !== undefined && { description }) },
  ])
  return {
    properties: Object.fromEntries(properties),
    required: all.filter(({ required }) => required).map(({ name }) => name),
  }
}
