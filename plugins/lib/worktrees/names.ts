import { lstatSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { decodeName, encodeName } from '../../../core/system/index.js'
import { OWN_FOLDERS } from '../../../core/workspace/index.js'

/** Splits output of git in which a NUL follows each part. */
export function splitNul(output: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0, end; (end = output.indexOf(0, at)) !== -1; at = end + 1) parts.push(output.subarray(at, end))
  return parts
}
/** Parses names separated by NULs into workspace paths. */
export const parsePaths = (output: Buffer): string[] => splitNul(output).map((name) => encodeName(name))

/** Encodes names for the standard input of git. */
export const toInput = (names: readonly string[]): Buffer =>
  Buffer.concat(names.flatMap((name) => [Buffer.from(decodeName(name)), Buffer.of(0)]))

/** Returns whether a path is never copied or merged: it belongs to git or to the state of this program. */
export function isExcluded(path: string): boolean {
  const names = path.split('/')
  return (
    names.includes('.git') ||
    names.includes('..') ||
    path.endsWith('/') ||
    (names[0] === '.vtcode' && OWN_FOLDERS.includes(names[1] ?? ''))
  )
}

/** Creates a function that returns the stat of a file or link below `root`; `undefined` if a parent is a link. */
export function createFileStat(root: string): (path: string) => BigIntStats | undefined {
  const folders = new Map<string, boolean>([['.', true]])
  const at = (path: string) => lstatSync(joinName(root, decodeName(path)), { bigint: true, throwIfNoEntry: false })
  const isFolder = (path: string): boolean => {
    const known = folders.get(path)
    if (known !== undefined) return known
    const found = isFolder(dirname(path)) && (at(path)?.isDirectory() ?? false)
    folders.set(path, found)
    return found
  }
  return (path) => {
    const stat = isFolder(dirname(path)) ? at(path) : undefined
    return stat?.isFile() || stat?.isSymbolicLink() ? stat : undefined
  }
}
const joinName = (root: string, name: string | Buffer): string | Buffer =>
  typeof name === 'string' ? `${root}/${name}` : Buffer.concat([Buffer.from(`${root}/`), name])
