import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { createDiagnostic, type Diagnostic, type Layer, type Settings } from '../shapes/index.js'
import { isInside, programFile } from '../system/index.js'
import type { PackageSkills, PackageText } from './types.js'

export interface SkillLocations {
  workspace: string
  /** Working folder of the program, for nested folders of skills. */
  cwd: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Replaces `~`. */
  user: string
  /** Plugins that may have a folder `skills`; `fault` disables theirs. */
  plugins: readonly { name: string; root: string; layer: Layer; skills?: () => PackageSkills; fault?: Diagnostic }[]
  settings: Settings['skills']
  /** Returns the layer and file of the i-th entry of `skills.roots`. */
  findOrigin: (index: number) => { layer: Layer; file: string } | undefined
  /** Returns whether the user agreed to the present files of a skill of the workspace. */
  trusted: (folder: string) => boolean
}

/** A folder to search for skills. */
export interface Root {
  path: string
  /** The folder that links of skills may not lead out of; `/` for the user's own folders. */
  bound: string
  layer: Layer
  /** Precedes the colon of the ids. */
  prefix: string
  /** Reason why none of its skills is used. */
  disabledReason?: string
  /** A folder of commands, which are Markdown files. */
  commands?: true
  /** Texts of a package, read in place of the folder. */
  texts?: readonly PackageText[]
  /** Content of the package other than skills. */
  packageContent?: Pick<PackageSkills, 'instructions' | 'agents'>
  /** Returns the root that a folder of the workspace counts for: a link of the user may lead there. */
  claimFolder?: (folder: string) => Root | undefined
}

/** The folder of commands of Claude Code. */
const COMMANDS = '.claude/commands'

/** A root before its path is resolved. Links stay below the root itself where `bound` is absent. */
type FoundRoot = Omit<Root, 'bound'> & { bound?: string }

/** Returns the existing folders in the order of precedence, and reports the others. */
export function listRoots(locations: SkillLocations, diagnostics: Diagnostic[]): Root[] {
  const { home, user, plugins, settings } = locations
  const claude = settings.claude_folders ? ['.claude'] : []
  const roots: FoundRoot[] = settings.roots.flatMap(
    (entry, index) => resolveEntry(entry, index, locations, diagnostics) ?? [],
  )
  roots.push(...listWorkspaceRoots(locations, ['.agents', '.vtcode', ...claude]))
  const own = [join(home, 'skills'), ...['.agents', ...claude].map((name) => join(user, name, 'skills'))]
  roots.push(...own.map((path): FoundRoot => ({ path, bound: '/', layer: 'user', prefix: 'user' })))
  if (settings.claude_folders) roots.push({ path: join(user, COMMANDS), layer: 'user', prefix: 'user', commands: true })
  const claimFolder = createClaim(locations, own)
  // Not for plugins: a change of one that the user's settings name is asked about.
  for (const root of roots) if (root.layer === 'user') root.claimFolder = claimFolder
  roots.push({ path: '/etc/vtcode/skills', layer: 'admin', prefix: 'admin' })
  const texts: Root[] = []
  for (const { name, root, layer, skills, fault } of plugins) {
    const found = skills?.() ?? { folders: [join(root, 'skills')], texts: [], diagnostics: [] }
    diagnostics.push(...found.diagnostics, ...(fault ? [fault] : []))
    const all = { layer, prefix: name, ...(fault && { disabledReason: fault.message }) }
    roots.push(...found.folders.map((path): FoundRoot => ({ path, ...all })))
    texts.push({ path: root, bound: root, ...all, texts: found.texts, packageContent: found })
  }
  roots.push({
    path: programFile('skills'),
    layer: 'builtin',
    prefix: 'builtin',
    ...(!settings.bundled && { disabledReason: 'skills.bundled is off' }),
  })
  return [...selectExistingRoots(roots, own, locations.workspace, diagnostics), ...texts]
}

/**
 * Returns a function that finds the folders that tools can change in the workspace. Their skills need the consent for
 * the workspace, even if a link of the user leads there. In a workspace that contains the home folder, the user's own
 * folders of skills stay the user's.
 */
