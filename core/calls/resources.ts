import { resolveOptions, withTimeout } from '../system/index.js'
import type { Registry } from '../registry/index.js'
import { buildResourceInput } from '../schema/index.js'
import { openReadOnlyWorkspace } from './plugin_workspace.js'
import type { ContextServices, Loader } from '../generation/index.js'
import type { Complete, Offer, Provider } from '../contract/index.js'

/** Most values of a completion, and the milliseconds that it may take. */
const [MAX_VALUES, LIMIT_MS] = [100, 2_000]

/** Lists the usable resources or prompts. */
export function listOffers({ slots }: Registry, kind: 'resource' | 'prompt'): Offer[] {
  return [...slots.values()].flatMap(({ primary, refusal, info: { slot, description } }) => {
    if (primary.kind !== kind || refusal) return []
    const { title, uri, template, mime_type, arguments: texts } = primary.manifest
    const shown = {
      title,
      uri,
      template,
      mime_type: kind === 'resource' ? (mime_type ?? 'text/plain') : undefined,
      arguments: texts,
    }
    const declared = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined))
    return [{ slot, name: primary.name, description, ...declared }]
  })
}

/** Lists the usable providers or job engines. */
export const listProviders = (
  { registry, loader, services }: GenerationParts,
  kind: 'providers' | 'engines',
): Provider[] =>
  [...registry[kind]].map(([name, contribution]) => ({
    name,
    contribution,
    options: resolveOptions(services.settings, contribution),
    load: () => loader.load(contribution),
  }))

interface GenerationParts {
  registry: Registry
  loader: Loader
  services: ContextServices
}

/**
 * Returns the suggestions of a resource's or prompt's module; none when it has no `complete`, throws or takes too long.
 */
export async function complete(
  { registry, loader, services }: GenerationParts,
  slot: string,
  argument: string,
  value: string,
  session: string,
): Promise<string[]> {
  const found = registry.slots.get(slot)
  if (!found || found.refusal || !buildResourceInput(found.primary.manifest)) return []
  try {
    const ask = (await loader.loadExport(found.primary, 'complete')) as Complete | undefined
    const { filtered, host, hasForeignCode } = services
    const workspace = hasForeignCode(found.primary) ? openReadOnlyWorkspace(filtered, found.primary) : filtered
    const late = () => new Error('no suggestions in time')
    const values =
      ask && (await withTimeout(Promise.resolve(ask(argument, value, { workspace, host, session })), LIMIT_MS, late))
    return Array.isArray(values) ? values.filter((one) => typeof one === 'string').slice(0, MAX_VALUES) : []
  } catch {
    return []
  }
}
