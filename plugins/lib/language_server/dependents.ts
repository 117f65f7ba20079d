import { dirname, join, normalize } from 'node:path'
import { readSmallFile } from '../../../core/system/index.js'
import { findLanguage, type LanguageServerDefinition } from './definition.js'
import type { DiskState } from './disk.js'

/** Projects whose files are opened, at most: fewer than documents may be open. */
const MAX_PROJECTS = 16

interface Premises {
  definition: LanguageServerDefinition
  workspace: string
}

/**
 * Returns one file of each project that refers to the project of a file, directly or through others. A server knows
 * the uses in another project only when one of its files is open.
 */
export function listDependents({ definition, workspace }: Premises, { versions }: DiskState, path: string): string[] {
  const { project_file: name } = definition
  if (name === undefined) return []
  const files = [...versions.keys()]
  const projects = files
    .filter((file) => file === name || file.endsWith(`/${name}`))
    .map((file) => ({ folder: dirname(file), references: readReferences(join(workspace, file), dirname(file)) }))
  const own = projects
    .map(({ folder }) => folder)
    .filter((folder) => folder === '.' || path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0]
  const found = new Set(own === undefined ? [] : [own])
  for (const folder of found)
    for (const project of projects) if (project.references.includes(folder)) found.add(project.folder)
  return [...found]
    .slice(1, MAX_PROJECTS + 1)
    .flatMap((folder) => files.find((file) => file.startsWith(`${folder}/`) && findLanguage(definition, file)) ?? [])
}

/** Returns the folders that a project file refers to. It may have comments, so it is no plain JSON. */
function readReferences(file: string, folder: string): string[] {
  const text = readSmallFile(file) ?? ''
  const [, list = ''] = /"references"\s*:\s*\[([^\]]*)\]/.exec(text) ?? []
  return [...list.matchAll(/"path"\s*:\s*"([^"]+)"/g)].map(([, path]) =>
    normalize(join(folder, path!.replace(/\/?[^/]*\.json$/, '') || '.')).replace(/\/$/, ''),
  )
}
