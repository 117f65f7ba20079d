import { visibleLine, type Kernel, type Offer } from '../../../core/index.js'

const MAX_URI = 2048

export interface ListedResource {
  uri: string
  name: string
  title?: string
  description: string
  mimeType: string
}

/** Lists resources with a fixed URI, and the resources that plugins complete for templates with one variable. */
export async function listResources(kernel: Kernel, session: string): Promise<ListedResource[]> {
  const listed = await Promise.all(
    kernel.inspection.offers('resource').map(async (offer) => {
      if (offer.uri !== undefined) return [toListedResource(offer, offer.uri, offer.name)]
      const variables = listVariables(offer)
      if (variables.length !== 1) return []
      const values = await kernel.inspection.complete(offer.slot, variables[0]!, '', session)
      return values.map((value) =>
        toListedResource(
          offer,
          offer.template!.replace(/\{\w+\}/, () => encodeURIComponent(value)),
          value,
        ),
      )
    }),
  )
  return listed.flat()
}

function toListedResource({ title, description, mime_type }: Offer, uri: string, name: string): ListedResource {
  return { uri, name: visibleLine(name), ...(title !== undefined && { title }), description, mimeType: mime_type! }
}

const listVariables = ({ template = '' }: Offer): string[] =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

/** Returns the resource of a URI, with the input of its call. */
export function findResource(kernel: Kernel, uri: string): { offer: Offer; input: Record<string, string> } | undefined {
  if (uri.length > MAX_URI) return undefined
  const resources = kernel.inspection.offers('resource')
  const fixed = resources.find((offer) => offer.uri === uri)
  if (fixed) return { offer: fixed, input: {} }
  for (const offer of resources) {
    const input = offer.template !== undefined && matchTemplate(offer.template, uri)
    if (input)
      return {
        offer,
        input: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, decodeSafely(value)])),
      }
  }
  return undefined
}

/**
 * Returns the values of the variables of a template in a URI. A value ends where the text that follows it first occurs,
 * the last one at the end of the URI, and none contains a slash. The match never backtracks, so it is always fast.
 */
function matchTemplate(template: string, uri: string): Record<string, string> | undefined {
  const [head = '', ...rest] = template.split(/\{(\w+)\}/)
  if (!uri.startsWith(head)) return undefined
  const found: Record<string, string> = {}
  let at = head.length
  for (let i = 0; i < rest.length; i += 2) {
    const [name, suffix] = [rest[i]!, rest[i + 1]!]
    const end =
      i + 2 === rest.length ? uri.length - suffix.length : suffix === '' ? at + 1 : uri.indexOf(suffix, at + 1)
    const value = uri.slice(at, Math.max(at, end))
    if (value === '' || value.includes('/') || !uri.startsWith(suffix, end)) return undefined
    found[name] = value
    at = end + suffix.length
  }
  return found
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
