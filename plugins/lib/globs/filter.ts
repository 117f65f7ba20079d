import { compileGlob } from './glob.js'

/** Selection of files in a tree. */
export interface FileSelection {
  /** Globs like `-g` of ripgrep, relative to the walked directory. */
  globs?: string[]
  /** Extensions with or without the dot. */
  file_extensions?: string[]
}

/**
 * Checks whether globs select files. ripgrep then lets them override ignore rules, so its answer needs a second filter.
 */
export const hasPositiveGlob = (globs: string[] = []): boolean => globs.some((glob) => !glob.startsWith('!'))

/** Creates a filter from globs and extensions. The last matching glob decides. */
export function createGlobFilter(
  base: string,
  { globs = [], file_extensions = [] }: FileSelection,
): (path: string, directory: boolean) => boolean {
  if (globs.length === 0 && file_extensions.length === 0) return () => true
  const tests = globs.map((text) => ({
    not: text.startsWith('!'),
    folders: text.endsWith('/'),
    matches: compileGlob(text.replace(/^!/, '').replace(/\/$/, ''), true),
  }))
  const endings = file_extensions.map((extension) => `.${extension.replace(/^\*?\./, '')}`)
  const chosen = hasPositiveGlob(globs)
  return (path, directory) => {
    const relative = base === '.' ? path : path.slice(base.length + 1)
    const last = tests.findLast(({ folders, matches }) => (directory || !folders) && matches(relative))
    if (last?.not) return false
    if (directory) return true
    return (!chosen || last !== undefined) && (endings.length === 0 || endings.some((ending) => path.endsWith(ending)))
  }
}
