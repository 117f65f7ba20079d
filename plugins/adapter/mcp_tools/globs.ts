/** Returns whether a name matches one of the patterns, in which `*` stands for any text. Linear for every pattern. */
export function matchesGlobs(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const [head = '', ...rest] = pattern.split('*')
    const tail = rest.pop()
    if (tail === undefined) return pattern === name
    if (!name.startsWith(head) || name.length < head.length + tail.length || !name.endsWith(tail)) return false
    let at = head.length
    for (const part of rest) {
      const next = name.indexOf(part, at)
      if (next < 0) return false
      at = next + part.length
    }
    return at <= name.length - tail.length
  })
}
