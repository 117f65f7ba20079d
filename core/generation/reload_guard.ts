import { existsSync } from 'node:fs'
import { firstLine } from '../shapes/index.js'
import type { Generation } from './generation.js'

/**
 * Why the next generation may not replace the present one: a policy or an override would be missing or
 * broken, and a weaker contribution would serve its slot. The user may remove one by the settings or by `vtcode plugins remove`.
 */
export async function reloadObjection(
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
    const intended = next.lockVerifier.holds(one.root) ? next.lockVerifier.entryOf(one.root) !== undefined : unchanged
    if (!now && !existsSync(one.file) && intended) return `the file of ${one.id}, ${one.file}, is gone`
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

/** A contribution that was valid before and is not now: its file may be half written. */
export function newlyBroken(next: Generation, { registry }: Generation): string | undefined {
  const before = new Set(registry.infos.filter(({ state }) => state === 'invalid').map(({ file }) => file))
  const broken = next.registry.infos.find(({ state, file }) => state === 'invalid' && !before.has(file))
  return broken && `${broken.id} in ${broken.file} is broken: ${broken.reason ?? 'invalid'}`
}
