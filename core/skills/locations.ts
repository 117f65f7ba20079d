import { realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { report, type Diagnostic, type Layer, type Settings } from '../shapes/index.js'
import { inside, programFile } from '../system/index.js'
import type { PackageSkills, PackageText } from './types.js'

export interface SkillLocations {
  workspace: string
  /** Folder the program works in, for nested folders of skills. */
  cwd: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** What `~` stands for. */
  user: string
  /** Plugins that may hold a folder `skills`, with what keeps theirs from being used. */
  plugins: readonly { name: string; root: string; layer: Layer; skills?: () => PackageSkills; fault?: Diagnostic }[]
  settings: Settings['skills']
  /** Who said the i-th entry of `skills.roots`, and in which file. */
  declaredBy: (index: number) => { layer: Layer; file: string } | undefined
  /** Has the user agreed to a skill of the workspace as its files stand? */
  trusted: (folder: string) => boolean
}

/** A folder that skills are looked for in. */
export interface Root {
  path: string
  layer: Layer
  /** Stands before the colon of the ids. */
  prefix: string
  /** Why none of its skills is used. */
  off?: string
  /** Instead of what lies there: what a package brings as text. */
  texts?: readonly PackageText[]
  /** What it brings beside skills. */
  beside?: Pick<PackageSkills, 'instructions' | 'agents'>
}

/** The folders that exist, in the order of precedence; what is left out is reported. */
export function rootsOf(locations: SkillLocations, diagnostics: Diagnostic[]): Root[] {
  const { home, user, plugins, settings } = locations
  const claude = settings.claude_folders ? ['.claude'] : []
  const roots: Root[] = settings.roots.flatMap((entry, index) => root(entry, index, locations, diagnostics) ?? [])
  roots.push(...workspaceRoots(locations, ['.agents', '.vtcode', ...claude]))
  const own = [join(home, 'skills'), ...['.agents', ...claude].map((name) => join(user, name, 'skills'))]
  roots.push(...own.map((path): Root => ({ path, layer: 'user', prefix: 'user' })))
  roots.push({ path: '/etc/vtcode/skills', layer: 'admin', prefix: 'admin' })
  const texts: Root[] = []
  for (const { name, root, layer, skills, fault } of plugins) {
    const found = skills?.() ?? { folders: [join(root, 'skills')], texts: [], diagnostics: [] }
    diagnostics.push(...found.diagnostics, ...(fault ? [fault] : []))
    const all = { layer, prefix: name, ...(fault && { off: fault.message }) }
    roots.push(...found.folders.map((path): Root => ({ path, ...all })))
    texts.push({ path: root, ...all, texts: found.texts, beside: found })
  }
  roots.push({
    path: programFile('skills'),
    layer: 'builtin',
    prefix: 'builtin',
    ...(!settings.bundled && { off: 'skills.bundled is off' }),
  })
  return [...existingRoots(roots, own, locations.workspace, diagnostics), ...texts]
}

/** Returns the roots from the current folder up to the top of the workspace. */
function workspaceRoots({ workspace, cwd, settings }: SkillLocations, names: readonly string[]): Root[] {
  const roots: Root[] = []
  const off = settings.workspace === 'off' && { off: 'skills.workspace is off' }
  for (let folder = inside(workspace, cwd) ? cwd : workspace; ; folder = dirname(folder)) {
    const way = relative(workspace, folder)
    const prefix = way === '' ? 'workspace' : `workspace/${way}`
    const paths = names.map((name) => join(folder, name, 'skills'))
    roots.push(...paths.map((path): Root => ({ path, layer: 'workspace', prefix, ...off })))
    if (way === '') return roots
  }
}

/** Returns the roots that exist, each once and with its real path. */
function existingRoots(
  roots: readonly Root[],
  own: readonly string[],
  workspace: string,
  diagnostics: Diagnostic[],
): Iterable<Root> {
  // A workspace that is the home folder has its skills read once, as the user's.
  const real = new Map<string, Root>()
  const mine = new Set(own.flatMap((path) => realOf(path) ?? []))
  // Plugins of one file each often share a folder.
  const asked = new Map<string, string | undefined>()
  for (const root of roots) {
    if (!asked.has(root.path)) asked.set(root.path, realOf(root.path))
    const path = asked.get(root.path)
    if (path === undefined || real.has(path) || (root.layer === 'workspace' && mine.has(path))) continue
    if (root.layer === 'workspace' && !inside(workspace, path)) {
      diagnostics.push(
        report('VT_SKILL_ROOT', { path: root.path, problem: 'leads out of the workspace' }, [root.path], 'warning'),
      )
    } else if (root.layer !== 'admin' || ownedByRoot(path, diagnostics)) real.set(path, { ...root, path })
  }
  return real.values()
}

function root(
  entry: string,
  index: number,
  { workspace, user, declaredBy }: SkillLocations,
  diagnostics: Diagnostic[],
): Root | undefined {
  const { layer = 'call', file = '' } = declaredBy(index) ?? {}
  const base = isAbsolute(file) ? dirname(file) : workspace
  const path = resolve(base, entry.startsWith('~/') ? join(user, entry.slice(2)) : entry)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return { path, layer, prefix: `root${index + 1}` }
  diagnostics.push(report('VT_SKILL_ROOT', { path: entry, problem: 'is no folder' }, [path], 'warning'))
  return undefined
}

/** The real path, of what is there. */
export function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function ownedByRoot(path: string, diagnostics: Diagnostic[]): boolean {
  const { uid, mode } = statSync(path)
  if (uid === 0 && (mode & 0o022) === 0) return true
  diagnostics.push(report('VT_CONFIG_FOREIGN', { file: path }, [path], 'warning'))
  return false
}
