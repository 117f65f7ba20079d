import { compileGlob, expandBraces, readLiteralName } from './glob.js'

/** Paths that globs name outright. Ignore rules and hidden names do not leave them out. */
export interface NamedPaths {
  /** Checks whether a glob spells a path, or one below it, without a wildcard: `build` of `build/**`. */
  spells(path: string): boolean
  /** Checks whether a glob writes the dot of a hidden name after a wildcard: `.env.local` of `.env*`. */
  writesDot(path: string): boolean
  readonly hasSpelled: boolean
  readonly hasDots: boolean
}

/** Deeper names are not walked. */
const MAX_NAMES = 64

/** Finds what positive globs name outright. Paths are relative to the walked directory. */
export function findNamedPaths(globs: readonly string[]): NamedPaths {
  const spelled = new Set<string>()
  const dots: ((path: string) => boolean)[] = []
  for (const glob of globs) {
    if (glob.startsWith('!')) continue
    const isName = !glob.includes('/')
    for (const alternative of expandBraces(glob.replace(/^\//, ''))) {
      const parts = alternative.split('/').slice(0, MAX_NAMES)
      const names = parts.map(readLiteralName)
      const end = names.findIndex((name) => !name)
      const literal = names.slice(0, end < 0 ? names.length : end)
      literal.forEach((_, at) => spelled.add(literal.slice(0, at + 1).join('/')))
      parts.forEach((part, at) => {
        if (!/^\\?\./.test(part) || (at < literal.length && !isName)) return
        dots.push(compileGlob(isName ? part : `/${parts.slice(0, at + 1).join('/')}`, true))
      })
    }
  }
  return {
    spells: (path) => spelled.has(path),
    writesDot: (path) => dots.some((matches) => matches(path)),
    hasSpelled: spelled.size > 0,
    hasDots: dots.length > 0,
  }
}
