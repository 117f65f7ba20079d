const GLOB_SIGNS = /[*?[\]{}!()]/

/** Lists the fixed folders before the first wildcard of a glob; empty for a plain name, which matches anywhere. */
function listFixedFolders(glob: string): string[] {
  const parts = glob.replace(/^\.?\//, '').split('/')
  if (parts.length === 1) return []
  const first = parts.findIndex((part) => GLOB_SIGNS.test(part))
  return (first < 0 ? parts : parts.slice(0, first)).filter((part) => part !== '' && part !== '.')
}

/** Returns whether one path may match both globs; `true` in doubt. */
function canOverlap(one: string, other: string): boolean {
  const [a, b] = [listFixedFolders(one), listFixedFolders(other)]
  return a.slice(0, b.length).every((part, index) => part === b[index])
}

/** Finds the first pair of globs of two lists that may match the same path. */
export function findOverlap(ours: readonly string[], theirs: readonly string[]): [string, string] | undefined {
  for (const one of ours) for (const other of theirs) if (canOverlap(one, other)) return [one, other]
  return undefined
}

/** Returns whether every path that a glob matches also matches one of these globs; `false` in doubt. */
export function isInsideGlobs(glob: string, globs: readonly string[]): boolean {
  const own = glob.replace(/^\.\//, '')
  if (own.split('/').includes('..') || own.startsWith('/')) return false
  return globs.some((outer) => {
    if (outer === '**' || outer === own) return true
    const folder = outer.endsWith('/**') ? outer.slice(0, -2) : undefined
    return folder !== undefined && !GLOB_SIGNS.test(folder) && own.startsWith(folder)
  })
}