function createClaim(
  { workspace, settings }: SkillLocations,
  own: readonly string[],
): NonNullable<Root['claimFolder']> {
  const kept = own.flatMap((path) => {
    const above = resolveRealPath(dirname(dirname(path)))
    if (above === undefined || !isInside(workspace, above)) return []
    return [join(above, basename(dirname(path)), basename(path))]
  })
  const root: Omit<Root, 'path'> = {
    bound: workspace,
    layer: 'workspace',
    prefix: 'workspace',
    ...(settings.workspace === 'off' && WORKSPACE_OFF),
  }
  return (folder) =>
    isInside(workspace, folder) && !kept.some((path) => isInside(path, folder)) ? { ...root, path: folder } : undefined
}

const WORKSPACE_OFF = { disabledReason: 'skills.workspace is off' }

/** Returns the roots from the current folder up to the top of the workspace. */
function listWorkspaceRoots({ workspace, cwd, settings }: SkillLocations, names: readonly string[]): FoundRoot[] {
  const roots: FoundRoot[] = []
  const disabled = settings.workspace === 'off' && WORKSPACE_OFF
  for (let folder = isInside(workspace, cwd) ? cwd : workspace; ; folder = dirname(folder)) {
    const way = relative(workspace, folder)
    const prefix = way === '' ? 'workspace' : `workspace/${way}`
    const paths = names.map((name) => join(folder, name, 'skills'))
    const place = { bound: workspace, layer: 'workspace' as const, prefix, ...disabled }
    roots.push(...paths.map((path): FoundRoot => ({ path, ...place })))
    if (names.includes('.claude')) roots.push({ path: join(folder, COMMANDS), ...place, commands: true })
    if (way === '') return roots
  }
}

/** Returns the roots that exist, each once and with its real path. */
function selectExistingRoots(
  roots: readonly FoundRoot[],
  own: readonly string[],
  workspace: string,
  diagnostics: Diagnostic[],
): Iterable<Root> {
  // If the workspace is the home folder, its skills are read once, as the user's.
  const real = new Map<string, Root>()
  const mine = new Set(own.flatMap((path) => resolveRealPath(path) ?? []))
  // Plugins of one file often share a folder.
  const realPaths = new Map<string, string | undefined>()
  for (const root of roots) {
    if (!realPaths.has(root.path)) realPaths.set(root.path, resolveRealPath(root.path))
    const path = realPaths.get(root.path)
    if (path === undefined || real.has(path) || (root.layer === 'workspace' && mine.has(path))) continue
    if (root.layer === 'workspace' && !isInside(workspace, path)) {
      diagnostics.push(
        createDiagnostic(
          'VT_SKILL_ROOT',
          { path: root.path, problem: 'leads out of the workspace' },
          [root.path],
          'warning',
        ),
      )
    } else if (root.layer !== 'admin' || checkRootOwnership(path, diagnostics))
      real.set(path, root.claimFolder?.(path) ?? { ...root, path, bound: root.bound ?? path })
  }
  return real.values()
}

function resolveEntry(
  entry: string,
  index: number,
  { workspace, user, findOrigin }: SkillLocations,
  diagnostics: Diagnostic[],
): FoundRoot | undefined {
  const { layer = 'call', file = '' } = findOrigin(index) ?? {}
  const base = isAbsolute(file) ? dirname(file) : workspace
  const path = resolve(base, entry.startsWith('~/') ? join(user, entry.slice(2)) : entry)
  const bound = layer === 'workspace' ? { bound: workspace } : layer === 'admin' ? {} : { bound: '/' }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return { path, ...bound, layer, prefix: `root${index + 1}` }
  diagnostics.push(createDiagnostic('VT_SKILL_ROOT', { path: entry, problem: 'is not a folder' }, [path], 'warning'))
  return undefined
}

/** Returns the real path; nothing where the path does not exist. */
export function resolveRealPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function checkRootOwnership(path: string, diagnostics: Diagnostic[]): boolean {
  const { uid, mode } = statSync(path)
  if (uid === 0 && (mode & 0o022) === 0) return true
  diagnostics.push(createDiagnostic('VT_CONFIG_FOREIGN', { file: path }, [path], 'warning'))
  return false
}
