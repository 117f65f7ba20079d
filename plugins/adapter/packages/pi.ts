import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { compilePathPattern, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { collectSkills } from './skills.js'

const WALK_LIMITS = { depth: 6, entries: 5_000 }

export function readPi(found: Package, document: JsonObject): boolean {
  const file = join(found.place.root, 'package.json')
  const raw = document['omp'] ?? document['pi']
  if (!isObject(raw)) {
    found.reportInvalid(`${file}: '${'omp' in document ? 'omp' : 'pi'}' is not an object.`, file)
    return false
  }
  const list = (key: string): string[] | undefined =>
    raw[key] === undefined ? undefined : [raw[key]].flat().map(toText)
  found.skills = () => {
    const paths = listPaths(found)
    const skills = selectPaths(paths, list('skills') ?? ['skills'])
      .filter((path) => basename(path) === 'SKILL.md')
      .map((path) => dirname(path))
    const prompts = selectPaths(paths, list('prompts') ?? ['prompts']).filter((path) => path.endsWith('.md'))
    return collectSkills(found, { skills, commands: prompts.map((path) => ({ path })), source: 'prompt' })
  }
  const parts = ['extensions', 'tools', 'hooks', 'themes', 'commands', 'providers']
  found.reportUnsupported(
    Object.fromEntries(
      parts.map((key) => [`'${key}'`, list(key)?.length ?? (existsSync(join(found.place.root, key)) ? 1 : 0)]),
    ),
    file,
  )
  return true
}

/** Selects the paths that match the patterns; a folder includes its contents, `!` excludes. */
function selectPaths(paths: readonly string[], patterns: readonly string[]): string[] {
  const fits = (pattern: string) => compilePathPattern(`/${pattern.replace(/^!?(?:\.?\/)?/, '')}`)
  const wanted = patterns.filter((pattern) => !pattern.startsWith('!')).map(fits)
  const unwanted = patterns.filter((pattern) => pattern.startsWith('!')).map(fits)
  return paths.filter((path) => wanted.some((names) => names(path)) && !unwanted.some((names) => names(path)))
}

/** Lists files and folders of the package, relative to it. */
function listPaths(from: Package, folder = '', depth = 1, paths: string[] = []): string[] {
  for (const { name } of readdirSync(join(from.place.root, folder), { withFileTypes: true })) {
    if (/^\.|^node_modules$/.test(name) || paths.length >= WALK_LIMITS.entries) continue
    const path = folder ? `${folder}/${name}` : name
    paths.push(path)
    if (
      depth < WALK_LIMITS.depth &&
      from.containsPath(path) &&
      statSync(join(from.place.root, path), { throwIfNoEntry: false })?.isDirectory()
    )
      listPaths(from, path, depth + 1, paths)
  }
  return paths
}
