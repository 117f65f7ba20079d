import { visibleLine, type Kernel, type Offer } from '../../../core/index.js'

const MAX_URI = 2048

export interface Shown {
  uri: string
  name: string
  title?: string
  description: string
  mimeType: string
}

/** Resources with an address of their own, and of templates with one variable what their plugin names. */
export async function listResources(kernel: Kernel, session: string): Promise<Shown[]> {
  const listed = await Promise.all(
    kernel.inspection.offers('resource').map(async (offer) => {
      if (offer.uri !== undefined) return [shown(offer, offer.uri, offer.name)]
      const variables = variablesOf(offer)
      if (variables.length !== 1) return []
      const values = await kernel.inspection.complete(offer.slot, variables[0]!, '', session)
      return values.map((value) =>
        shown(
          offer,
          offer.template!.replace(/\{\w+\}/, () => encodeURIComponent(value)),
          value,
        ),
      )
    }),
  )
  return listed.flat()
}

function shown({ title, description, mime_type }: Offer, uri: string, name: string): Shown {
  return { uri, name: visibleLine(name), ...(title !== undefined && { title }), description, mimeType: mime_type! }
}

const variablesOf = ({ template = '' }: Offer): string[] =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

/** The resource behind a URI, with the input it means. */
export function findResource(kernel: Kernel, uri: string): { offer: Offer; input: Record<string, string> } | undefined {
  if (uri.length > MAX_URI) return undefined
  const resources = kernel.inspection.offers('resource')
  const fixed = resources.find((offer) => offer.uri === uri)
  if (fixed) return { offer: fixed, input: {} }
  for (const offer of resources) {
    const input = offer.template !== undefined && match(offer.template, uri)
    if (input)
      return { offer, input: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, decode(value)])) }
  }
  return undefined
}

/**
 * The variables of a template in a URI: each ends where the text behind it first occurs, the last one with the URI, and none holds a
 * slash. Nothing is tried twice, so that no template and no URI make it slow.
 */
function match(template: string, uri: string): Record<string, string> | undefined {
  const [head = '', ...rest] = template.split(/\{(\w+)\}/)
  if (!uri.startsWith(head)) return undefined
  const found: Record<string, string> = {}
  let at = head.length
  for (let i = 0; i < rest.length; i += 2) {
    const [name, behind] = [rest[i]!, rest[i + 1]!]
    const end =
      i + 2 === rest.length ? uri.length - behind.length : behind === '' ? at + 1 : uri.indexOf(behind, at + 1)
    const value = uri.slice(at, Math.max(at, end))
    if (value === '' || value.includes('/') || !uri.startsWith(behind, end)) return undefined
    found[name] = value
    at = end + behind.length
  }
  return found
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
