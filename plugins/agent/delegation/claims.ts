const magic = /[*?[\]{}!()]/

/** The folders that a glob leads to before its first sign; of a name that is met anywhere none. */
function fixedPart(glob: string): string[] {
  const parts = glob.replace(/^\.?\//, '').split('/')
  if (parts.length === 1) return []
  const first = parts.findIndex((part) => magic.test(part))
  return (first < 0 ? parts : parts.slice(0, first)).filter((part) => part !== '' && part !== '.')
}

/** Whether one path may match both globs: where nobody can tell, it may. */
function mayOverlap(one: string, other: string): boolean {
  const [a, b] = [fixedPart(one), fixedPart(other)]
  return a.slice(0, b.length).every((part, index) => part === b[index])
}

/** The first pair of globs of two lists that may be about one path. */
export function overlapOf(ours: readonly string[], theirs: readonly string[]): [string, string] | undefined {
  for (const one of ours) for (const other of theirs) if (mayOverlap(one, other)) return [one, other]
  return undefined
}
