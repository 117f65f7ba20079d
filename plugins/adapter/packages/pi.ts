import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathPattern, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { skillsIn } from './skills.js'

const most = { depth: 6, entries: 5_000 }

export function readPi(found: Package, document: JsonObject): boolean {
  const file = join(found.place.root, 'package.json')
  const raw = document['omp'] ?? document['pi']
  if (!isObject(raw)) {
    found.invalid(`${file}: '${'omp' in document ? 'omp' : 'pi'}' is no object.`, file)
    return false
  }
  const list = (key: string): string[] | undefined =>
    raw[key] === undefined ? undefined : [raw[key]].flat().map(toText)
  found.skills = () => {
    const paths = walk(found)
    const skills = chosen(paths, list('skills') ?? ['skills'])
      .filter((path) => basename(path) === 'SKILL.md')
      .map((path) => dirname(path))
    const prompts = chosen(paths, list('prompts') ?? ['prompts']).filter((path) => path.endsWith('.md'))
    return skillsIn(found, { skills, commands: prompts.map((path) => ({ path })), source: 'prompt' })
  }
  const parts = ['extensions', 'tools', 'hooks', 'themes', 'commands', 'providers']
  found.unsupported(
    Object.fromEntries(
      parts.map((key) => [`'${key}'`, list(key)?.length ?? (existsSync(join(found.place.root, key)) ? 1 : 0)]),
    ),
    file,
  )
  return true
}

/** Paths among these that the patterns name, folders with all that is in them; those that begin with ! take away. */
function chosen(paths: readonly string[], patterns: readonly string[]): string[] {
  const fits = (pattern: string) => pathPattern(`/${pattern.replace(/^!?(?:\.?\/)?/, '')}`)
  const wanted = patterns.filter((pattern) => !pattern.startsWith('!')).map(fits)
  const unwanted = patterns.filter((pattern) => pattern.startsWith('!')).map(fits)
  return paths.filter((path) => wanted.some((names) => names(path)) && !unwanted.some((names) => names(path)))
}

/** Files and folders of the package, relative to it. */
function walk(from: Package, folder = '', depth = 1, paths: string[] = []): string[] {
  for (const { name } of readdirSync(join(from.place.root, folder), { withFileTypes: true })) {
    if (/^\.|^node_modules$/.test(name) || paths.length >= most.entries) continue
    const path = folder ? `${folder}/${name}` : name
    paths.push(path)
    if (
      depth < most.depth &&
      from.holds(path) &&
      statSync(join(from.place.root, path), { throwIfNoEntry: false })?.isDirectory()
    )
      walk(from, path, depth + 1, paths)
  }
  return paths
}
