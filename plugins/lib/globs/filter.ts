import { compileGlob } from './glob.js'

/** What is chosen of a tree. */
export interface FileSelection {
  /** ripgrep's `-g`, relative to the walked directory. */
  globs?: string[]
  /** With or without the dot. */
  file_extensions?: string[]
}

/** Whether globs choose files: then ripgrep lets them override ignore rules, and its answer has to be narrowed again. */
export const hasPositiveGlob = (globs: string[] = []): boolean => globs.some((glob) => !glob.startsWith('!'))

/** What globs and extensions leave: the last glob that matches decides. */
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
  const endings = file_extensions.map((extension) => `.${extension.replace(/^\./, '')}`)
  const chosen = hasPositiveGlob(globs)
  return (path, directory) => {
    const relative = base === '.' ? path : path.slice(base.length + 1)
    const last = tests.findLast(({ folders, matches }) => (directory || !folders) && matches(relative))
    if (last?.not) return false
    if (directory) return true
    return (!chosen || last !== undefined) && (endings.length === 0 || endings.some((ending) => path.endsWith(ending)))
  }
}
