import { optionsOf, withTimeout } from '../system/index.js'
import { offeredInput, type Registry } from '../registry/index.js'
import type { ContextServices, Loader } from '../generation/index.js'
import type { Complete, Offer, Provider } from '../contract/index.js'

/** Values that a completion offers at most, and the milliseconds that it may take. */
const [MAX_VALUES, LIMIT_MS] = [100, 2_000]

/** Every listed resource or prompt. */
export function offersOf({ slots }: Registry, kind: 'resource' | 'prompt'): Offer[] {
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

/** Every usable provider. */
export const providersOf = ({ registry, loader, services }: Place): Provider[] =>
  [...registry.providers].map(([name, contribution]) => ({
    name,
    contribution,
    options: optionsOf(services.settings, contribution),
    load: () => loader.load(contribution),
  }))

interface Place {
  registry: Registry
  loader: Loader
  services: ContextServices
}

/** The suggestions of a resource's or prompt's module; none when it has no `complete`, throws or takes too long. */
export async function complete(
  { registry, loader, services }: Place,
  slot: string,
  argument: string,
  value: string,
  session: string,
): Promise<string[]> {
  const found = registry.slots.get(slot)
  if (!found || found.refusal || !offeredInput(found.primary.manifest)) return []
  try {
    const ask = (await loader.exported(found.primary, 'complete')) as Complete | undefined
    const { filtered: workspace, host } = services
    const late = () => new Error('no suggestions in time')
    const values =
      ask && (await withTimeout(Promise.resolve(ask(argument, value, { workspace, host, session })), LIMIT_MS, late))
    return Array.isArray(values) ? values.filter((one) => typeof one === 'string').slice(0, MAX_VALUES) : []
  } catch {
    return []
  }
}
