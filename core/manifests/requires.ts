import type { Contribution, Manifest } from '../shapes/index.js'
import { findProgram, searchPath, version } from '../system/index.js'

/** What a contribution may find here. */
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

/** Is a manifest made for this version of the program? */
export async function fitsProgram({ vtcode }: Manifest): Promise<boolean> {
  return typeof vtcode !== 'string' || within(version, vtcode)
}

/** What a manifest requires of this machine and does not find, in words. */
export async function missingRequirements(
  { requires = {} }: Manifest,
  { workspace, env }: RequirementScope,
): Promise<string[]> {
  const { os, arch, node, bin = [] } = requires as Requirements
  const needs: string[] = []
  if (node !== undefined && !(await within(process.versions.node, node)))
    needs.push(`Node ${node}; this is ${process.versions.node}`)
  if (os && !os.includes(process.platform)) needs.push(`${os.join(' or ')}; this is ${process.platform}`)
  if (arch && !arch.includes(process.arch)) needs.push(`${arch.join(' or ')}; this is ${process.arch}`)
  const folders = searchPath(env['PATH'], workspace)
  for (const name of bin) if (!findProgram(name, folders)) needs.push(`the program ${name}`)
  return needs
}

/**
 * The contributions whose required plugins are not there, with the names of those. A plugin is there when something of it is; what
 * it requires in turn comes first, so that plugins requiring each other in a circle are not.
 */
export function orphans(contributions: readonly Contribution[]): Map<Contribution, string[]> {
  const needs = new Map(
    contributions.map((one) => [one, (one.manifest['requires'] as Requirements | undefined)?.plugins ?? []]),
  )
  const there = new Set<string>()
  for (let before = -1; before < there.size;) {
    before = there.size
    for (const [{ plugin }, names] of needs) if (names.every((name) => there.has(name))) there.add(plugin)
  }
  const lacking = [...needs].map(([one, names]) => [one, names.filter((name) => !there.has(name))] as const)
  return new Map(lacking.filter(([, names]) => names.length > 0))
}

async function within(found: string, range: string): Promise<boolean> {
  const { default: semver } = await import('semver')
  return semver.satisfies(found, range, { includePrerelease: true })
}
