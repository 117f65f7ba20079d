import type { Contribution, Manifest } from '../shapes/index.js'
import { findProgram, listSearchFolders, version } from '../system/index.js'

/** The environment in which requirements are checked. */
export interface RequirementScope {
  workspace: string
  env: Record<string, string | undefined>
}
interface Requirements {
  os?: string[]
  arch?: string[]
  node?: string
  bin?: string[]
  plugins?: string[]
}

/** Returns whether a manifest fits this version of the program. */
export async function isCompatible({ vtcode }: Manifest): Promise<boolean> {
  return typeof vtcode !== 'string' || isInRange(version, vtcode)
}

/** Describes the requirements of a manifest that this machine does not meet. */
export async function findMissingRequirements(
  { requires = {} }: Manifest,
  { workspace, env }: RequirementScope,
): Promise<string[]> {
  const { os, arch, node, bin = [] } = requires as Requirements
  const needs: string[] = []
  if (node !== undefined && !(await isInRange(process.versions.node, node)))
    needs.push(`Node ${node}; this is ${process.versions.node}`)
  if (os && !os.includes(process.platform)) needs.push(`${os.join(' or ')}; this is ${process.platform}`)
  if (arch && !arch.includes(process.arch)) needs.push(`${arch.join(' or ')}; this is ${process.arch}`)
  const folders = listSearchFolders(env['PATH'], workspace)
  for (const name of bin) if (!findProgram(name, folders)) needs.push(`the program ${name}`)
  return needs
}

/**
 * Finds contributions whose required plugins are missing, with the names of these plugins. A plugin is present if its
 * own requirements are met first, so plugins that require each other in a circle are missing.
 */
export function findOrphans(contributions: readonly Contribution[]): Map<Contribution, string[]> {
  const needs = new Map(
    contributions.map((one) => [one, (one.manifest['requires'] as Requirements | undefined)?.plugins ?? []]),
  )
  const present = new Set<string>()
  for (let before = -1; before < present.size;) {
    before = present.size
    for (const [{ plugin }, names] of needs) if (names.every((name) => present.has(name))) present.add(plugin)
  }
  const lacking = [...needs].map(([one, names]) => [one, names.filter((name) => !present.has(name))] as const)
  return new Map(lacking.filter(([, names]) => names.length > 0))
}

async function isInRange(found: string, range: string): Promise<boolean> {
  const { default: semver } = await import('semver')
  return semver.satisfies(found, range, { includePrerelease: true })
}
