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
