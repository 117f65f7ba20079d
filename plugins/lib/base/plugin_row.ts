import type { Kernel } from '../../../core/contract/index.js'
import type { PluginFolder } from '../../../core/shapes/index.js'
import { isInside } from '../../../core/system/index.js'

export type PluginRow = ReturnType<typeof describePlugin>

/** Describes a plugin folder with its state and the number of its parts. */
export function describePlugin({ inspection, diagnostics }: Kernel, { problem, ...plugin }: PluginFolder) {
  const isOwn = ({ id }: { id: string }): boolean => id.startsWith(`${plugin.name}:`)
  const contributions = inspection.contributions().filter(isOwn)
  const { all, instructions, agents } = inspection.skills()
  const skills = all.filter(isOwn)
  const parts: { state: string; reason?: string }[] = [...contributions, ...skills]
  const texts = [...instructions, ...agents].filter((one) => one.plugin === plugin.name)
  const fromFolder = diagnostics().find(({ files }) => files.some((file) => isInside(plugin.root, file)))
  const used = parts.find(({ state }) => state === 'active') ?? (texts.length > 0 ? { state: 'active' } : parts[0])
  const empty = { state: 'inactive', reason: fromFolder?.message ?? 'The folder has no part that is used here.' }
  const { state, reason } = problem === undefined ? (used ?? empty) : { state: 'invalid', reason: problem }
  return {
    ...plugin,
    state,
    ...(state !== 'active' && reason !== undefined && { reason }),
    contributions: contributions.length,
    skills: skills.length,
  }
}
