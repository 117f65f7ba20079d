/** Paths in the order of every answer: segment by segment, each in code-unit order. */
export const byPath = (a: string, b: string): number => (a === b ? 0 : pathKey(a) < pathKey(b) ? -1 : 1)

/** Text whose plain order is the order of paths: no character of a name sorts before the separator. */
export const pathKey = (path: string): string => path.replaceAll('/', '\0')
