import { lstatSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { decodeName, encodeName } from '../../../core/system/index.js'
import { OWN_FOLDERS } from '../../../core/workspace/index.js'

/** What git prints with a NUL behind each. */
export function partsIn(output: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0, end; (end = output.indexOf(0, at)) !== -1; at = end + 1) parts.push(output.subarray(at, end))
  return parts
}
/** The names among it, as the workspace writes them. */
export const pathsIn = (output: Buffer): string[] => partsIn(output).map((name) => encodeName(name))

/** Names as git reads them from its standard input. */
export const asInput = (names: readonly string[]): Buffer =>
  Buffer.concat(names.flatMap((name) => [Buffer.from(decodeName(name)), Buffer.of(0)]))

/** Whether a path is none that is copied or merged: it belongs to git, or to this program for as long as it runs. */
export function isLeftOut(path: string): boolean {
  const names = path.split('/')
  return (
    names.includes('.git') ||
    names.includes('..') ||
    path.endsWith('/') ||
    (names[0] === '.vtcode' && OWN_FOLDERS.includes(names[1] ?? ''))
  )
}

/** Tells of paths below a folder what lies there, be it a file or a link, in folders that are no links. */
export function standsBelow(root: string): (path: string) => BigIntStats | undefined {
  const folders = new Map<string, boolean>([['.', true]])
  const at = (path: string) => lstatSync(placeOf(root, decodeName(path)), { bigint: true, throwIfNoEntry: false })
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
const placeOf = (root: string, name: string | Buffer): string | Buffer =>
  typeof name === 'string' ? `${root}/${name}` : Buffer.concat([Buffer.from(`${root}/`), name])
