import { existsSync } from 'node:fs'
import { firstLine } from '../shapes/index.js'
import type { Generation } from './generation.js'

/**
 * Returns the reason why the next generation may not replace the present one: a policy or an override is missing or
 * broken, and a weaker contribution would serve its slot. The user may remove one in the settings or with `vtcode
 * plugins remove`.
 */
export async function findReloadObjection(
  next: Generation,
  { registry, settings }: Generation,
): Promise<string | undefined> {
  const unchanged = JSON.stringify(next.settings.manifests) === JSON.stringify(settings.manifests)
  const overrides = [...registry.slots.values()].flatMap(({ chain }) =>
    chain.filter(({ stage }) => stage === 'override'),
  )
  for (const one of [...registry.policies, ...overrides].filter(({ layer }) => layer !== 'builtin')) {
    const now =
      next.registry.infos.find(({ id }) => id === one.id) ??
      next.registry.infos.find(({ file, state }) => file === one.file && state === 'invalid')
    if (now && (now.state === 'invalid' || now.state === 'unlocked'))
      return `${one.id} cannot be loaded any more: ${now.reason ?? now.state}`
    const isIntended = next.lockVerifier.contains(one.root)
      ? next.lockVerifier.findEntry(one.root) !== undefined
      : unchanged
    if (!now && !existsSync(one.file) && isIntended) return `the file of ${one.id}, ${one.file}, is missing`
  }
  for (const policy of next.registry.policies.filter(({ layer }) => layer !== 'builtin')) {
    try {
      await next.loader.load(policy)
    } catch (error) {
      return `the policy ${policy.id} cannot be loaded: ${firstLine(error)}`
    }
  }
  return undefined
}

/** Returns a contribution that became invalid: its file may be half written. */
export function findNewlyBroken(next: Generation, { registry }: Generation): string | undefined {
  const before = new Set(registry.infos.filter(({ state }) => state === 'invalid').map(({ file }) => file))
  const broken = next.registry.infos.find(({ state, file }) => state === 'invalid' && !before.has(file))
  return broken && `${broken.id} in ${broken.file} is broken: ${broken.reason ?? 'invalid'}`
}
