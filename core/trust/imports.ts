import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { readBytes } from '../documents/index.js'
import { resolveFileBelow } from './tree.js'

const MAX_FILES = 100
/** Names in one file; further ones are ignored and therefore not copied. */
const MAX_NAMES = 1_000
/** A larger file is not searched. */
const MAX_SOURCE = 1_048_576
const quotedPath = /['"`](\.{1,2}\/[^'"`\n]{1,300})['"`]/g
const code = /\.[cm]?[jt]sx?$/
const endings = ['', '.ts', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js']

/**
 * Returns a file with code and the files below `root` that its text names by quoted relative paths, recursively. A file
 * that is missed here is not copied, so its import is refused.
 */
export function findImports(root: string, file: string): string[] {
  const found = new Set<string>()
  const visit = (path: string): void => {
    if (found.has(path) || found.size >= MAX_FILES) return
    found.add(path)
    if (!code.test(path) || statSync(path).size > MAX_SOURCE) return
    const text = readBytes(path, { limit: MAX_SOURCE }).toString()
    const names = [...text.matchAll(quotedPath)].slice(0, MAX_NAMES).map(([, name]) => resolve(dirname(path), name!))
    for (const target of new Set(names.flatMap(candidates))) {
      const real = resolveFileBelow(root, target)
      if (real !== undefined) visit(real)
    }
  }
  visit(file)
  return [...found]
}

/** Lists the files that a loader tries for a path: `x.ts` serves the names `x.js` and `x`. */
const candidates = (path: string): string[] =>
  code.test(path) ? [path, path.replace(/js(x?)$/, 'ts$1')] : endings.map((ending) => path + ending)
